//! Every route of the API, and the layers around them.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::{get, post};
use mc_contract::operations::webhook::GIT_HOST_PATH;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::ApiState;
use crate::ingress::{Ingress, ingress_layers};
use crate::limits::{MAX_BODY_BYTES, MAX_DELIVERY_BYTES};
use crate::middleware::{
    common_layers, with_auth, with_auth_streaming, with_delivery_limits, with_limits,
};
use crate::openapi::{ApiDocument, add_problems};
use crate::problem::Problem;
use crate::routes::{
    audit, dialogs, documents, duplicates, exports, feedback, forget, handles, hygiene, ingest,
    ingest_docs, integrations, jobs, members, passages, paths, policy, projects, proposals,
    pull_requests, quarantine, recall, records, save, search, status, task_comment, tasks, tokens,
    users, webhooks,
};
use crate::sign_in::{browser, device, token_endpoint};
use crate::webhook_receiver;

/// Returns the routes that require a token.
fn protected() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(recall::recall))
        .routes(routes!(save::save))
        .routes(routes!(search::search))
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
        .routes(routes!(ingest::get_repository_index))
        .routes(routes!(ingest_docs::ingest_documents))
        .routes(routes!(documents::list_documents))
        .routes(routes!(documents::open_document))
        .routes(routes!(records::list_records))
        .routes(routes!(records::get_record, records::delete_record))
        .routes(routes!(projects::create_project, projects::list_projects))
        .routes(routes!(projects::get_project, projects::delete_project))
        .routes(routes!(policy::get_policy, policy::update_policy))
        .routes(routes!(policy::list_policy_versions))
        .routes(routes!(policy::get_notification_settings))
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
        .routes(routes!(tokens::create_token, tokens::list_tokens))
        .routes(routes!(tokens::revoke_token))
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
        .routes(routes!(jobs::list_jobs))
        .routes(routes!(jobs::get_job, jobs::delete_job))
        .routes(routes!(jobs::retry_job))
        .routes(routes!(device::decide_device_login))
        .routes(routes!(status::get_status))
}

/// Returns the health probes.
fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(status::get_liveness))
        .routes(routes!(status::get_readiness))
}

/// Returns the routes of sign-in.
fn signing_in() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(token_endpoint::issue_token))
        .routes(routes!(token_endpoint::revoke_session_token))
        .routes(routes!(device::start_device_login, device::show_device_page))
        .routes(routes!(device::submit_device_page))
        .routes(routes!(browser::start_sign_in))
        .routes(routes!(browser::complete_sign_in))
        .routes(routes!(browser::sign_out))
        .routes(routes!(token_endpoint::get_signing_keys))
        .routes(routes!(token_endpoint::get_authorization_server))
}

/// Returns the routes of webhook deliveries. Those of git hosts share the path of ingest requests
/// ([`webhook_receiver::route_delivery`]).
fn receiving() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(webhook_receiver::receive_webhook))
}

/// Returns the OpenAPI 3.1 document of the routes.
pub fn openapi() -> OpenApi {
    let routes = OpenApiRouter::with_openapi(ApiDocument::openapi());
    let open = public().merge(signing_in()).merge(receiving());
    add_problems(routes.merge(protected()).merge(open).into_openapi())
}

/// Returns the whole API for callers in this process. It has `/docs` and `/openapi.json`, and `/`
/// redirects to `/docs`.
pub fn router(state: ApiState) -> Router {
    common_layers(routes(state))
}

/// Returns the whole API for the network, behind `ingress`, with the MCP endpoint at `/mcp` behind
/// the same layers.
pub fn public_router(state: ApiState, mcp: Router, ingress: &Ingress) -> Router {
    let authenticator = state.authenticator();
    let mcp = with_auth_streaming(mcp, authenticator, &state.settings, &state.admission);
    with_ingress(routes(state).nest_service("/mcp", mcp), ingress)
}

/// Puts `ingress` and the layers of all routes around a router, which authenticates by itself.
pub fn with_ingress(router: Router, ingress: &Ingress) -> Router {
    common_layers(ingress_layers(router, ingress))
}

fn routes(state: ApiState) -> Router {
    let docs: Router = SwaggerUi::new("/docs").url("/openapi.json", openapi()).into();
    let front = Router::new().route("/", get(async || Redirect::temporary("/docs/")));
    let public = Router::from(public().with_state(state.clone())).merge(docs).merge(front);
    let (settings, admission) = (state.settings.clone(), state.admission.clone());
    let signing_in =
        with_limits(signing_in().with_state(state.clone()).into(), &settings, &admission);
    let deliveries = |router, body| with_delivery_limits(router, body, &settings, &admission);
    let receiving = deliveries(receiving().with_state(state.clone()).into(), MAX_BODY_BYTES);
    let git_hosts = Router::new().route(GIT_HOST_PATH, post(webhook_receiver::receive_git));
    let git_hosts = deliveries(git_hosts.with_state(state.clone()), MAX_DELIVERY_BYTES);
    let authenticator = state.authenticator();
    let protected =
        with_auth(protected().with_state(state).into(), authenticator, &settings, &admission)
            .layer(from_fn_with_state(git_hosts, webhook_receiver::route_delivery));
    let open = public.merge(signing_in).merge(receiving);
    protected.merge(open).fallback(async || Problem::unknown_path())
}
