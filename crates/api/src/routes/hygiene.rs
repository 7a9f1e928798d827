//! `/projects/{key}/hygiene`: what keeps a project's memory in order, asked for and reported.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Act, Action, HeldEnds, HygieneReportId, HygieneTask, ProjectKey};
use mc_store::audit::{self, NewEvent};
use mc_store::hygiene::{self, Report, ReportFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::entry::Here;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::{HeldEnds as HeldEndsView, HygieneTask as HygieneTaskView};

/// A report, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ReportPath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The report's id.
    id: Uuid,
}

impl Check for ReportPath {
    type Checked = (ProjectKey, HygieneReportId);

    fn check(self) -> Result<Self::Checked, Invalid> {
        Ok((check::project_key("key", &self.key)?, HygieneReportId(self.id)))
    }
}

/// Which reports.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// Only those of this task.
    #[param(inline)]
    task: Option<HygieneTaskView>,
    /// Only those asked for before this one: the `next` of the page before.
    before: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Check for ReportQuery {
    type Checked = (ReportFilter, i64);

    fn check(self) -> Result<Self::Checked, Invalid> {
        let filter = ReportFilter {
            task: self.task.map(Into::into),
            before: self.before.map(HygieneReportId),
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, check::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// What is to be done, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"task": "duplicates", "dry_run": true}))]
pub struct HygieneRequest {
    task: HygieneTaskView,
    /// Whether it only looks, and reports what it would do; `false` when absent.
    #[serde(default)]
    dry_run: bool,
    /// With the task `expiry`: what becomes of the records whose end waits for a person, since too many would have ended
    /// at once. Reports of the task count them as `held`.
    held_ends: Option<HeldEndsView>,
}

impl Check for HygieneRequest {
    type Checked = (HygieneTask, bool, Option<HeldEnds>);

    fn check(self) -> Result<Self::Checked, Invalid> {
        let task = self.task.into();
        if self.held_ends.is_some() && task != HygieneTask::Expiry {
            return Err(Invalid::new("held_ends", "is for the task expiry; leave it out"));
        }
        Ok((task, self.dry_run, self.held_ends.map(Into::into)))
    }
}

/// What came of a task.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportView {
    id: Uuid,
    task: HygieneTaskView,
    dry_run: bool,
    /// Who asked, by login; absent for the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_by: Option<String>,
    asked_at: DateTime<Utc>,
    /// When a worker last began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<DateTime<Utc>>,
    /// What, and how many.
    #[schema(value_type = Object)]
    counts: Value,
    /// The first 200 things that were found, by their ids and with reasons; what they are depends on the task.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// Why the last start failed, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A page of reports.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportPage {
    reports: Vec<ReportView>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Uuid>,
}

/// See what was done to keep the project's memory in order.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene", tag = "hygiene", params(ProjectPath, ReportQuery),
    responses((status = 200, description = "Newest first", body = ReportPage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<ReportQuery>,
) -> Result<Json<ReportPage>, Problem> {
    let here = entered(&api, &caller, &key, Action::Curate).await?;
    let found = hygiene::list(&here.store, here.project.id, filter, limit).await?;
    let next = page::next(&found, limit, |report| report.id.into());
    Ok(Json(ReportPage { reports: found.into_iter().map(Into::into).collect(), next }))
}

/// See one report.
#[utoipa::path(
    get, path = "/projects/{key}/hygiene/{id}", tag = "hygiene", params(ReportPath),
    responses((status = 200, description = "What was done, or would be", body = ReportView))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ReportPath>,
) -> Result<Json<ReportView>, Problem> {
    let here = entered(&api, &caller, &key, Action::Curate).await?;
    let found = hygiene::find(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown(&key))?.into()))
}

/// Have the project's memory put in order now, or only looked at.
#[utoipa::path(
    post, path = "/projects/{key}/hygiene", tag = "hygiene", params(ProjectPath),
    request_body = HygieneRequest,
    responses((status = 202, description = "It waits for a worker; its report tells the rest",
               body = ReportView))
)]
pub async fn run(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson((task, is_dry_run, held_ends)): ValidJson<HygieneRequest>,
) -> Result<(StatusCode, Json<ReportView>), Problem> {
    let Here { project, store, .. } = entered(&api, &caller, &key, Action::Curate).await?;
    let mut tx = store.begin().await?;
    let id = hygiene::ask_deciding(&mut tx, project.id, task, is_dry_run, held_ends).await?;
    let detail = json!({ "task": task, "dry_run": is_dry_run, "held_ends": held_ends });
    audit::note(&mut tx, NewEvent::new(Act::HygieneAsked, id).with(detail));
    tx.commit().await?;
    let report = hygiene::find(&store, project.id, id).await?;
    Ok((StatusCode::ACCEPTED, Json(report.ok_or_else(|| unknown(&key))?.into())))
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such report, or it was too long ago")
        .field("id")
        .hint(format!("GET /projects/{key}/hygiene lists them"))
}

impl From<Report> for ReportView {
    fn from(report: Report) -> Self {
        Self {
            id: report.id.into(),
            task: report.task.into(),
            dry_run: report.is_dry_run,
            asked_by: report.asked_by,
            asked_at: report.asked_at,
            started_at: report.started_at,
            ended_at: report.ended_at,
            counts: report.counts,
            findings: report.findings,
            error: report.error,
        }
    }
}
