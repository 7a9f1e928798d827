//! `/projects/{key}/pull-requests`: pull and merge requests, and the results of CI for them.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::pull_request::{
    PullRequest, PullRequestPath, PullRequestQuery, PullRequestWithRuns,
};
use mc_domain::Permission;
use mc_integrations::pull_requests;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List pull and merge requests.
///
/// Returns a page of the project's pull requests, newest first.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests", tag = "pull-requests",
    params(ProjectPath, PullRequestQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "A page", body = Page<PullRequest>))
)]
pub async fn list_pull_requests(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<PullRequestQuery>,
) -> Result<Json<Page<PullRequest>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    Ok(Json(pull_requests::list(&ctx, query).await?))
}

/// Get a pull or merge request.
///
/// Returns the pull request, the records about its commits, its CI results, and the files that it
/// changes, if an integration of the project reads its repository.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests/{id}", tag = "pull-requests",
    params(PullRequestPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The pull request", body = PullRequestWithRuns))
)]
pub async fn get_pull_request(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PullRequestPath { key, id }): PathParams<PullRequestPath>,
) -> Result<Json<PullRequestWithRuns>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    Ok(Json(pull_requests::get(&ctx, id).await?))
}
