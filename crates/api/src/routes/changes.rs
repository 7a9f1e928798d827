//! `/projects/{key}/changes`: pull and merge requests as git hosts tell of them, and what CI says of them.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{Action, ChangeId, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::changes::{self, Change, ChangeFilter};
use mc_store::ci::{self, CiResult};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::{ChangeState, CiVerdict, Conclusion, ReviewState};

/// A change, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ChangePath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The change's id here.
    id: Uuid,
}

impl Check for ChangePath {
    type Checked = (ProjectKey, ChangeId);

    fn check(self) -> Result<(ProjectKey, ChangeId), Invalid> {
        Ok((check::project_key("key", &self.key)?, ChangeId(self.id)))
    }
}

/// Which changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Only those that have come so far.
    state: Option<ChangeState>,
    /// Only those that speak of this task, by its tracker's id.
    #[param(value_type = Option<shapes::ExternalId>, inline)]
    task: Option<String>,
    /// Only those heard of before this one: the `next` of the page before.
    before: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Check for ChangeQuery {
    type Checked = (ChangeFilter, i64);

    fn check(self) -> Result<(ChangeFilter, i64), Invalid> {
        let filter = ChangeFilter {
            state: self.state.map(Into::into),
            task: check::optional("task", self.task, |field, task| {
                check::identifier(field, &task, limits::EXTERNAL_ID)
            })?,
            before: self.before.map(ChangeId),
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, check::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A pull or merge request as the project knows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CodeChange {
    id: Uuid,
    /// The host's own id, such as `octocat/hello!12`.
    external_id: String,
    title: String,
    state: ChangeState,
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
    base: Option<String>,
    /// Where people look at it; may be empty.
    url: String,
    /// What the reviewers say together; absent where nobody says either.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewState>,
    /// What CI says of it; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci: Option<CiVerdict>,
    /// Those of the project's tasks that it speaks of.
    task_external_ids: Vec<String>,
    /// When its host said so.
    said_at: DateTime<Utc>,
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangePage {
    changes: Vec<CodeChange>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Uuid>,
}

/// How a run of CI on a commit ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct CiResultView {
    /// The repository at its host.
    repository: String,
    sha: String,
    /// What ran.
    name: String,
    conclusion: Conclusion,
    /// Where people look at it; may be empty.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<DateTime<Utc>>,
    /// When its host said so.
    said_at: DateTime<Utc>,
}

/// A change and what belongs to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeDetails {
    #[serde(flatten)]
    change: CodeChange,
    /// Live records that are about a commit of it.
    record_ids: Vec<Uuid>,
    /// How the runs of CI ended on the commit that it was merged by, and on its last.
    ci_results: Vec<CiResultView>,
}

/// Page through a project's pull and merge requests, the newest first.
#[utoipa::path(
    get, path = "/projects/{key}/changes", tag = "changes", params(ProjectPath, ChangeQuery),
    responses((status = 200, description = "A page", body = ChangePage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<ChangeQuery>,
) -> Result<Json<ChangePage>, Problem> {
    let here = entered(&api, &caller, &key, Action::Read).await?;
    let found = changes::list(&here.store, here.project.id, &filter, limit).await?;
    let next = page::next(&found, limit, |change| change.id.into());
    Ok(Json(ChangePage { changes: found.into_iter().map(Into::into).collect(), next }))
}

/// See a pull or merge request, the records that are about it, and how CI went.
#[utoipa::path(
    get, path = "/projects/{key}/changes/{id}", tag = "changes", params(ChangePath),
    responses((status = 200, description = "The change", body = ChangeDetails))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ChangePath>,
) -> Result<Json<ChangeDetails>, Problem> {
    let here = entered(&api, &caller, &key, Action::Read).await?;
    let (store, project) = (&here.store, here.project.id);
    let change = changes::find(store, project, id).await?.ok_or_else(|| unknown(&key))?;
    let records = changes::records(store, project, id).await?;
    let ci_results = results(store, project, &change).await?;
    Ok(Json(ChangeDetails {
        change: change.into(),
        record_ids: records.into_iter().map(Into::into).collect(),
        ci_results: ci_results.into_iter().map(Into::into).collect(),
    }))
}

/// The results on the commits that decide, the one that counts most first.
async fn results(
    store: &Store,
    project: ProjectId,
    change: &Change,
) -> Result<Vec<CiResult>, Problem> {
    let mut results = Vec::new();
    for sha in change.merge_sha.iter().chain(&change.head_sha) {
        results.extend(ci::of_commit(store, project, sha).await?);
    }
    Ok(results)
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such pull or merge request")
        .field("id")
        .hint(format!("GET /projects/{key}/changes lists them"))
}

impl From<Change> for CodeChange {
    fn from(change: Change) -> Self {
        Self {
            id: change.id.into(),
            external_id: change.external_id,
            title: change.title,
            state: change.state.into(),
            author: change.author,
            head_sha: change.head_sha,
            merge_sha: change.merge_sha,
            base: change.base,
            url: change.url,
            review: change.review.map(Into::into),
            ci: change.ci.map(Into::into),
            task_external_ids: change.tasks,
            said_at: change.said_at,
        }
    }
}

impl From<CiResult> for CiResultView {
    fn from(result: CiResult) -> Self {
        Self {
            repository: result.repository,
            sha: result.sha,
            name: result.name,
            conclusion: result.conclusion.into(),
            url: result.url,
            finished_at: result.finished_at,
            said_at: result.said_at,
        }
    }
}
