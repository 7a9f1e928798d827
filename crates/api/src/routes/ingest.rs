//! `/ingest`: repositories to index, and how far that is.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::ingest::{IngestGit, IngestRun, RepositoryNamePath, RunPath};
use mc_contract::operations::project::ProjectQuery;
use mc_domain::Permission;
use mc_integrations::index_runs::LocationRules;
use mc_integrations::{Error, index_runs};
use mc_store::projects::ProjectResource;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Index a repository.
///
/// Enqueues an index run. A queued run of the same repository and ref is returned instead of a
/// second one; while one is running, another is queued, since it may have missed a change.
/// Locations other than public https URLs also require an administrator of the service and the
/// scope `ingest:local`. With `?webhook_id=`, the path receives the deliveries of GitHub and GitLab
/// instead, without a token and signed as they sign (`X-Hub-Signature-256`; `webhook-signature` or
/// `X-Gitlab-Token`).
#[utoipa::path(
    post, path = "/ingest/git", tag = "ingest", request_body = IngestGit,
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 202, description = "Enqueued", body = IngestRun))
)]
pub async fn ingest_repository(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<IngestGit>,
) -> Result<(StatusCode, Json<IngestRun>), Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let rules = LocationRules {
        allowed_private_hosts: &api.settings.allowed_private_hosts,
        protected: &api.settings.protected,
    };
    let run = index_runs::request(&ctx, &caller, rules, &request).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

/// Get an index run.
///
/// Returns the run and its progress.
#[utoipa::path(
    get, path = "/ingest/runs/{id}", tag = "ingest", params(RunPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The run", body = IngestRun))
)]
pub async fn get_ingest_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RunPath { id }): PathParams<RunPath>,
) -> Result<Json<IngestRun>, Problem> {
    let resource = ProjectResource::IngestRun(id);
    let ctx = api.authorize_resource(&caller, resource, Permission::Read).await?;
    Ok(Json(index_runs::get(&ctx.ok_or(Error::UnknownRun(id))?, id).await?))
}

/// Cancel an index run.
///
/// Ends a queued or running run, and returns it. The files that it has indexed stay; the next run
/// of the repository continues.
#[utoipa::path(
    post, path = "/ingest/runs/{id}/cancel", tag = "ingest", params(RunPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 200, description = "The cancelled run", body = IngestRun))
)]
pub async fn cancel_ingest_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RunPath { id }): PathParams<RunPath>,
) -> Result<Json<IngestRun>, Problem> {
    let resource = ProjectResource::IngestRun(id);
    let ctx = api.authorize_resource(&caller, resource, Permission::Ingest).await?;
    Ok(Json(index_runs::cancel(&ctx.ok_or(Error::UnknownRun(id))?, &caller, id).await?))
}

/// Get the newest index run of a repository.
///
/// Returns the run and its progress.
#[utoipa::path(
    get, path = "/repos/{owner}/{name}/index", tag = "ingest",
    params(RepositoryNamePath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The newest index run", body = IngestRun))
)]
pub async fn get_repository_index(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<RepositoryNamePath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<IngestRun>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    Ok(Json(index_runs::get_latest(&ctx, &path).await?))
}
