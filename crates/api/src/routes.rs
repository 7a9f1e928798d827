//! The operations of the API, by resource: a file with the handlers, and a line in [`protected`] or
//! [`people`].

mod audit;
mod chat_usage;
mod dialogs;
mod documents;
mod duplicates;
mod exports;
mod feedback;
mod forget;
mod handles;
mod hygiene;
mod ingest;
mod ingest_docs;
mod integrations;
mod jobs;
mod judgment;
mod members;
mod metrics;
mod navigations;
mod passages;
mod patches;
mod paths;
mod policy;
mod projects;
mod prompts;
mod proposals;
mod pull_requests;
mod quarantine;
mod rag;
mod recall;
mod records;
mod repositories;
mod save;
mod search;
mod sgr;
mod status;
mod symbol_match;
mod task_comment;
mod tasks;
mod tokens;
mod users;
mod webhooks;
mod workspaces;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ApiState;
use crate::sign_in::device;

/// Returns the routes for the files of workspaces.
fn workspaces_and_patches() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(workspaces::create_workspace, workspaces::list_workspaces))
        .routes(routes!(workspaces::create_workspace_folder))
        .routes(routes!(workspaces::get_workspace, workspaces::delete_workspace))
        .routes(routes!(workspaces::inspect_workspace))
        .routes(routes!(workspaces::read_workspace_file))
        .routes(routes!(patches::generate_patch))
        .routes(routes!(patches::review_patch))
        .routes(routes!(patches::preview_patch))
        .routes(routes!(patches::get_patch_run, patches::cancel_patch_run))
        .routes(routes!(patches::list_patches))
        .routes(routes!(patches::get_patch, patches::discard_patch))
        .routes(routes!(navigations::start_navigation))
        .routes(routes!(navigations::end_navigation))
        .routes(routes!(navigations::navigate))
        .routes(routes!(navigations::edit_workspace_file))
        .routes(routes!(navigations::edit_workspace_json))
        .routes(routes!(navigations::use_workspace_git))
        .routes(routes!(navigations::run_command))
        .routes(routes!(navigations::get_command, navigations::cancel_command))
}

