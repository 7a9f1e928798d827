//! `/metrics/kpi` and `/metrics/report`: figures that say whether the memory helps.

use axum::Json;
use axum::extract::State;
use chrono::Utc;
use mc_accounts::teams;
use mc_contract::operations::kpi::{KpiQuery, KpiResponse};
use mc_contract::operations::usage_report::UsageReport;
use mc_domain::Permission;
use mc_memory::ProjectContext;
use mc_memory::figures::{self, FigureRequest};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::QueryString;
use crate::openapi::Access;
use crate::problem::Problem;

/// Get the figures of a project.
///
/// Returns recall hit rate, time to the first relevant recall, save acceptance, lead times of bug
/// fixes and onboarding time, by week and for the period, with the health of the memory.
/// docs/metrics.md defines them. A figure of too few events or persons has a reason in place of a
/// value.
#[utoipa::path(
    get, path = "/metrics/kpi", tag = "metrics", params(KpiQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The figures", body = KpiResponse))
)]
pub async fn get_kpi(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<KpiQuery>,
) -> Result<Json<KpiResponse>, Problem> {
    let (ctx, request) = authorize(&api, &caller, query).await?;
    Ok(Json(figures::kpi(&ctx, request).await?))
}

/// Get the weekly report of a project.
///
/// Returns the figures with the changes of the team's records, the records that were used most in
/// the present week, and the decisions that wait for a person.
#[utoipa::path(
    get, path = "/metrics/report", tag = "metrics", params(KpiQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The report", body = UsageReport))
)]
pub async fn get_usage_report(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<KpiQuery>,
) -> Result<Json<UsageReport>, Problem> {
    let (ctx, request) = authorize(&api, &caller, query).await?;
    Ok(Json(figures::report(&ctx, request).await?))
}

/// Authorizes the caller in the project, and looks the team up if they may see it.
async fn authorize(
    api: &ApiState,
    caller: &Principal,
    query: KpiQuery,
) -> Result<(ProjectContext, FigureRequest), Problem> {
    let ctx = api.authorize(caller, &query.project_key, Permission::Read).await?;
    let team = match query.team {
        None => None,
        Some(key) => {
            let team = teams::find(&api.store, caller, key.as_str()).await?;
            Some((key, team.id))
        }
    };
    let weeks = query.weeks.unwrap_or_default().get();
    Ok((ctx, FigureRequest { weeks, team, now: Utc::now() }))
}
