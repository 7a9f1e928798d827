//! `/projects/{key}/pull-requests`: pull and merge requests, and the results of CI for them.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::pull_request::{
    CiRun, PullRequest, PullRequestPath, PullRequestQuery, PullRequestWithRuns,
};
use mc_domain::{Permission, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, PullRequestFilter};

use super::pagination::page;
use super::projects::entered;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, QueryString};
use crate::problem::Problem;

/// List pull and merge requests.
///
/// Returns a page of the project's pull requests, newest first.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests", tag = "changes",
    params(ProjectPath, PullRequestQuery),
    responses((status = 200, description = "A page", body = Page<PullRequest>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<PullRequestQuery>,
) -> Result<Json<Page<PullRequest>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let filter = PullRequestFilter {
        state: query.state,
        task: query.task_external_id.map(Into::into),
        cursor: query.cursor,
    };
    let limit = query.limit.unwrap_or_default().get();
    let found = pull_requests::list(&here.store, here.project.id, &filter, limit).await?;
    Ok(Json(page(found, limit, |one| one.id, pull_request)))
}

/// Get a pull or merge request.
///
/// Returns the pull request, the records about its commits, and its CI results.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests/{id}", tag = "changes", params(PullRequestPath),
    responses((status = 200, description = "The pull request", body = PullRequestWithRuns))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PullRequestPath { key, id }): PathParams<PullRequestPath>,
) -> Result<Json<PullRequestWithRuns>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let (store, project) = (&here.store, here.project.id);
    let found = pull_requests::find(store, project, id).await?.ok_or_else(|| unknown(&key))?;
    let record_ids = pull_requests::records(store, project, id).await?;
    let ci_results = results(store, project, &found).await?;
    Ok(Json(PullRequestWithRuns {
        pull_request: pull_request(found),
        record_ids,
        ci_results: ci_results.into_iter().map(ci_run).collect(),
    }))
}

/// The results on the commits that decide, the one that counts most first.
async fn results(
    store: &Store,
    project: ProjectId,
    change: &pull_requests::PullRequest,
) -> Result<Vec<CiResult>, Problem> {
    let mut results = Vec::new();
    for sha in change.merge_sha.iter().chain(&change.head_sha) {
        results.extend(ci_results::of_commit(store, project, sha).await?);
    }
    Ok(results)
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such pull or merge request")
        .field("id")
        .hint(format!("GET /projects/{key}/pull-requests lists them"))
}

/// The pull request as it is sent.
pub(super) fn pull_request(change: pull_requests::PullRequest) -> PullRequest {
    PullRequest {
        id: change.id,
        external_id: change.external_id,
        title: change.title,
        state: change.state,
        author: change.author,
        head_sha: change.head_sha,
        merge_sha: change.merge_sha,
        base_ref: change.base_ref,
        url: change.url,
        review_state: change.review_state,
        ci_status: change.ci_status,
        task_external_ids: change.tasks,
        source_updated_at: change.source_updated_at,
    }
}

fn ci_run(result: CiResult) -> CiRun {
    CiRun {
        repository: result.repository,
        sha: result.sha,
        name: result.name,
        conclusion: result.conclusion,
        url: result.url,
        completed_at: result.completed_at,
        source_updated_at: result.source_updated_at,
    }
}
