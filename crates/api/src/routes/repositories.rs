//! `/repos`: the indexed repositories of a project.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::ingest::{Repository, RepositoryNamePath, UpdateRepository};
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectQuery;
use mc_domain::Permission;
use mc_integrations::repositories;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List the repositories of a project.
///
/// Returns all of them, by name, each with its number of files and its newest index run. Their
/// locations are shown to those who may index.
#[utoipa::path(
    get, path = "/repos", tag = "ingest", params(ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Sorted by name", body = Page<Repository>))
)]
pub async fn list_repositories(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<Page<Repository>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    Ok(Json(Page::new(repositories::list(&ctx).await?, None)))
}

/// Rename a repository, or change which of its files are indexed.
///
/// Returns the repository. Other patterns enqueue an index run, which deletes the files that they
/// leave out from the index. Documents and integrations of the repository follow its name. For
/// maintainers.
#[utoipa::path(
    patch, path = "/repos/{owner}/{name}", tag = "ingest", params(RepositoryNamePath),
    request_body = UpdateRepository,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The repository", body = Repository))
)]
pub async fn update_repository(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<RepositoryNamePath>,
    JsonBody(request): JsonBody<UpdateRepository>,
) -> Result<Json<Repository>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Curate).await?;
    Ok(Json(repositories::update(&ctx, &path, &request).await?))
}

/// Remove a repository.
///
/// Deletes the repository with its files, passages and history from the index, and cancels its
/// runs. Records that cite its files stay. For maintainers.
#[utoipa::path(
    delete, path = "/repos/{owner}/{name}", tag = "ingest",
    params(RepositoryNamePath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 204, description = "Removed"))
)]
pub async fn delete_repository(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<RepositoryNamePath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Curate).await?;
    repositories::delete(&ctx, &path).await?;
    Ok(StatusCode::NO_CONTENT)
}
