//! `/projects/{key}/hygiene-runs`: hygiene runs of a project, and requests for them.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::hygiene::{HygieneRun, HygieneRunPath, HygieneRunQuery, RunHygiene};
use mc_contract::operations::page::{Page, page};
use mc_contract::operations::project::ProjectPath;
use mc_domain::{HygieneRunId, Permission};
use mc_jobs::request_run;
use mc_store::hygiene::{self, ReportFilter};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List the hygiene runs of a project.
///
/// Returns a page of the scheduled and the requested runs, newest first, with their counts and
/// findings. For maintainers.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs", tag = "hygiene",
    params(ProjectPath, HygieneRunQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "Newest first", body = Page<HygieneRun>))
)]
pub async fn list_hygiene_runs(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<HygieneRunQuery>,
) -> Result<Json<Page<HygieneRun>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    let filter = ReportFilter { task: query.task, cursor: query.cursor };
    let limit = query.limit.unwrap_or_default().get();
    let runs = hygiene::list(&ctx.store, ctx.project.id, filter, limit).await?;
    Ok(Json(page(runs, limit, |run| run.id)))
}

/// Get a hygiene run.
///
/// Returns the run with its counts and its first 200 findings; it has no `completed_at` until it is
/// completed. For maintainers.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs/{id}", tag = "hygiene", params(HygieneRunPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The run", body = HygieneRun))
)]
pub async fn get_hygiene_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(HygieneRunPath { key, id }): PathParams<HygieneRunPath>,
) -> Result<Json<HygieneRun>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    find(&ctx, id).await
}

/// Request a hygiene run.
///
/// Enqueues the task and returns the run at once: `GET` of the run tells when it is completed. A
/// dry run only reports its changes. For maintainers.
#[utoipa::path(
    post, path = "/projects/{key}/hygiene-runs", tag = "hygiene", params(ProjectPath),
    request_body = RunHygiene,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 202, description = "The run, enqueued", body = HygieneRun))
)]
pub async fn run_hygiene_task(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    JsonBody(request): JsonBody<RunHygiene>,
) -> Result<(StatusCode, Json<HygieneRun>), Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    let id = request_run(&ctx.store, ctx.project.id, &request).await?;
    Ok((StatusCode::ACCEPTED, find(&ctx, id).await?))
}

async fn find(ctx: &ProjectContext, id: HygieneRunId) -> Result<Json<HygieneRun>, Problem> {
    let run = hygiene::find(&ctx.store, ctx.project.id, id).await?;
    run.map(Json).ok_or_else(|| {
        Problem::not_found("the project has no such hygiene run, or it is no longer kept")
            .field("id")
            .hint(format!("GET /projects/{}/hygiene-runs lists them", ctx.project.key))
    })
}
