//! `/projects/{key}/pull-requests`: pull and merge requests with their CI results.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{Permission, ProjectId, ProjectKey, PullRequestId};
use mc_store::Store;
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, PullRequestFilter};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{CiConclusion, CiVerdict, PullRequestReview, PullRequestState};

/// Path parameters: a pull request.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PullRequestPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The pull request's id.
    id: Uuid,
}

impl Validate for PullRequestPath {
    type Checked = (ProjectKey, PullRequestId);

    fn check(self) -> Result<(ProjectKey, PullRequestId), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, PullRequestId(self.id)))
    }
}

/// Query of a list of pull requests.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PullRequestQuery {
    /// Only pull requests in this state.
    state: Option<PullRequestState>,
    /// Only pull requests that mention this task, by its id at the tracker.
    #[param(value_type = Option<schemas::ExternalId>, inline)]
    task_external_id: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<Uuid>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for PullRequestQuery {
    type Checked = (PullRequestFilter, i64);

    fn check(self) -> Result<(PullRequestFilter, i64), ValidationError> {
        let filter = PullRequestFilter {
            state: self.state.map(Into::into),
            task: validate::optional("task", self.task_external_id, |field, task| {
                validate::identifier(field, &task, limits::EXTERNAL_ID)
            })?,
            cursor: self.cursor.map(PullRequestId),
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A pull or merge request.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequest {
    id: Uuid,
    /// Its id at the git host, such as `octocat/hello!12`.
    external_id: String,
    title: String,
    state: PullRequestState,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// The last commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_sha: Option<String>,
    /// The commit that merged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_sha: Option<String>,
    /// The target branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_ref: Option<String>,
    /// The URL of its page; may be empty.
    url: String,
    /// The result of all reviews; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_state: Option<PullRequestReview>,
    /// The CI status; absent without results.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_status: Option<CiVerdict>,
    /// The tasks of the project that it mentions.
    task_external_ids: Vec<String>,
    /// When the git host last changed it.
    source_updated_at: DateTime<Utc>,
}

/// The result of a CI run on a commit.
#[derive(Debug, Serialize, ToSchema)]
pub struct CiRun {
    /// The repository at the git host.
    repository: String,
    sha: String,
    /// The name of the check.
    name: String,
    conclusion: CiConclusion,
    /// The URL of its page; may be empty.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// When the git host last changed it.
    source_updated_at: DateTime<Utc>,
}

/// A pull request with its records and CI results.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequestWithRuns {
    #[serde(flatten)]
    pull_request: PullRequest,
    /// Live records about its commits.
    record_ids: Vec<Uuid>,
    /// The CI results of the merge commit and of the last commit.
    ci_results: Vec<CiRun>,
}

/// List the pull and merge requests of a project, newest first.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests", tag = "changes",
    params(ProjectPath, PullRequestQuery),
    responses((status = 200, description = "A page", body = Page<PullRequest>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<PullRequestQuery>,
) -> Result<Json<Page<PullRequest>>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let found = pull_requests::list(&ctx.store, ctx.project.id, &filter, limit).await?;
    Ok(Json(Page::of(found, limit, |pull_request| pull_request.id)))
}

/// Get a pull or merge request with its records and CI results.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests/{id}", tag = "changes", params(PullRequestPath),
    responses((status = 200, description = "The pull request", body = PullRequestWithRuns))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<PullRequestPath>,
) -> Result<Json<PullRequestWithRuns>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let (store, project) = (&ctx.store, ctx.project.id);
    let pull_request = pull_requests::find(store, project, id).await?;
    let pull_request = pull_request.ok_or_else(|| unknown(&key))?;
    let records = pull_requests::records(store, project, id).await?;
    let ci_results = results(store, project, &pull_request).await?;
    Ok(Json(PullRequestWithRuns {
        pull_request: pull_request.into(),
        record_ids: records.into_iter().map(Into::into).collect(),
        ci_results: ci_results.into_iter().map(Into::into).collect(),
    }))
}

/// Returns the CI results of the merge commit, then those of the last commit.
async fn results(
    store: &Store,
    project: ProjectId,
    pull_request: &pull_requests::PullRequest,
) -> Result<Vec<CiResult>, Problem> {
    let mut results = Vec::new();
    for sha in pull_request.merge_sha.iter().chain(&pull_request.head_sha) {
        results.extend(ci_results::of_commit(store, project, sha).await?);
    }
    Ok(results)
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such pull or merge request")
        .field("id")
        .hint(format!("GET /projects/{key}/pull-requests lists them"))
}

impl From<pull_requests::PullRequest> for PullRequest {
    fn from(pull_request: pull_requests::PullRequest) -> Self {
        Self {
            id: pull_request.id.into(),
            external_id: pull_request.external_id,
            title: pull_request.title,
            state: pull_request.state.into(),
            author: pull_request.author,
            head_sha: pull_request.head_sha,
            merge_sha: pull_request.merge_sha,
            base_ref: pull_request.base_ref,
            url: pull_request.url,
            review_state: pull_request.review_state.map(Into::into),
            ci_status: pull_request.ci_status.map(Into::into),
            task_external_ids: pull_request.tasks,
            source_updated_at: pull_request.source_updated_at,
        }
    }
}

impl From<CiResult> for CiRun {
    fn from(result: CiResult) -> Self {
        Self {
            repository: result.repository,
            sha: result.sha,
            name: result.name,
            conclusion: result.conclusion.into(),
            url: result.url,
            completed_at: result.completed_at,
            source_updated_at: result.source_updated_at,
        }
    }
}
