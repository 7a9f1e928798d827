//! `/projects/{key}/pull-requests`: pull and merge requests as git hosts tell of them, and what CI says of them.

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

/// A change, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PullRequestPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The change's id here.
    id: Uuid,
}

impl Validate for PullRequestPath {
    type Checked = (ProjectKey, PullRequestId);

    fn check(self) -> Result<(ProjectKey, PullRequestId), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, PullRequestId(self.id)))
    }
}

/// Which changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PullRequestQuery {
    /// Only those that have come so far.
    state: Option<PullRequestState>,
    /// Only those that speak of this task, by its tracker's id.
    #[param(value_type = Option<schemas::ExternalId>, inline)]
    task_external_id: Option<String>,
    /// Only those heard of before this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
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

/// A pull or merge request as the project knows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequest {
    id: Uuid,
    /// The host's own id, such as `octocat/hello!12`.
    external_id: String,
    title: String,
    state: PullRequestState,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// Its last commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_sha: Option<String>,
    /// The commit that it became part of its base by.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_sha: Option<String>,
    /// The branch that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_ref: Option<String>,
    /// Where people look at it; may be empty.
    url: String,
    /// What the reviewers say together; absent where nobody says either.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_state: Option<PullRequestReview>,
    /// What CI says of it; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_status: Option<CiVerdict>,
    /// Those of the project's tasks that it speaks of.
    task_external_ids: Vec<String>,
    /// When its host said so.
    source_updated_at: DateTime<Utc>,
}

/// How a run of CI on a commit ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct CiRun {
    /// The repository at its host.
    repository: String,
    sha: String,
    /// What ran.
    name: String,
    conclusion: CiConclusion,
    /// Where people look at it; may be empty.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// When its host said so.
    source_updated_at: DateTime<Utc>,
}

/// A change and what belongs to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequestWithRuns {
    #[serde(flatten)]
    change: PullRequest,
    /// Live records that are about a commit of it.
    record_ids: Vec<Uuid>,
    /// How the runs of CI ended on the commit that it was merged by, and on its last.
    ci_results: Vec<CiRun>,
}

/// Page through a project's pull and merge requests, the newest first.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests", tag = "changes", params(ProjectPath, PullRequestQuery),
    responses((status = 200, description = "A page", body = Page<PullRequest>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<PullRequestQuery>,
) -> Result<Json<Page<PullRequest>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let found = pull_requests::list(&here.store, here.project.id, &filter, limit).await?;
    Ok(Json(Page::of(found, limit, |change| change.id)))
}

/// See a pull or merge request, the records that are about it, and how CI went.
#[utoipa::path(
    get, path = "/projects/{key}/pull-requests/{id}", tag = "changes", params(PullRequestPath),
    responses((status = 200, description = "The change", body = PullRequestWithRuns))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<PullRequestPath>,
) -> Result<Json<PullRequestWithRuns>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let (store, project) = (&here.store, here.project.id);
    let change = pull_requests::find(store, project, id).await?.ok_or_else(|| unknown(&key))?;
    let records = pull_requests::records(store, project, id).await?;
    let ci_results = results(store, project, &change).await?;
    Ok(Json(PullRequestWithRuns {
        change: change.into(),
        record_ids: records.into_iter().map(Into::into).collect(),
        ci_results: ci_results.into_iter().map(Into::into).collect(),
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

impl From<pull_requests::PullRequest> for PullRequest {
    fn from(change: pull_requests::PullRequest) -> Self {
        Self {
            id: change.id.into(),
            external_id: change.external_id,
            title: change.title,
            state: change.state.into(),
            author: change.author,
            head_sha: change.head_sha,
            merge_sha: change.merge_sha,
            base_ref: change.base_ref,
            url: change.url,
            review_state: change.review_state.map(Into::into),
            ci_status: change.ci_status.map(Into::into),
            task_external_ids: change.tasks,
            source_updated_at: change.source_updated_at,
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
