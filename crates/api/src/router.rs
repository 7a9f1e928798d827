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
        .routes(routes!(feedback::feedback))
        .routes(routes!(handles::get))
        .routes(routes!(passages::get))
        .routes(routes!(paths::get))
        .routes(routes!(dialogs::create))
        .routes(routes!(tasks::sync))
        .routes(routes!(tasks::link))
        .routes(routes!(tasks::get, tasks::delete))
        .routes(routes!(task_comment::get, task_comment::approve))
        .routes(routes!(ingest::git))
        .routes(routes!(ingest::get))
        .routes(routes!(ingest::get_latest_run))
        .routes(routes!(ingest_docs::ingest))
        .routes(routes!(documents::list))
        .routes(routes!(documents::open))
        .routes(routes!(records::list))
        .routes(routes!(records::get, records::delete))
        .routes(routes!(projects::create, projects::list))
        .routes(routes!(projects::get, projects::delete))
        .routes(routes!(policy::get, policy::set))
        .routes(routes!(policy::versions))
        .routes(routes!(policy::get_signing_key))
        .routes(routes!(proposals::list))
        .routes(routes!(proposals::accept))
        .routes(routes!(proposals::reject))
        .routes(routes!(proposals::share))
        .routes(routes!(proposals::confirm))
        .routes(routes!(proposals::rollback))
        .routes(routes!(forget::forget))
        .routes(routes!(quarantine::list))
        .routes(routes!(quarantine::get, quarantine::destroy))
        .routes(routes!(quarantine::release))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .routes(routes!(audit::verify))
        .routes(routes!(members::list))
        .routes(routes!(members::set, members::delete))
        .routes(routes!(members::share, members::unshare))
        .routes(routes!(members::create_team, members::list_teams))
        .routes(routes!(members::remove_team))
        .routes(routes!(members::list_team_members))
        .routes(routes!(members::set_team_member, members::remove_team_member))
        .routes(routes!(users::whoami))
        .routes(routes!(users::create, users::list))
        .routes(routes!(users::update))
        .routes(routes!(users::revoke_sessions))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::delete))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::delivery))
        .routes(routes!(webhooks::replay))
        .routes(routes!(pull_requests::list))
        .routes(routes!(pull_requests::get))
        .routes(routes!(integrations::create, integrations::list))
        .routes(routes!(integrations::get, integrations::update, integrations::delete))
        .routes(routes!(integrations::sync))
        .routes(routes!(integrations::list_connectors))
        .routes(routes!(hygiene::list))
        .routes(routes!(hygiene::get))
        .routes(routes!(hygiene::run))
        .routes(routes!(duplicates::list))
        .routes(routes!(duplicates::accept))
        .routes(routes!(duplicates::dismiss))
        .routes(routes!(exports::list))
        .routes(routes!(exports::get))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::get, jobs::discard))
        .routes(routes!(jobs::retry))
        .routes(routes!(device::decide))
        .routes(routes!(status::get))
}

/// Returns the health probes.
fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(status::alive)).routes(routes!(status::ready))
}

/// Returns the routes of sign-in.
fn signing_in() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(token_endpoint::token))
        .routes(routes!(token_endpoint::revoke))
        .routes(routes!(device::authorize, device::show))
        .routes(routes!(device::decide_in_browser))
        .routes(routes!(browser::start))
        .routes(routes!(browser::callback))
        .routes(routes!(browser::sign_out))
        .routes(routes!(token_endpoint::jwks))
        .routes(routes!(token_endpoint::metadata))
}

/// Returns the routes of webhook deliveries. Those of git hosts share the path of ingest requests
/// ([`webhook_receiver::route_delivery`]).
fn receiving() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(webhook_receiver::receive_tracker))
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
