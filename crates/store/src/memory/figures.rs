//! Figures about the use of a project's memory and its health (docs/metrics.md). Events of single
//! users stay in the database: its functions return sums over enough persons.

mod health;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, TeamId};
use serde_json::Value;

use crate::error::from_json;
use crate::{Result, Store};

pub use health::{Changes, Decisions, RecordCounts, UsedRecord, changes, count_records, list_used};

/// The fewest persons whose events a figure sums up: `mc.figure_persons_min()`.
pub const PERSONS_MIN: u32 = 3;

/// Whose events count: those of all users of a project, or of the members of a team.
#[derive(Debug, Clone, Copy)]
pub struct FigureScope {
    /// The project.
    pub project: ProjectId,
    /// The team, if only its members count.
    pub team: Option<TeamId>,
}

/// A period of time.
#[derive(Debug, Clone, Copy)]
pub struct FigurePeriod {
    /// Its start.
    pub start: DateTime<Utc>,
    /// Its end, which is not part of it.
    pub end: DateTime<Utc>,
}

/// Events of a week or of several weeks; a part is `None` if it is withheld, since too few persons
/// have such events.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageOfWeek {
    /// The start of the week; `None` for the sum of the weeks whose part is not withheld.
    pub week: Option<DateTime<Utc>>,
    /// Recalls.
    pub recalls: Option<RecallCounts>,
    /// Sessions.
    pub sessions: Option<SessionCounts>,
    /// Numbers of saves by outcome.
    pub saves: Option<BTreeMap<String, u64>>,
}

/// Numbers of recalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallCounts {
    /// All.
    pub recalls: u64,
    /// Those of which an item was used.
    pub with_use: u64,
}

/// Numbers of sessions with a recall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionCounts {
    /// All.
    pub sessions: u64,
    /// Those with a recall of which an item was used.
    pub relevant: u64,
    /// The median of the seconds until the first such recall.
    pub median_seconds: Option<f64>,
}

/// Returns the events of each week from the first one (Monday, 00:00 UTC), and their sum.
pub async fn usage_by_week(
    store: &Store,
    scope: FigureScope,
    first_week: DateTime<Utc>,
    weeks: u16,
) -> Result<Vec<UsageOfWeek>> {
    let rows = sqlx::query!(
        r#"select week, recalls, hits, sessions, relevant_sessions, median_seconds, outcomes
           from mc.usage_by_week($1, $2, $3, $4) order by week desc nulls last"#,
        scope.project.0,
        scope.team.map(|team| team.0),
        first_week,
        i32::from(weeks)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            let sessions = (row.sessions, row.relevant_sessions, row.median_seconds);
            usage_of(row.week, (row.recalls, row.hits), sessions, row.outcomes)
        })
        .collect()
}

/// Returns the usage of each project with a key, over weeks from the first one, for the worker
/// role.
pub async fn usage_by_project(
    store: &Store,
    first_week: DateTime<Utc>,
    weeks: u16,
) -> Result<Vec<(String, UsageOfWeek)>> {
    let rows = sqlx::query!(
        r#"select p.key, f.recalls, f.hits, f.sessions, f.relevant_sessions, f.median_seconds,
               f.outcomes
           from projects p cross join lateral mc.usage_by_week(p.id, null, $1, $2) f
           where f.week is null order by p.key"#,
        first_week,
        i32::from(weeks)
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            let sessions = (row.sessions, row.relevant_sessions, row.median_seconds);
            let usage = usage_of(None, (row.recalls, row.hits), sessions, row.outcomes)?;
            Ok((row.key, usage))
        })
        .collect()
}

/// Reads the columns of `mc.usage_by_week`.
fn usage_of(
    week: Option<DateTime<Utc>>,
    (recalls, hits): (Option<i64>, Option<i64>),
    (sessions, relevant, median_seconds): (Option<i64>, Option<i64>, Option<f64>),
    outcomes: Option<Value>,
) -> Result<UsageOfWeek> {
    let recalls = recalls.zip(hits).map(|(recalls, hits)| RecallCounts {
        recalls: recalls.cast_unsigned(),
        with_use: hits.cast_unsigned(),
    });
    let sessions = sessions.zip(relevant).map(|(sessions, relevant)| SessionCounts {
        sessions: sessions.cast_unsigned(),
        relevant: relevant.cast_unsigned(),
        median_seconds,
    });
    let saves = outcomes.map(|stored| from_json("mc.usage_by_week", stored)).transpose()?;
    Ok(UsageOfWeek { week, recalls, sessions, saves })
}

/// Lead times of a group of tasks (docs/metrics.md).
#[derive(Debug, Clone, PartialEq)]
pub struct LeadTimes {
    /// The name of the group.
    pub group: String,
    /// The seconds, sorted; `None` if they are withheld.
    pub seconds: Option<Vec<f64>>,
}

/// Returns the lead times of bugs' tasks whose pull requests were merged in the period, by group.
/// A group without tasks is absent. Bundles are kept since `kept_since`.
pub async fn bugfix_lead_times(
    store: &Store,
    scope: FigureScope,
    period: FigurePeriod,
    kept_since: DateTime<Utc>,
) -> Result<Vec<LeadTimes>> {
    let rows = sqlx::query!(
        r#"select task_group as "group!", seconds, is_withheld as "is_withheld!"
           from mc.bugfix_lead_times($1, $2, $3, $4, $5)"#,
        scope.project.0,
        scope.team.map(|team| team.0),
        period.start,
        period.end,
        kept_since
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let times = rows.into_iter().map(|row| LeadTimes {
        group: row.group,
        // A group may have tasks of other teams alone.
        seconds: (!row.is_withheld).then(|| row.seconds.unwrap_or_default()),
    });
    Ok(times.collect())
}

/// Newcomers and the median of their times to the first own bug fix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Onboarding {
    /// Their number.
    pub persons: u64,
    /// The median, in seconds.
    pub median_seconds: Option<f64>,
}

/// Returns the onboarding of newcomers whose first own bug fix was merged in the period; `None` if
/// it is withheld.
pub async fn onboarding(
    store: &Store,
    scope: FigureScope,
    period: FigurePeriod,
) -> Result<Option<Onboarding>> {
    let row = sqlx::query!(
        "select persons, median_seconds from mc.onboarding_time($1, $2, $3, $4)",
        scope.project.0,
        scope.team.map(|team| team.0),
        period.start,
        period.end
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.and_then(|row| {
        let persons = row.persons?.cast_unsigned();
        Some(Onboarding { persons, median_seconds: row.median_seconds })
    }))
}

/// What providers sent of which figures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProviderData {
    /// Tasks with a label that marks a bug.
    pub bugs: u64,
    /// Those with the time at which they were opened.
    pub opened_bugs: u64,
    /// Merged pull requests that mention one of them.
    pub fixes: u64,
    /// Those of authors who are known as users.
    pub fixes_of_users: u64,
}

/// Returns what providers sent for a project. It says why a figure has no value.
pub async fn provider_data(store: &Store, project: ProjectId) -> Result<ProviderData> {
    let row = sqlx::query!(
        r#"select bugs as "bugs!", opened_bugs as "opened_bugs!", fixes as "fixes!",
               fixes_of_users as "fixes_of_users!"
           from mc.count_bug_fixes($1)"#,
        project.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.map_or_else(ProviderData::default, |row| ProviderData {
        bugs: row.bugs.cast_unsigned(),
        opened_bugs: row.opened_bugs.cast_unsigned(),
        fixes: row.fixes.cast_unsigned(),
        fixes_of_users: row.fixes_of_users.cast_unsigned(),
    }))
}
