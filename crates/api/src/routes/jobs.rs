//! `/jobs`: the background work, for who administers the service.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, IntegrationId};
use mc_store::audit::NewEvent;
use mc_store::jobs::{self, JobFilter, JobRow};
use mc_store::{ingest_runs, integrations};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::commit;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::JobState as JobStateView;

/// A job, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobPath {
    /// Its id.
    #[param(value_type = schemas::JobId, inline)]
    id: String,
}

impl Validate for JobPath {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        job_id("id", self.id)
    }
}

fn job_id(field: &str, id: String) -> Result<String, ValidationError> {
    let is_one = !id.is_empty()
        && id.len() <= limits::JOB_ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_one { Ok(id) } else { Err(ValidationError::new(field, "is not the id of a job")) }
}

/// Which jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Only those in this state.
    state: Option<JobStateView>,
    /// Only those of this kind, such as `upkeep`.
    #[param(value_type = Option<schemas::Name>, inline)]
    kind: Option<String>,
    /// Only those that were asked for before this one: the `next_cursor` of the page before.
    #[param(value_type = Option<schemas::JobId>, inline)]
    cursor: Option<String>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for JobQuery {
    type Checked = (JobFilter, i64);

    fn check(self) -> Result<(JobFilter, i64), ValidationError> {
        let filter = JobFilter {
            state: self.state.map(Into::into),
            kind: validate::optional_line("kind", self.kind, limits::NAME)?,
            cursor: validate::optional("cursor", self.cursor, job_id)?,
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A piece of background work.
#[derive(Debug, Serialize, ToSchema)]
pub struct Job {
    /// Identifier, in the order of asking.
    id: String,
    kind: String,
    /// What it is known by among its kind: it is asked for once.
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<String>,
    /// What it was told.
    #[schema(value_type = Object)]
    args: Value,
    state: JobStateView,
    /// How often it was begun.
    attempts: i32,
    /// How often it is begun before it is given up.
    max_attempts: i32,
    /// When it may begin, or might have.
    scheduled_at: DateTime<Utc>,
    /// Who has it, or had it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// When that one took it, or began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempted_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// Why its last start failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// Where `GET` shows how far the work is, for an index run and a sync; absent in lists, and where that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_url: Option<String>,
}

/// List the background work. For administrators of the service.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, description = "Newest first", body = Page<Job>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((filter, limit)): ValidQuery<JobQuery>,
) -> Result<Json<Page<Job>>, Problem> {
    caller.require_administrator()?;
    let jobs = jobs::list(&api.background, &filter, limit).await?;
    Ok(Json(Page::of(jobs, limit, |job| job.id.clone())))
}

/// See a piece of background work. For administrators of the service.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    responses((status = 200, description = "The job", body = Job))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_administrator()?;
    let job = found(&api, &id).await?;
    let progress_url = progress_url(&api, &job).await?;
    Ok(Json(Job { progress_url, ..job.into() }))
}

/// Have work that was given up begin anew. For administrators of the service.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "jobs", params(JobPath),
    responses((status = 200, description = "It waits for a worker", body = Job))
)]
pub async fn retry(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_administrator()?;
    let job = found(&api, &id).await?;
    let mut tx = api.background.begin().await?;
    if !jobs::retry(&mut tx, &id).await? {
        let detail = "only what was given up can begin anew";
        return Err(Problem::conflict(detail).field("id").hint("GET /jobs?state=dead lists that"));
    }
    let event = NewEvent::new(AuditAction::JobRetried, &id).with(json!({ "kind": job.kind }));
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
    if !jobs::delete(&mut tx, &id).await? {
        let detail = "it is at work, or done";
        return Err(Problem::conflict(detail).field("id"));
    }
    let event = NewEvent::new(AuditAction::JobDeleted, &id).with(json!({ "kind": job.kind }));
    commit(tx, &caller, event).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn found(api: &ApiState, id: &str) -> Result<JobRow, Problem> {
    jobs::find(&api.background, id).await?.ok_or_else(|| {
        Problem::not_found("there is no such job").field("id").hint("GET /jobs lists them")
    })
}

/// The path at which it is seen how far the work is.
async fn progress_url(api: &ApiState, job: &JobRow) -> Result<Option<String>, Problem> {
    let named = |field: &str| job.args[field].as_str().and_then(|id| id.parse::<Uuid>().ok());
    match job.kind.as_str() {
        ingest_runs::JOB => Ok(named("run").map(|run| format!("/ingest/runs/{run}"))),
        integrations::JOB => {
            let Some(id) = named("id") else { return Ok(None) };
            let key = integrations::project_of(&api.background, IntegrationId(id)).await?;
            Ok(key.map(|key| format!("/projects/{key}/integrations/{id}")))
        }
        _ => Ok(None),
    }
}

impl From<JobRow> for Job {
    fn from(job: JobRow) -> Self {
        Self {
            id: job.id,
            kind: job.kind,
            unique_key: job.unique_key,
            args: job.args,
            state: job.state.into(),
            attempts: job.attempts,
            max_attempts: job.max_attempts,
            scheduled_at: job.scheduled_at,
            worker: job.worker,
            attempted_at: job.attempted_at,
            completed_at: job.completed_at,
            last_error: job.last_error,
            progress_url: None,
        }
    }
}
