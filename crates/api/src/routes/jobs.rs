//! `/jobs`: background jobs, for service administrators.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::IntegrationId;
use mc_jobs::manage;
use mc_store::jobs::{self, JobFilter, JobRow};
use mc_store::{ingest_runs, integrations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::JobState as JobStateView;
use mc_contract::limits;

/// Path parameter: a job.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobPath {
    /// The job's id.
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
    let is_valid = !id.is_empty()
        && id.len() <= limits::JOB_ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_valid { Ok(id) } else { Err(ValidationError::new(field, "is not the id of a job")) }
}

/// Query of a list of jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Only jobs in this state.
    state: Option<JobStateView>,
    /// Only jobs of this kind, such as `cleanup`.
    #[param(value_type = Option<schemas::Name>, inline)]
    kind: Option<String>,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<schemas::JobId>, inline)]
    cursor: Option<String>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for JobQuery {
    type Checked = (JobFilter, i64);

    fn check(self) -> Result<(JobFilter, i64), ValidationError> {
        let filter = JobFilter {
            state: self.state,
            kind: validate::optional_line("kind", self.kind, limits::NAME)?,
            cursor: validate::optional("cursor", self.cursor, job_id)?,
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A background job.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "kind": "index_repository",
    "args": {"run": "019a0000-0000-7000-8000-000000000011"}, "state": "completed",
    "attempts": 1, "max_attempts": 100, "scheduled_at": "2026-11-20T10:00:00Z",
    "worker": "node-1", "attempted_at": "2026-11-20T10:00:01Z",
    "completed_at": "2026-11-20T10:02:30Z",
    "progress_url": "/ingest/runs/019a0000-0000-7000-8000-000000000011"
}))]
pub struct Job {
    /// Identifier; newer jobs have greater ones.
    id: String,
    kind: String,
    /// The key by which the job is enqueued once among those of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<String>,
    /// Arguments.
    #[schema(value_type = Object)]
    args: Value,
    state: JobStateView,
    /// Attempts so far.
    attempts: i32,
    /// Attempts after which it is discarded.
    max_attempts: i32,
    /// When the next attempt may start.
    scheduled_at: DateTime<Utc>,
    /// The worker of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// When the last attempt was claimed or started.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempted_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// Why the last attempt failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// Path of the index run or integration that the job works on. Absent in lists, for other
    /// kinds, and if that was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_url: Option<String>,
}

/// List background jobs.
///
/// Returns a page of the jobs of all projects, newest first. For service administrators.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, description = "Newest first", body = Page<Job>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((filter, limit)): ValidQuery<JobQuery>,
) -> Result<Json<Page<Job>>, Problem> {
    caller.require_service_admin()?;
    let jobs = jobs::list(&api.background, &filter, limit).await?;
    Ok(Json(Page::of(jobs, limit, |job| job.id.clone())))
}

/// Get a background job.
///
/// Returns the job with its arguments, its attempts and the path of the resource that it works on.
/// For service administrators.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    responses((status = 200, description = "The job", body = Job))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_service_admin()?;
    let job = manage::get(&api.background, &id).await?;
    let progress_url = progress_url(&api, &job).await?;
    Ok(Json(Job { progress_url, ..job.into() }))
}

/// Retry a discarded job.
///
/// Enqueues the job again with all its attempts and returns it. Jobs in other states are not
/// retried. For service administrators.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "jobs", params(JobPath),
    responses((status = 200, description = "The job, enqueued again", body = Job))
)]
pub async fn retry(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_service_admin()?;
    Ok(Json(manage::retry(&api.background, caller.user, &id).await?.into()))
}

/// Delete a background job.
///
/// Deletes a job that is discarded or has not started. Running and completed jobs stay. For service
/// administrators.
#[utoipa::path(
    delete, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn discard(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<JobPath>,
) -> Result<StatusCode, Problem> {
    caller.require_service_admin()?;
    manage::delete(&api.background, caller.user, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the path of the resource that the job works on, if it exists.
async fn progress_url(api: &ApiState, job: &JobRow) -> Result<Option<String>, Problem> {
    let id_in = |field: &str| job.args[field].as_str().and_then(|id| id.parse::<Uuid>().ok());
    match job.kind.as_str() {
        ingest_runs::JOB => Ok(id_in("run").map(|run| format!("/ingest/runs/{run}"))),
        integrations::JOB => {
            let Some(id) = id_in("id") else { return Ok(None) };
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
            state: job.state,
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
