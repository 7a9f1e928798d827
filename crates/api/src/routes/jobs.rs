//! `/jobs`: background jobs, for service administrators.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::job::{Job, JobPath, JobQuery};
use mc_contract::operations::page::{Page, page};
use mc_domain::IntegrationId;
use mc_jobs::manage;
use mc_store::jobs::{self, JobFilter};
use mc_store::{ingest_runs, integrations};
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List background jobs.
///
/// Returns a page of the jobs of all projects, newest first. For service administrators.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobQuery),
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "Newest first", body = Page<Job>))
)]
pub async fn list_jobs(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<JobQuery>,
) -> Result<Json<Page<Job>>, Problem> {
    caller.require_service_admin()?;
    let JobQuery { state, kind, hide_housekeeping, cursor, limit } = query;
    let hidden: &[&str] =
        if hide_housekeeping == Some(true) { &mc_jobs::HOUSEKEEPING } else { &[] };
    let filter = JobFilter {
        state,
        kind: kind.map(Into::into),
        hidden_kinds: hidden.iter().map(|&kind| kind.to_owned()).collect(),
        cursor: cursor.map(Into::into),
    };
    let limit = limit.unwrap_or_default().get();
    let jobs = jobs::list(&api.background, &filter, limit).await?;
    Ok(Json(page(jobs, limit, |job| job.id.clone())))
}

/// Get a background job.
///
/// Returns the job with its arguments, its attempts and the path of the resource that it works on.
/// For service administrators.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "The job", body = Job))
)]
pub async fn get_job(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_service_admin()?;
    let job = manage::get(&api.background, path.id.as_str()).await?;
    Ok(Json(Job { progress_url: progress_url(&api, &job).await?, ..job }))
}

/// Retry a discarded job.
///
/// Enqueues the job again with all its attempts and returns it. Jobs in other states are not
/// retried. For service administrators.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "jobs", params(JobPath),
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "The job, enqueued again", body = Job))
)]
pub async fn retry_job(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<JobPath>,
) -> Result<Json<Job>, Problem> {
    caller.require_service_admin()?;
    Ok(Json(manage::retry(&api.background, caller.user, path.id.as_str()).await?))
}

/// Delete a background job.
///
/// Deletes a job that is discarded or has not started. Running and completed jobs stay. For service
/// administrators.
#[utoipa::path(
    delete, path = "/jobs/{id}", tag = "jobs", params(JobPath),
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_job(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<JobPath>,
) -> Result<StatusCode, Problem> {
    caller.require_service_admin()?;
    manage::delete(&api.background, caller.user, path.id.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the path of the resource that the job works on, if it exists.
async fn progress_url(api: &ApiState, job: &Job) -> Result<Option<String>, Problem> {
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
