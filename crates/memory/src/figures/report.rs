//! The weekly report.

use chrono::{DateTime, TimeDelta, Utc};
use mc_contract::operations::usage_report::{
    PendingDecisions, UsageReport, UsedRecord, WeekChanges,
};
use mc_domain::Permission;
use mc_store::figures::{self, Changes, FigurePeriod, RecordCounts};

use super::{FigureRequest, first_week, kpi_with, week_name, week_start};
use crate::{Error, ProjectContext};

/// Most records that the report lists.
const RECORDS_MAX: i64 = 10;

/// Returns the report of a project.
pub async fn report(ctx: &ProjectContext, request: FigureRequest) -> Result<UsageReport, Error> {
    let (store, project) = (&ctx.store, ctx.project.id);
    let (now, weeks) = (request.now, request.weeks);
    let counts = figures::count_records(store, project, now).await?;
    let changes = figures::changes(store, project, first_week(now, weeks), now).await?;
    let this_week = FigurePeriod { start: week_start(now), end: now };
    let used = figures::list_used(store, project, this_week, RECORDS_MAX).await?;
    let pending = pending(&counts, ctx.allows(Permission::Curate));
    Ok(UsageReport {
        kpi: kpi_with(ctx, request, &counts).await?,
        changes: every_week(&changes, now, weeks),
        most_used: used.into_iter().map(used_record).collect(),
        pending,
    })
}

fn pending(counts: &RecordCounts, sees_quarantine: bool) -> PendingDecisions {
    let decisions = &counts.decisions;
    PendingDecisions {
        proposals: decisions.proposals.cast_unsigned(),
        oldest_proposal_at: decisions.oldest_proposal_at,
        demoted: decisions.demoted.cast_unsigned(),
        suspended_expiries: decisions.suspended_expiries.cast_unsigned(),
        duplicate_clusters: counts.duplicate_clusters.cast_unsigned(),
        quarantined: sees_quarantine.then(|| decisions.quarantined.cast_unsigned()),
    }
}

/// Returns the changes of each week, newest first, those without a change included.
fn every_week(changes: &[Changes], now: DateTime<Utc>, weeks: u16) -> Vec<WeekChanges> {
    let week_of = |back: u16| {
        let starts_at = week_start(now) - TimeDelta::weeks(i64::from(back));
        let found = changes.iter().find(|changes| changes.week == starts_at);
        let count = |of: fn(&Changes) -> i64| found.map_or(0, of).cast_unsigned();
        WeekChanges {
            week: week_name(starts_at),
            starts_at,
            created: count(|changes| changes.created),
            changed: count(|changes| changes.changed),
            superseded: count(|changes| changes.superseded),
            deleted: count(|changes| changes.deleted),
            expired: count(|changes| changes.expired),
        }
    };
    (0..weeks).map(week_of).collect()
}

fn used_record(record: figures::UsedRecord) -> UsedRecord {
    UsedRecord { id: record.id, title: record.title, uses: record.uses.cast_unsigned() }
}
