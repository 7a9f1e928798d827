//! `/projects/{key}/hygiene-runs`: hygiene runs of a project, and requests for them.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{ExpiryDecision, HygieneRunId, HygieneTask, Permission, ProjectKey};
use mc_jobs::request_run;
use mc_store::hygiene::{self, Report, ReportFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{ExpiryDecision as ExpiryDecisionView, HygieneTask as HygieneTaskView};
use mc_contract::limits;

/// Path parameters: a hygiene run.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HygieneRunPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The run's id.
    id: Uuid,
}

impl Validate for HygieneRunPath {
    type Checked = (ProjectKey, HygieneRunId);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        Ok((validate::project_key("key", &self.key)?, HygieneRunId(self.id)))
    }
}

/// Query of a list of hygiene runs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HygieneRunQuery {
    /// Only runs of this task.
    #[param(inline)]
    task: Option<HygieneTaskView>,
    /// The `next_cursor` of the previous page.
    cursor: Option<Uuid>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for HygieneRunQuery {
    type Checked = (ReportFilter, i64);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let filter = ReportFilter { task: self.task, cursor: self.cursor.map(HygieneRunId) };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A hygiene run to request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"task": "duplicates", "dry_run": true}))]
pub struct RunHygiene {
    task: HygieneTaskView,
    /// Whether it only reports its changes and makes none; `false` by default.
    #[serde(default)]
    dry_run: bool,
    /// For the task `expiry`: the decision about records whose expiry waits for a person, since too
    /// many would have expired at once. Runs of the task count them as `held`.
    expiry_decision: Option<ExpiryDecisionView>,
}

impl Validate for RunHygiene {
    type Checked = (HygieneTask, bool, Option<ExpiryDecision>);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let task = self.task;
        if self.expiry_decision.is_some() && task != HygieneTask::Expiry {
            return Err(ValidationError::new(
                "expiry_decision",
                "is for the task expiry; leave it out",
            ));
        }
        Ok((task, self.dry_run, self.expiry_decision))
    }
}

/// A run of a hygiene task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000015", "task": "duplicates", "dry_run": true,
    "requested_by": "vera", "requested_at": "2026-11-20T10:00:00Z",
    "started_at": "2026-11-20T10:00:01Z", "completed_at": "2026-11-20T10:00:09Z",
    "counts": {"clusters": 1, "records": 2},
    "findings": [{
        "keep": "019a0000-0000-7000-8000-000000000002",
        "same": ["019a0000-0000-7000-8000-000000000016"], "similarity": 0.92
    }]
}))]
pub struct HygieneRun {
    id: Uuid,
    task: HygieneTaskView,
    dry_run: bool,
    /// Login of the user who requested it; absent for a scheduled run.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    requested_at: DateTime<Utc>,
    /// When its last attempt started.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// Counts by name.
    #[schema(value_type = Object)]
    counts: Value,
    /// The first 200 findings, with ids and reasons. Their shape depends on the task.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// Why the last attempt failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

/// List the hygiene runs of a project.
///
/// Returns a page of the scheduled and the requested runs, newest first, with their counts and
/// findings. For maintainers.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs", tag = "hygiene",
    params(ProjectPath, HygieneRunQuery),
    responses((status = 200, description = "Newest first", body = Page<HygieneRun>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<HygieneRunQuery>,
) -> Result<Json<Page<HygieneRun>>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Curate).await?;
    let runs = hygiene::list(&ctx.store, ctx.project.id, filter, limit).await?;
    Ok(Json(Page::of(runs, limit, |run| run.id)))
}

/// Get a hygiene run.
///
/// Returns the run with its counts and its first 200 findings; it has no `completed_at` until it is
/// completed. For maintainers.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs/{id}", tag = "hygiene", params(HygieneRunPath),
    responses((status = 200, description = "The run", body = HygieneRun))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<HygieneRunPath>,
) -> Result<Json<HygieneRun>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Curate).await?;
    Ok(Json(find(&ctx, id).await?.into()))
}

/// Request a hygiene run.
///
/// Enqueues the task and returns the run at once: `GET` of the run tells when it is completed. A
/// dry run only reports its changes. For maintainers.
#[utoipa::path(
    post, path = "/projects/{key}/hygiene-runs", tag = "hygiene", params(ProjectPath),
    request_body = RunHygiene,
    responses((status = 202, description = "The run, enqueued", body = HygieneRun))
)]
pub async fn run(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson((task, is_dry_run, expiry_decision)): ValidJson<RunHygiene>,
) -> Result<(StatusCode, Json<HygieneRun>), Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Curate).await?;
    let (store, project) = (&ctx.store, ctx.project.id);
    let id = request_run(store, project, task, is_dry_run, expiry_decision).await?;
    Ok((StatusCode::ACCEPTED, Json(find(&ctx, id).await?.into())))
}

async fn find(ctx: &ProjectContext, id: HygieneRunId) -> Result<Report, Problem> {
    let run = hygiene::find(&ctx.store, ctx.project.id, id).await?;
    run.ok_or_else(|| {
        Problem::not_found("the project has no such hygiene run, or it is no longer kept")
            .field("id")
            .hint(format!("GET /projects/{}/hygiene-runs lists them", ctx.project.key))
    })
}

impl From<Report> for HygieneRun {
    fn from(run: Report) -> Self {
        Self {
            id: run.id.into(),
            task: run.task,
            dry_run: run.is_dry_run,
            requested_by: run.requested_by,
            requested_at: run.requested_at,
            started_at: run.started_at,
            completed_at: run.completed_at,
            counts: run.counts,
            findings: run.findings,
            last_error: run.last_error,
        }
    }
}
