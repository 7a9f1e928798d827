//! One small function for each operation of the API: it draws a request and asks the oracle.
//!
//! A new endpoint needs a line in [`OPERATIONS`] (the name is the operation's id in the OpenAPI
//! document) and its function: draw what it names ([`Draw::project`], [`Draw::thing`]), build the
//! request, and let [`Draw::in_project`] or [`Draw::holding`] say what the answer must be. A new
//! tool needs a line in [`TOOLS`].

mod accounts;
mod audit;
mod documents;
mod draw;
mod hygiene;
mod ingest;
mod integrations;
mod memory;
mod policy;
mod projects;
mod proposals;
mod pull_requests;
mod quarantine;
mod service;
mod sign_in;
mod tasks;
mod teams;
mod tools;
mod webhook_receiver;
mod webhooks;

pub use draw::{Draw, Target, Things};

use crate::attempt::Attempt;

pub type Generator = fn(&mut Draw<'_>) -> Attempt;

/// Every operation of the REST API.
pub const OPERATIONS: &[(&str, Generator)] = &[
    ("post_recall", memory::recall),
    ("post_save", memory::save),
    ("post_search", memory::search),
    ("post_feedback", memory::feedback),
    ("get_handles", memory::handles),
    ("get_passages_id", memory::passage),
    ("get_paths", memory::path),
    ("post_dialogs", memory::dialog),
    ("get_records", memory::records),
    ("get_records_id", memory::record),
    ("delete_records_id", memory::forget),
    ("post_records_id_share", proposals::share),
    ("post_records_id_confirm", proposals::confirm),
    ("post_records_id_rollback", proposals::roll_back),
    ("get_proposals", proposals::proposals),
    ("post_proposals_id_accept", proposals::accept),
    ("post_proposals_id_reject", proposals::reject),
    ("post_forget", proposals::forget),
    ("get_quarantine", quarantine::list),
    ("get_quarantine_id", quarantine::show),
    ("post_quarantine_id_release", quarantine::release),
    ("delete_quarantine_id", quarantine::destroy),
    ("get_audit", audit::list),
    ("get_audit_export", audit::export),
    ("get_audit_verification", audit::verification),
    ("post_tasks_sync", tasks::sync),
    ("post_tasks_link", tasks::link),
    ("get_tasks_external_id", tasks::show),
    ("delete_tasks_external_id", tasks::remove),
    ("get_tasks_external_id_comment", tasks::links),
    ("post_tasks_external_id_comment", tasks::agree),
    ("post_ingest_git", ingest::git),
    ("post_ingest_docs", ingest::docs),
    ("get_ingest_runs_id", ingest::show),
    ("get_repos_owner_name_index", ingest::of_repository),
    ("get_documents", documents::list),
    ("get_documents_lookup", documents::open),
    ("post_projects", projects::create),
    ("get_projects", projects::list),
    ("get_projects_key", projects::show),
    ("delete_projects_key", projects::remove),
    ("get_projects_key_policy", policy::show),
    ("put_projects_key_policy", policy::set),
    ("get_projects_key_policy_versions", policy::versions),
    ("get_projects_key_notification_settings", policy::notices),
    ("post_projects_key_webhooks", webhooks::create),
    ("get_projects_key_webhooks", webhooks::list),
    ("post_projects_key_webhooks_id_rotate_secret", webhooks::rotate),
    ("delete_projects_key_webhooks_id", webhooks::remove),
    ("get_projects_key_webhook_deliveries", webhooks::deliveries),
    ("get_projects_key_webhook_deliveries_id", webhooks::delivery),
    ("post_projects_key_webhook_deliveries_id_replay", webhooks::replay),
    ("get_projects_key_pull_requests", pull_requests::list),
    ("get_projects_key_pull_requests_id", pull_requests::show),
    ("post_projects_key_integrations", integrations::create),
    ("get_projects_key_integrations", integrations::list),
    ("get_projects_key_integrations_id", integrations::show),
    ("patch_projects_key_integrations_id", integrations::change),
    ("delete_projects_key_integrations_id", integrations::remove),
    ("post_projects_key_integrations_id_sync", integrations::sync),
    ("get_connectors", integrations::systems),
    ("get_projects_key_hygiene_runs", hygiene::reports),
    ("get_projects_key_hygiene_runs_id", hygiene::report),
    ("post_projects_key_hygiene_runs", hygiene::run),
    ("get_projects_key_duplicates", hygiene::clusters),
    ("post_projects_key_duplicates_id_merge", hygiene::accept),
    ("post_projects_key_duplicates_id_dismiss", hygiene::dismiss),
    ("get_projects_key_exports", hygiene::exports),
    ("get_projects_key_exports_id", hygiene::export),
    ("post_webhooks_provider", webhook_receiver::from_tracker),
    ("get_projects_key_members", projects::members),
    ("put_projects_key_members_login", projects::set_member),
    ("delete_projects_key_members_login", projects::remove_member),
    ("put_projects_key_teams_team", projects::share),
    ("delete_projects_key_teams_team", projects::unshare),
    ("post_teams", teams::create),
    ("get_teams", teams::list),
    ("delete_teams_team", teams::remove),
    ("get_teams_team_members", teams::members),
    ("put_teams_team_members_login", teams::set_member),
    ("delete_teams_team_members_login", teams::remove_member),
    ("get_whoami", accounts::whoami),
    ("post_users", accounts::add_user),
    ("get_users", accounts::users),
    ("patch_users_login", accounts::change_user),
    ("delete_users_login_sessions", accounts::end_sessions),
    ("post_tokens", accounts::make_token),
    ("get_tokens", accounts::tokens),
    ("delete_tokens_id", accounts::revoke_token),
    ("post_auth_device_decision", sign_in::decide),
    ("post_auth_token", sign_in::token),
    ("post_auth_revoke", sign_in::revoke),
    ("post_auth_device", sign_in::begin),
    ("get_auth_device", sign_in::page),
    ("post_auth_device_page", sign_in::form),
    ("post_auth_sign_out", sign_in::sign_out),
    ("get_auth_oauth_provider_start", sign_in::start),
    ("get_auth_oauth_provider_callback", sign_in::callback),
    ("get_well_known_jwks_json", service::public),
    ("get_well_known_oauth_authorization_server", service::public),
    ("get_jobs", service::jobs),
    ("get_jobs_id", service::job),
    ("post_jobs_id_retry", service::retry_job),
    ("delete_jobs_id", service::discard_job),
    ("get_status", service::status),
    ("get_healthz", service::public),
    ("get_readyz", service::public),
];

/// Every tool of the MCP server, and what else it answers to.
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
