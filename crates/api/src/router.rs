//! Every route of the API, and what stands around them.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::ApiState;
use crate::auth::{Token, require_bearer};
use crate::document::{ApiDocument, add_problems};
use crate::middleware::{around_everything, guarded};
use crate::problem::Problem;
use crate::routes::{
    dialogs, documents, feedback, ingest, ingest_docs, projects, recall, records, save, search,
    status, tasks,
};

/// What needs the bearer token.
fn protected() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(recall::recall))
        .routes(routes!(save::save))
        .routes(routes!(search::search))
        .routes(routes!(feedback::feedback))
        .routes(routes!(dialogs::create))
        .routes(routes!(tasks::sync))
        .routes(routes!(tasks::link))
        .routes(routes!(tasks::show))
        .routes(routes!(ingest::git))
        .routes(routes!(ingest::show))
        .routes(routes!(ingest::of_repository))
        .routes(routes!(ingest_docs::ingest))
        .routes(routes!(documents::list))
        .routes(routes!(documents::open))
        .routes(routes!(records::list))
        .routes(routes!(records::show, records::remove))
        .routes(routes!(projects::create, projects::list))
        .routes(routes!(projects::show, projects::remove))
        .routes(routes!(status::show))
}

/// What a load balancer asks.
fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(status::alive)).routes(routes!(status::ready))
}

/// The OpenAPI 3.1 document, as the code has it.
pub fn openapi() -> OpenApi {
    let routes = OpenApiRouter::with_openapi(ApiDocument::openapi());
    add_problems(routes.merge(protected()).merge(public()).into_openapi())
}

/// The whole API over `state`, ready to be served; `/docs` and `/openapi.json` included, and `/`
/// leads a browser there.
pub fn router(state: ApiState) -> Router {
    let docs: Router = SwaggerUi::new("/docs").url("/openapi.json", openapi()).into();
    let (token, limit) = (state.token.clone(), state.settings.request_timeout);
    let front = Router::new().route("/", get(async || Redirect::temporary("/docs/")));
    let public = Router::from(public().with_state(state.clone())).merge(docs).merge(front);
    let protected = guarded(protected().with_state(state).into(), token, limit);
    around_everything(protected.merge(public).fallback(async || Problem::unknown_path()))
}

/// Puts another edge's routes (the MCP endpoint) behind the same token, request ids and panic
/// guard. It limits bodies itself, and there is no time limit: its answers may be streams.
pub fn protect(router: Router, token: Token) -> Router {
    around_everything(router.layer(from_fn_with_state(token, require_bearer)))
}
