//! The layers around all routes, and the routes without a token.

use std::collections::HashSet;
use std::sync::LazyLock;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{get, post};
use mc_contract::operations::webhook::GIT_HOST_PATH;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::ApiState;
use crate::ingress::{Ingress, ingress_layers, limit_unauthenticated};
use crate::limits::MAX_FORM_BYTES;
use crate::metrics::{METRICS, RequestMetrics, count_request, scrape};
use crate::middleware::{
    common_layers, is_api_page, with_auth, with_auth_streaming, with_limits, with_time_limit,
};
use crate::openapi::{ApiDocument, add_problems, pages};
use crate::problem::Problem;
use crate::routes::{protected, public};
use crate::sign_in::{browser, device, invitation, token_endpoint};
use crate::{webhook_receiver, workspace_node};

/// The route that redirects to the API page.
const FRONT: &str = "/";
/// The route of the OpenAPI document, which people open in a browser, too.
const DOCUMENT: &str = "/openapi.json";

/// Returns the routes of sign-in.
fn signing_in() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(token_endpoint::issue_token))
        .routes(routes!(token_endpoint::revoke_session_token))
        .routes(routes!(device::start_device_login, device::show_device_page))
        .routes(routes!(device::submit_device_page))
        .routes(routes!(browser::start_sign_in))
        .routes(routes!(browser::complete_sign_in))
        .routes(routes!(invitation::show_invitation_page, invitation::accept_invitation))
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

/// The pages of sign-in.
static SIGN_IN_PAGES: LazyLock<HashSet<String>> = LazyLock::new(|| pages(&openapi()));

/// Whether `GET` of this route is meant for a browser's tab: the API page, its document, or a page
/// or redirect of sign-in.
pub fn is_page(route: &str) -> bool {
    [FRONT, DOCUMENT].contains(&route) || is_api_page(route) || SIGN_IN_PAGES.contains(route)
}

/// Returns the whole API for callers in this process. It has `/docs` and `/openapi.json`, and `/`
/// redirects to `/docs`.
pub fn router(state: ApiState) -> Router {
    let metrics = request_metrics(&state);
    common_layers(counted(routes(state), metrics))
}

/// Returns the whole API for the network, behind `ingress`, with the MCP endpoint at `/mcp` behind
/// the same layers.
pub fn public_router(state: ApiState, mcp: Router, ingress: &Ingress) -> Router {
    let authenticator = state.authenticator();
    let mcp = with_auth_streaming(mcp, authenticator, &state.admission);
    let metrics = request_metrics(&state);
    let router = routes(state).nest_service("/mcp", mcp);
    with_ingress(counted(router, metrics), ingress)
}

/// Puts `ingress` and the layers of all routes around a router, which authenticates by itself.
pub fn with_ingress(router: Router, ingress: &Ingress) -> Router {
    common_layers(ingress_layers(router, ingress))
}

/// Returns the metrics of requests, if metrics are read.
fn request_metrics(state: &ApiState) -> Option<RequestMetrics> {
    state.settings.metrics.is_some().then(|| state.request_metrics.clone())
}

/// Counts the requests to `router`, if metrics are read.
fn counted(router: Router, metrics: Option<RequestMetrics>) -> Router {
    match metrics {
        Some(metrics) => router.layer(from_fn_with_state(metrics, count_request)),
        None => router,
    }
}

/// Returns the route of metrics, if the operator has configured who may read them.
fn metrics(state: &ApiState) -> Router {
    let Some(access) = state.settings.metrics.clone() else { return Router::new() };
    let router = Router::new().route(METRICS, get(scrape));
    let router = router.with_state((access, state.metrics.clone()));
    with_time_limit(router, &state.settings)
}

fn routes(state: ApiState) -> Router {
    let docs: Router = SwaggerUi::new("/docs").url(DOCUMENT, openapi()).into();
    let front = Router::new().route(FRONT, get(async || Redirect::temporary("/docs/")));
    let public = Router::from(public().with_state(state.clone())).merge(docs).merge(front);
    let (settings, admission) = (state.settings.clone(), state.admission.clone());
    let signing_in = with_limits(
        signing_in().with_state(state.clone()).into(),
        MAX_FORM_BYTES,
        &settings,
        &admission,
    );
    let metrics = metrics(&state);
    let receiving = with_time_limit(receiving().with_state(state.clone()).into(), &settings);
    let git_hosts = Router::new().route(GIT_HOST_PATH, post(webhook_receiver::receive_git));
    let git_hosts = with_time_limit(git_hosts.with_state(state.clone()), &settings);
    let authenticator = state.authenticator();
    let protected = Router::from(protected().with_state(state.clone()))
        .layer(from_fn_with_state(state, workspace_node::forward));
    let protected = with_auth(protected, authenticator, &settings, &admission)
        .layer(from_fn_with_state(git_hosts, webhook_receiver::route_delivery));
    let open = public
        .merge(signing_in)
        .merge(metrics)
        .layer(from_fn(limit_unauthenticated))
        .merge(receiving);
    protected.merge(open).fallback(async || Problem::unknown_path())
}
