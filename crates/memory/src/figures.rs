//! Figures that say whether the memory helps, and the weekly report. `docs/metrics.md` defines each
//! of them; `mc_store::figures` has the sums of their events.

mod gauges;
mod median;
mod report;
mod values;
mod week;

use chrono::{DateTime, TimeDelta, Utc};
use mc_contract::operations::kpi::{
    BugfixLeadTime, KpiResponse, KpiWeek, MemoryHealth, OnboardingTime,
};
use mc_contract::text::TeamKey;
use mc_domain::{Permission, ProjectId, TeamId};
use mc_store::Store;
use mc_store::figures::{
    self, FigurePeriod, FigureScope, PERSONS_MIN, ProviderData, RecordCounts, UsageOfWeek,
};

pub use gauges::register_metrics;
pub use report::report;
pub use values::{lead_time, onboarding_time, usage_figures};
pub use week::{first_week, week_name, week_start};

use crate::{Error, ProjectContext};

/// Days after the end of a week in which a use can still change its figures.
const EVIDENCE_DAYS: i64 = 7;
/// Weeks of bug fixes, whatever period is requested: a week has too few of them.
const FIX_WEEKS: i64 = 26;

/// A request for figures.
#[derive(Debug, Clone)]
pub struct FigureRequest {
    /// Number of weeks, the present one included.
    pub weeks: u16,
    /// The team, if only its members count.
    pub team: Option<(TeamKey, TeamId)>,
    /// The time up to which events count.
    pub now: DateTime<Utc>,
}

impl FigureRequest {
    fn scope(&self, project: ProjectId) -> FigureScope {
        FigureScope { project, team: self.team.as_ref().map(|(_, id)| *id) }
    }
}

/// Returns the figures of a project.
pub async fn kpi(ctx: &ProjectContext, request: FigureRequest) -> Result<KpiResponse, Error> {
    let counts = figures::count_records(&ctx.store, ctx.project.id, request.now).await?;
    kpi_with(ctx, request, &counts).await
}

async fn kpi_with(
    ctx: &ProjectContext,
    request: FigureRequest,
    counts: &RecordCounts,
) -> Result<KpiResponse, Error> {
    let (store, project, now) = (ctx.store.share_reads(), &ctx.project, request.now);
    let scope = request.scope(project.id);
    let first_week = first_week(now, request.weeks);
    let usage = figures::usage_by_week(&store, scope, first_week, request.weeks).await?;
    let (bugfix_lead_time, onboarding_time) = fixes(ctx, &store, scope, now).await?;
    Ok(KpiResponse {
        project_key: project.key.to_string(),
        team: request.team.map(|(key, _)| key),
        generated_at: now,
        persons_min: PERSONS_MIN,
        weeks: usage.iter().filter_map(|usage| kpi_week(usage, now)).collect(),
        period: usage_figures(&period_of(&usage)),
        bugfix_lead_time,
        onboarding_time,
        health: health(counts, ctx.allows(Permission::Curate)),
    })
}

fn kpi_week(usage: &UsageOfWeek, now: DateTime<Utc>) -> Option<KpiWeek> {
    let starts_at = usage.week?;
    let is_final = now >= starts_at + TimeDelta::days(7 + EVIDENCE_DAYS);
    let figures = usage_figures(usage);
    Some(KpiWeek { week: week_name(starts_at), starts_at, is_final, figures })
}

/// Returns the sum of the weeks. A part without events is withheld if that of a week is: the events
/// of that week are all there are.
fn period_of(usage: &[UsageOfWeek]) -> UsageOfWeek {
    let is_withheld = |part: fn(&UsageOfWeek) -> bool| usage.iter().any(part);
    let sum = usage.iter().find(|usage| usage.week.is_none()).cloned();
    let sum = sum.unwrap_or(UsageOfWeek { week: None, recalls: None, sessions: None, saves: None });
    UsageOfWeek {
        week: None,
        recalls: sum
            .recalls
            .filter(|sum| sum.recalls > 0 || !is_withheld(|week| week.recalls.is_none())),
        sessions: sum
            .sessions
            .filter(|sum| sum.sessions > 0 || !is_withheld(|week| week.sessions.is_none())),
        saves: sum.saves.filter(|sum| !sum.is_empty() || !is_withheld(|week| week.saves.is_none())),
    }
}

/// Returns the figures about bug fixes.
async fn fixes(
    ctx: &ProjectContext,
    store: &Store,
    scope: FigureScope,
    now: DateTime<Utc>,
) -> Result<(BugfixLeadTime, OnboardingTime), Error> {
    let period = FigurePeriod { start: now - TimeDelta::weeks(FIX_WEEKS), end: now };
    let kept_since = now - TimeDelta::days(ctx.project.policy.retention_days.bundles.into());
    let groups = figures::bugfix_lead_times(store, scope, period, kept_since).await?;
    let newcomers = figures::onboarding(store, scope, period).await?;
    let is_complete = ["with_memory", "without_memory", "control", "before"]
        .iter()
        .all(|name| groups.iter().any(|group| group.group == *name))
        && newcomers.is_none_or(|newcomers| newcomers.persons > 0);
    let data = if is_complete {
        ProviderData::default()
    } else {
        figures::provider_data(store, scope.project).await?
    };
    let group = |name: &str| {
        let group = groups.iter().find(|group| group.group == name);
        lead_time(group.map(|group| group.seconds.as_deref()), data)
    };
    let FigurePeriod { start: starts_at, end: ends_at } = period;
    let lead_time = BugfixLeadTime {
        starts_at,
        ends_at,
        with_memory: group("with_memory"),
        without_memory: group("without_memory"),
        control: group("control"),
        before: group("before"),
    };
    Ok((lead_time, onboarding_time(newcomers, data, period)))
}

fn health(counts: &RecordCounts, sees_quarantine: bool) -> MemoryHealth {
    MemoryHealth {
        records: counts.live.cast_unsigned(),
        junk: counts.junk.cast_unsigned(),
        never_recalled: counts.never_recalled.cast_unsigned(),
        always_rejected: counts.always_rejected.cast_unsigned(),
        duplicate_clusters: counts.duplicate_clusters.cast_unsigned(),
        duplicates: counts.duplicates.cast_unsigned(),
        stale: counts.stale.cast_unsigned(),
        masked: counts.masked.cast_unsigned(),
        quarantined: sees_quarantine.then(|| counts.decisions.quarantined.cast_unsigned()),
    }
}
