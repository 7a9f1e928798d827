//! Every route of the API, and what stands around them.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::{get, post};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::ApiState;
use crate::document::{ApiDocument, add_problems};
use crate::door::{Door, behind};
use crate::limits::{BODY_BYTES, DELIVERY_BYTES};
use crate::middleware::{around_everything, bounded, bounded_deliveries, guarded, guarded_streams};
use crate::problem::Problem;
use crate::receive;
use crate::routes::{
    audit, changes, connections, dialogs, documents, duplicates, exports, feedback, handles, hooks,
    hygiene, ingest, ingest_docs, jobs, members, passages, paths, policy, projects, quarantine,
    recall, records, review, save, search, status, task_links, tasks, tokens, users,
};
use crate::sign_in::{browser, device, exchange};

/// What needs the bearer token.
fn protected() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(recall::recall))
        .routes(routes!(save::save))
        .routes(routes!(search::search))
        .routes(routes!(feedback::feedback))
        .routes(routes!(handles::show))
        .routes(routes!(passages::show))
        .routes(routes!(paths::show))
        .routes(routes!(dialogs::create))
        .routes(routes!(tasks::sync))
        .routes(routes!(tasks::link))
        .routes(routes!(tasks::show, tasks::remove))
        .routes(routes!(task_links::show, task_links::agree))
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
        .routes(routes!(policy::show, policy::set))
        .routes(routes!(policy::versions))
        .routes(routes!(policy::signing))
        .routes(routes!(review::list))
        .routes(routes!(review::accept))
        .routes(routes!(review::reject))
        .routes(routes!(review::share))
        .routes(routes!(review::confirm))
        .routes(routes!(review::roll_back))
        .routes(routes!(review::forget))
        .routes(routes!(quarantine::list))
        .routes(routes!(quarantine::show, quarantine::destroy))
        .routes(routes!(quarantine::release))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .routes(routes!(audit::verify))
        .routes(routes!(members::list))
        .routes(routes!(members::set, members::remove))
        .routes(routes!(members::share, members::unshare))
        .routes(routes!(members::create_team, members::list_teams))
        .routes(routes!(members::remove_team))
        .routes(routes!(members::list_team_members))
        .routes(routes!(members::set_team_member, members::remove_team_member))
        .routes(routes!(users::whoami))
        .routes(routes!(users::create, users::list))
        .routes(routes!(users::change))
        .routes(routes!(users::end_sessions))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(hooks::create, hooks::list))
        .routes(routes!(hooks::rotate))
        .routes(routes!(hooks::remove))
        .routes(routes!(hooks::deliveries))
        .routes(routes!(hooks::delivery))
        .routes(routes!(hooks::replay))
        .routes(routes!(changes::list))
        .routes(routes!(changes::show))
        .routes(routes!(connections::create, connections::list))
        .routes(routes!(connections::show, connections::change, connections::remove))
        .routes(routes!(connections::sync))
        .routes(routes!(connections::systems))
        .routes(routes!(hygiene::list))
        .routes(routes!(hygiene::show))
        .routes(routes!(hygiene::run))
        .routes(routes!(duplicates::list))
        .routes(routes!(duplicates::accept))
        .routes(routes!(duplicates::dismiss))
        .routes(routes!(exports::list))
        .routes(routes!(exports::show))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::show, jobs::discard))
        .routes(routes!(jobs::retry))
        .routes(routes!(device::decide))
        .routes(routes!(status::show))
}

/// What a load balancer asks.
fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(status::alive)).routes(routes!(status::ready))
}

/// By which callers come to a token.
fn signing_in() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(exchange::token))
        .routes(routes!(exchange::revoke))
        .routes(routes!(device::authorize, device::show))
        .routes(routes!(device::decide_in_browser))
        .routes(routes!(browser::start))
        .routes(routes!(browser::callback))
        .routes(routes!(browser::sign_out))
        .routes(routes!(exchange::jwks))
        .routes(routes!(exchange::metadata))
}

/// What other systems tell, signed. Git hosts tell it where people ask for repositories to be indexed
/// ([`receive::divert`]).
fn receiving() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(receive::from_tracker))
}

/// The OpenAPI 3.1 document, as the code has it.
pub fn openapi() -> OpenApi {
    let routes = OpenApiRouter::with_openapi(ApiDocument::openapi());
    let open = public().merge(signing_in()).merge(receiving());
    add_problems(routes.merge(protected()).merge(open).into_openapi())
}

/// The whole API over `state`, for callers in this process; `/docs` and `/openapi.json` included, and
/// `/` leads a browser there.
pub fn router(state: ApiState) -> Router {
    around_everything(routes(state))
}

/// The same for the network, behind `door`, and with another edge (the MCP endpoint) at `/mcp` behind
/// the same guards.
pub fn served(state: ApiState, mcp: Router, door: &Door) -> Router {
    let authenticator = state.authenticator();
    let mcp = guarded_streams(mcp, authenticator, &state.settings, &state.admission);
    at_the_door(routes(state).nest_service("/mcp", mcp), door)
}

/// Any router for the network, behind `door`; what authenticates is its own affair.
pub fn at_the_door(router: Router, door: &Door) -> Router {
    around_everything(behind(router, door))
}

fn routes(state: ApiState) -> Router {
    let docs: Router = SwaggerUi::new("/docs").url("/openapi.json", openapi()).into();
    let front = Router::new().route("/", get(async || Redirect::temporary("/docs/")));
    let public = Router::from(public().with_state(state.clone())).merge(docs).merge(front);
    let (settings, admission) = (state.settings.clone(), state.admission.clone());
    let signing_in = bounded(signing_in().with_state(state.clone()).into(), &settings, &admission);
    let deliveries = |router, body| bounded_deliveries(router, body, &settings, &admission);
    let receiving = deliveries(receiving().with_state(state.clone()).into(), BODY_BYTES);
    let git_hosts = Router::new().route(receive::GIT, post(receive::from_git_host));
    let git_hosts = deliveries(git_hosts.with_state(state.clone()), DELIVERY_BYTES);
    let authenticator = state.authenticator();
    let protected =
        guarded(protected().with_state(state).into(), authenticator, &settings, &admission)
            .layer(from_fn_with_state(git_hosts, receive::divert));
    let open = public.merge(signing_in).merge(receiving);
    protected.merge(open).fallback(async || Problem::unknown_path())
}