/// Returns the routes that require a token.
pub fn protected() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(recall::recall))
        .routes(routes!(save::save))
        .routes(routes!(search::search))
        .routes(routes!(rag::search_repository))
        .routes(routes!(rag::search_all_repositories))
        .merge(workspaces_and_patches())
        .routes(routes!(feedback::send_feedback))
        .routes(routes!(handles::resolve_handles))
        .routes(routes!(passages::get_passage))
        .routes(routes!(paths::resolve_path))
        .routes(routes!(dialogs::create_dialog))
        .routes(routes!(tasks::sync_task))
        .routes(routes!(tasks::link_task))
        .routes(routes!(tasks::get_task, tasks::delete_task))
        .routes(routes!(task_comment::get_task_comment, task_comment::approve_task_comment))
        .routes(routes!(ingest::ingest_repository))
        .routes(routes!(ingest::get_ingest_run))
        .routes(routes!(ingest::cancel_ingest_run))
        .routes(routes!(repositories::list_repositories))
        .routes(routes!(repositories::update_repository, repositories::delete_repository))
        .routes(routes!(ingest::get_repository_index))
        .routes(routes!(ingest_docs::ingest_documents))
        .routes(routes!(documents::list_documents))
        .routes(routes!(documents::open_document))
        .routes(routes!(records::list_records))
        .routes(routes!(records::get_record, records::update_record, records::delete_record))
        .routes(routes!(judgment::create_judgment_question))
        .routes(routes!(judgment::judge_record))
        .routes(routes!(projects::create_project, projects::list_projects))
        .routes(routes!(projects::get_project, projects::update_project, projects::delete_project))
        .routes(routes!(policy::get_policy, policy::update_policy))
        .routes(routes!(policy::list_policy_versions))
        .routes(routes!(policy::get_notification_settings))
        .routes(routes!(chat_usage::get_chat_usage))
        .routes(routes!(prompts::get_prompt, prompts::set_prompt))
        .routes(routes!(prompts::list_prompt_versions))
        .routes(routes!(prompts::get_prompt_version))
        .routes(routes!(prompts::promote_prompt))
        .routes(routes!(prompts::roll_back_prompt))
        .routes(routes!(sgr::list_schemas))
        .routes(routes!(sgr::get_schema))
        .routes(routes!(sgr::set_schema, sgr::delete_schema))
        .routes(routes!(proposals::list_proposals))
        .routes(routes!(proposals::accept_proposal))
        .routes(routes!(proposals::reject_proposal))
        .routes(routes!(proposals::share_record))
        .routes(routes!(proposals::confirm_record))
        .routes(routes!(proposals::rollback_record))
        .routes(routes!(forget::forget))
        .routes(routes!(quarantine::list_quarantine_items))
        .routes(routes!(quarantine::get_quarantine_item, quarantine::delete_quarantine_item))
        .routes(routes!(quarantine::release_quarantine_item))
        .routes(routes!(audit::list_audit_events))
        .routes(routes!(audit::export_audit_events))
        .routes(routes!(audit::verify_audit_chain))
        .routes(routes!(webhooks::create_webhook, webhooks::list_webhooks))
        .routes(routes!(webhooks::rotate_webhook_secret))
        .routes(routes!(webhooks::delete_webhook))
        .routes(routes!(webhooks::list_webhook_deliveries))
        .routes(routes!(webhooks::get_webhook_delivery))
        .routes(routes!(webhooks::replay_webhook_delivery))
        .routes(routes!(pull_requests::list_pull_requests))
        .routes(routes!(pull_requests::get_pull_request))
        .routes(routes!(integrations::create_integration, integrations::list_integrations))
        .routes(routes!(
            integrations::get_integration,
            integrations::update_integration,
            integrations::delete_integration
        ))
        .routes(routes!(integrations::sync_integration))
        .routes(routes!(integrations::list_connectors))
        .routes(routes!(hygiene::list_hygiene_runs))
        .routes(routes!(hygiene::get_hygiene_run))
        .routes(routes!(hygiene::run_hygiene_task))
        .routes(routes!(duplicates::list_duplicates))
        .routes(routes!(duplicates::merge_duplicates))
        .routes(routes!(duplicates::dismiss_duplicates))
        .routes(routes!(exports::list_exports))
        .routes(routes!(exports::get_export))
        .routes(routes!(metrics::get_kpi))
        .routes(routes!(metrics::get_usage_report))
        .routes(routes!(jobs::list_jobs))
        .routes(routes!(jobs::get_job, jobs::delete_job))
        .routes(routes!(jobs::retry_job))
        .routes(routes!(device::get_device_login, device::decide_device_login))
        .routes(routes!(status::get_status))
        .merge(people())
}

/// Returns the routes of users, their roles and their credentials.
fn people() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(members::list_members))
        .routes(routes!(members::set_member, members::remove_member))
        .routes(routes!(members::grant_team_role, members::revoke_team_role))
        .routes(routes!(members::create_team, members::list_teams))
        .routes(routes!(members::delete_team))
        .routes(routes!(members::list_team_members))
        .routes(routes!(members::set_team_member, members::remove_team_member))
        .routes(routes!(users::get_current_user))
        .routes(routes!(users::create_user, users::list_users))
        .routes(routes!(users::update_user))
        .routes(routes!(users::revoke_user_sessions))
        .routes(routes!(users::create_invitation))
        .routes(routes!(users::offboard_user))
        .routes(routes!(users::list_provider_logins))
        .routes(routes!(users::set_provider_login, users::delete_provider_login))
        .routes(routes!(tokens::create_token, tokens::list_tokens))
        .routes(routes!(tokens::revoke_token))
}

/// Returns the health probes.
pub fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(status::get_liveness))
        .routes(routes!(status::get_readiness))
}

/// Whether `path` is a health probe, which has no limits.
pub fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}
