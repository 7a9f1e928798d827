//! `/projects/{key}/hygiene-runs`: what keeps a project's memory in order, asked for and reported.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, ExpiryDecision, HygieneRunId, HygieneTask, Permission, ProjectKey};
use mc_store::audit::{self, NewEvent};
use mc_store::hygiene::{self, Report, ReportFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{ExpiryDecision as ExpiryDecisionView, HygieneTask as HygieneTaskView};

/// A report, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HygieneRunPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The report's id.
    id: Uuid,
}

impl Validate for HygieneRunPath {
    type Checked = (ProjectKey, HygieneRunId);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        Ok((validate::project_key("key", &self.key)?, HygieneRunId(self.id)))
    }
}

/// Which reports.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HygieneRunQuery {
    /// Only those of this task.
    #[param(inline)]
    task: Option<HygieneTaskView>,
    /// Only those asked for before this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for HygieneRunQuery {
    type Checked = (ReportFilter, i64);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let filter =
            ReportFilter { task: self.task.map(Into::into), cursor: self.cursor.map(HygieneRunId) };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// What is to be done, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"task": "duplicates", "dry_run": true}))]
pub struct RunHygiene {
    task: HygieneTaskView,
    /// Whether it only looks, and reports what it would do; `false` when absent.
    #[serde(default)]
    dry_run: bool,
    /// With the task `expiry`: what becomes of the records whose end waits for a person, since too many would have ended
    /// at once. Reports of the task count them as `held`.
    expiry_decision: Option<ExpiryDecisionView>,
}

impl Validate for RunHygiene {
    type Checked = (HygieneTask, bool, Option<ExpiryDecision>);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let task = self.task.into();
        if self.expiry_decision.is_some() && task != HygieneTask::Expiry {
            return Err(ValidationError::new(
                "expiry_decision",
                "is for the task expiry; leave it out",
            ));
        }
        Ok((task, self.dry_run, self.expiry_decision.map(Into::into)))
    }
}

/// What came of a task.
#[derive(Debug, Serialize, ToSchema)]
pub struct HygieneRun {
    id: Uuid,
    task: HygieneTaskView,
    dry_run: bool,
    /// Who asked, by login; absent for the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    requested_at: DateTime<Utc>,
    /// When a worker last began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
    /// What, and how many.
    #[schema(value_type = Object)]
    counts: Value,
    /// The first 200 things that were found, by their ids and with reasons; what they are depends on the task.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// Why the last start failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

/// See what was done to keep the project's memory in order.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs", tag = "hygiene", params(ProjectPath, HygieneRunQuery),
    responses((status = 200, description = "Newest first", body = Page<HygieneRun>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<HygieneRunQuery>,
) -> Result<Json<Page<HygieneRun>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Curate).await?;
    let found = hygiene::list(&here.store, here.project.id, filter, limit).await?;
    Ok(Json(Page::of(found, limit, |report| report.id)))
}

/// See one report.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene-runs/{id}", tag = "hygiene", params(HygieneRunPath),
    responses((status = 200, description = "What was done, or would be", body = HygieneRun))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<HygieneRunPath>,
) -> Result<Json<HygieneRun>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Curate).await?;
    let found = hygiene::find(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown(&key))?.into()))
}

/// Have the project's memory put in order now, or only looked at.
#[utoipa::path(
    post, path = "/projects/{key}/hygiene-runs", tag = "hygiene", params(ProjectPath),
    request_body = RunHygiene,
    responses((status = 202, description = "It waits for a worker; its report tells the rest",
               body = HygieneRun))
)]
pub async fn run(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson((task, is_dry_run, expiry_decision)): ValidJson<RunHygiene>,
) -> Result<(StatusCode, Json<HygieneRun>), Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::Curate).await?;
    let mut tx = store.begin().await?;
    let id = hygiene::ask_deciding(&mut tx, project.id, task, is_dry_run, expiry_decision).await?;
    let detail = json!({ "task": task, "dry_run": is_dry_run, "expiry_decision": expiry_decision });
    audit::record(&mut tx, NewEvent::new(AuditAction::HygieneRunRequested, id).with(detail));
    tx.commit().await?;
    let report = hygiene::find(&store, project.id, id).await?;
    Ok((StatusCode::ACCEPTED, Json(report.ok_or_else(|| unknown(&key))?.into())))
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such report, or it was too long ago")
        .field("id")
        .hint(format!("GET /projects/{key}/hygiene-runs lists them"))
}

impl From<Report> for HygieneRun {
    fn from(report: Report) -> Self {
        Self {
            id: report.id.into(),
            task: report.task.into(),
            dry_run: report.is_dry_run,
            requested_by: report.requested_by,
            requested_at: report.requested_at,
            started_at: report.started_at,
            completed_at: report.completed_at,
            counts: report.counts,
            findings: report.findings,
            last_error: report.last_error,
        }
    }
}
