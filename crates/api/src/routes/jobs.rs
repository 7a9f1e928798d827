//! `/jobs`: the background work, for who administers the service.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Act, ConnectionId};
use mc_store::audit::NewEvent;
use mc_store::jobs::{self, Job, JobFilter};
use mc_store::{connections, ingests};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::page;
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::entry::commit;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::JobState as JobStateView;

/// A job, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobPath {
    /// Its id.
    #[param(value_type = shapes::JobId, inline)]
    id: String,
}

impl Check for JobPath {
    type Checked = String;

    fn check(self) -> Result<String, Invalid> {
        job_id("id", self.id)
    }
}

fn job_id(field: &str, id: String) -> Result<String, Invalid> {
    let is_one = !id.is_empty()
        && id.len() <= limits::JOB_ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_one { Ok(id) } else { Err(Invalid::new(field, "is not the id of a job")) }
}

/// Which jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Only those in this state.
    state: Option<JobStateView>,
    /// Only those of this kind, such as `upkeep`.
    #[param(value_type = Option<shapes::Name>, inline)]
    kind: Option<String>,
    /// Only those that were asked for before this one: the `next` of the page before.
    #[param(value_type = Option<shapes::JobId>, inline)]
    before: Option<String>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Check for JobQuery {
    type Checked = (JobFilter, i64);

    fn check(self) -> Result<(JobFilter, i64), Invalid> {
        let filter = JobFilter {
            state: self.state.map(Into::into),
            kind: check::optional_line("kind", self.kind, limits::NAME)?,
            before: check::optional("before", self.before, job_id)?,
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, check::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A piece of background work.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobView {
    /// Identifier, in the order of asking.
    id: String,
    kind: String,
    /// What it is known by among its kind: it is asked for once.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What it was told.
    #[schema(value_type = Object)]
    args: Value,
    state: JobStateView,
    /// How often it was begun.
    starts: i32,
    /// How often it is begun before it is given up.
    starts_max: i32,
    /// When it may begin, or might have.
    due_at: DateTime<Utc>,
    /// Who has it, or had it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// When that one took it, or began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<DateTime<Utc>>,
    /// Why its last start failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Where `GET` shows how far the work is, for an index run and a sync; absent in lists, and where that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
}

/// A page of jobs.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobPage {
    jobs: Vec<JobView>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// List the background work. For administrators of the service.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, description = "Newest first", body = JobPage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((filter, limit)): ValidQuery<JobQuery>,
) -> Result<Json<JobPage>, Problem> {
    caller.require_administrator()?;
    let jobs = jobs::list(&api.background, &filter, limit).await?;
    let next = page::next(&jobs, limit, |job| job.id.clone());
    Ok(Json(JobPage { jobs: jobs.into_iter().map(Into::into).collect(), next }))
}

/// See a piece of background work. For administrators of the service.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    responses((status = 200, description = "The job", body = JobView))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<JobView>, Problem> {
    caller.require_administrator()?;
    let job = found(&api, &id).await?;
    let progress = progress(&api, &job).await?;
    Ok(Json(JobView { progress, ..job.into() }))
}

/// Have work that was given up begin anew. For administrators of the service.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "jobs", params(JobPath),
    responses((status = 200, description = "It waits for a worker", body = JobView))
)]
pub async fn retry(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<JobView>, Problem> {
    caller.require_administrator()?;
    let job = found(&api, &id).await?;
    let mut tx = api.background.begin().await?;
    if !jobs::retry(&mut tx, &id).await? {
        let detail = "only what was given up can begin anew";
        return Err(Problem::conflict(detail).field("id").hint("GET /jobs?state=dead lists that"));
    }
    let event = NewEvent::new(Act::JobRetried, &id).with(json!({ "kind": job.kind }));
    commit(tx, &caller, event).await?;
    Ok(Json(found(&api, &id).await?.into()))
}

/// Throw away work that was given up, or has not begun. For administrators of the service.
#[utoipa::path(
    delete, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    responses((status = 204, description = "It is gone"))
)]
pub async fn discard(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<StatusCode, Problem> {
    caller.require_administrator()?;
    let job = found(&api, &id).await?;
    let mut tx = api.background.begin().await?;
    if !jobs::discard(&mut tx, &id).await? {
        let detail = "it is at work, or done";
        return Err(Problem::conflict(detail).field("id"));
    }
    let event = NewEvent::new(Act::JobDiscarded, &id).with(json!({ "kind": job.kind }));
    commit(tx, &caller, event).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn found(api: &ApiState, id: &str) -> Result<Job, Problem> {
    jobs::find(&api.background, id).await?.ok_or_else(|| {
        Problem::not_found("there is no such job").field("id").hint("GET /jobs lists them")
    })
}

/// The path at which it is seen how far the work is.
async fn progress(api: &ApiState, job: &Job) -> Result<Option<String>, Problem> {
    let named = |field: &str| job.args[field].as_str().and_then(|id| id.parse::<Uuid>().ok());
    match job.kind.as_str() {
        ingests::JOB => Ok(named("run").map(|run| format!("/ingest/{run}"))),
        connections::JOB => {
            let Some(id) = named("id") else { return Ok(None) };
            let key = connections::project_of(&api.background, ConnectionId(id)).await?;
            Ok(key.map(|key| format!("/projects/{key}/connections/{id}")))
        }
        _ => Ok(None),
    }
}

impl From<Job> for JobView {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            kind: job.kind,
            key: job.key,
            args: job.args,
            state: job.state.into(),
            starts: job.starts,
            starts_max: job.starts_max,
            due_at: job.due_at,
            worker: job.worker,
            taken_at: job.taken_at,
            ended_at: job.ended_at,
            error: job.error,
            progress: None,
        }
    }
}
