//! One small function for each operation of the API: it draws a request and queries the oracle.
//!
//! `walk` attacks every operation of the OpenAPI document. An operation whose responses depend on
//! more than its caller has a line in [`OPERATIONS`] (by its id in the document) and a function: it
//! draws the subjects of the request ([`Draw::project`], [`Draw::thing`]), builds the request, and
//! lets [`Draw::in_project`] or [`Draw::holding`] compute the expected response. A tool has a line
//! in [`TOOLS`] in the same way, and is attacked by `walk` without one.

mod accounts;
mod audit;
mod documents;
mod draw;
mod hygiene;
mod ingest;
mod integrations;
mod memory;
mod patches;
mod policy;
mod projects;
mod prompts;
mod proposals;
mod pull_requests;
mod quarantine;
mod rag;
mod service;
mod sign_in;
mod tasks;
mod teams;
pub mod tools;
mod webhook_receiver;
mod webhooks;
mod workspaces;

pub use draw::{Draw, Target, Things, refused};

use crate::attempt::Attempt;

pub type Generator = fn(&mut Draw<'_>) -> Attempt;

/// Operations of the REST API.
pub const OPERATIONS: &[(&str, Generator)] = &[
    ("recall", memory::recall),
    ("save", memory::save),
    ("search", memory::search),
    ("search_repository", rag::of_one),
    ("search_all_repositories", rag::of_all),
    ("send_feedback", memory::feedback),
    ("resolve_handles", memory::handles),
    ("get_passage", memory::passage),
    ("resolve_path", memory::path),
    ("create_dialog", memory::dialog),
    ("list_records", memory::records),
    ("get_record", memory::record),
    ("delete_record", memory::forget),
    ("create_judgment_question", memory::judgment_question),
    ("judge_record", memory::judgment),
    ("share_record", proposals::share),
    ("confirm_record", proposals::confirm),
    ("rollback_record", proposals::roll_back),
    ("list_proposals", proposals::proposals),
    ("accept_proposal", proposals::accept),
    ("reject_proposal", proposals::reject),
    ("forget", proposals::forget),
    ("list_quarantine_items", quarantine::list),
    ("get_quarantine_item", quarantine::show),
    ("release_quarantine_item", quarantine::release),
    ("delete_quarantine_item", quarantine::destroy),
    ("list_audit_events", audit::list),
    ("export_audit_events", audit::export),
    ("verify_audit_chain", audit::verification),
    ("sync_task", tasks::sync),
    ("link_task", tasks::link),
    ("get_task", tasks::show),
    ("delete_task", tasks::remove),
    ("get_task_comment", tasks::comment),
    ("approve_task_comment", tasks::agree),
    ("ingest_repository", ingest::git),
    ("ingest_documents", ingest::docs),
    ("get_ingest_run", ingest::show),
    ("get_repository_index", ingest::of_repository),
    ("create_workspace", workspaces::create),
    ("create_workspace_folder", workspaces::create_folder),
    ("list_workspaces", workspaces::list),
    ("get_workspace", workspaces::show),
    ("delete_workspace", workspaces::remove),
    ("inspect_workspace", workspaces::inspect),
    ("read_workspace_file", workspaces::read),
    ("start_navigation", workspaces::start),
    ("navigate", workspaces::navigate),
    ("edit_workspace_file", workspaces::edit),
    ("get_command", workspaces::command),
    ("end_navigation", workspaces::end),
    ("generate_patch", patches::generate),
    ("review_patch", patches::review),
    ("preview_patch", patches::preview),
    ("get_patch_run", patches::run),
    ("cancel_patch_run", patches::cancel),
    ("list_patches", patches::list),
    ("get_patch", patches::show),
    ("discard_patch", patches::discard),
    ("list_documents", documents::list),
    ("open_document", documents::open),
    ("create_project", projects::create),
    ("list_projects", projects::list),
    ("get_project", projects::show),
    ("delete_project", projects::remove),
    ("get_policy", policy::show),
    ("update_policy", policy::set),
    ("list_policy_versions", policy::versions),
    ("get_notification_settings", policy::notices),
    ("create_webhook", webhooks::create),
    ("list_webhooks", webhooks::list),
    ("rotate_webhook_secret", webhooks::rotate),
    ("delete_webhook", webhooks::remove),
    ("list_webhook_deliveries", webhooks::deliveries),
    ("get_webhook_delivery", webhooks::delivery),
    ("replay_webhook_delivery", webhooks::replay),
    ("list_pull_requests", pull_requests::list),
    ("get_pull_request", pull_requests::show),
    ("create_integration", integrations::create),
    ("list_integrations", integrations::list),
    ("get_integration", integrations::show),
    ("update_integration", integrations::change),
    ("delete_integration", integrations::remove),
    ("sync_integration", integrations::sync),
    ("list_connectors", integrations::connectors),
    ("get_prompt", prompts::show),
    ("list_prompt_versions", prompts::versions),
    ("promote_prompt", prompts::decide),
    ("list_hygiene_runs", hygiene::reports),
    ("get_hygiene_run", hygiene::report),
    ("run_hygiene_task", hygiene::run),
    ("list_duplicates", hygiene::clusters),
    ("merge_duplicates", hygiene::accept),
    ("dismiss_duplicates", hygiene::dismiss),
    ("list_exports", hygiene::exports),
    ("get_export", hygiene::export),
    ("receive_webhook", webhook_receiver::from_tracker),
    ("list_members", projects::members),
    ("set_member", projects::set_member),
    ("remove_member", projects::remove_member),
    ("grant_team_role", projects::share),
    ("revoke_team_role", projects::unshare),
    ("create_team", teams::create),
    ("list_teams", teams::list),
    ("delete_team", teams::remove),
    ("list_team_members", teams::members),
    ("set_team_member", teams::set_member),
    ("remove_team_member", teams::remove_member),
    ("get_current_user", accounts::whoami),
    ("create_user", accounts::add_user),
    ("list_users", accounts::users),
    ("update_user", accounts::change_user),
    ("revoke_user_sessions", accounts::end_sessions),
    ("create_token", accounts::make_token),
    ("list_tokens", accounts::tokens),
    ("revoke_token", accounts::revoke_token),
    ("get_device_login", sign_in::show),
    ("decide_device_login", sign_in::decide),
    ("issue_token", sign_in::token),
    ("revoke_session_token", sign_in::revoke),
    ("start_device_login", sign_in::begin),
    ("show_device_page", sign_in::page),
    ("submit_device_page", sign_in::form),
    ("sign_out", sign_in::sign_out),
    ("start_sign_in", sign_in::start),
    ("complete_sign_in", sign_in::callback),
    ("get_signing_keys", service::public),
    ("get_authorization_server", service::public),
    ("list_jobs", service::jobs),
    ("get_job", service::job),
    ("retry_job", service::retry_job),
    ("delete_job", service::discard_job),
    ("get_status", service::status),
    ("get_liveness", service::public),
    ("get_readiness", service::public),
];

/// Tools of the MCP server.
pub const TOOLS: &[(&str, Generator)] = &[
    ("recall", tools::recall),
    ("save", tools::save),
    ("search", tools::search),
    ("search_code", tools::search_code),
    ("link_issue", tools::link_issue),
    ("open_doc", tools::open_doc),
    ("feedback", tools::feedback),
    ("forget", tools::forget),
];
pub const RESOURCES: &[(&str, Generator)] =
    &[("resources/list", tools::resources), ("resources/read", tools::resource)];

/// The generator of one attempt, with its name: any of all, each as often as another.
pub fn all() -> Vec<(&'static str, Generator)> {
    [OPERATIONS, TOOLS, RESOURCES].concat()
}
