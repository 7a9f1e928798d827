//! `GET /metrics/kpi`: figures that say whether the memory helps. `docs/metrics.md` defines them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::ProjectKey;
use crate::number::WeekCount;
use crate::text::TeamKey;

query! {
    /// The project and the period of figures.
    KpiQuery {
        /// Key of the project.
        project_key: ProjectKey,
        /// Number of weeks, 1 to 53, the present one included; 4 when absent.
        weeks: Option<WeekCount>,
        /// Key of a team: only its members count. You must be able to see the team.
        team: Option<TeamKey>,
    }
}

/// Why a figure has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingReason {
    /// There were no events.
    NoEvents,
    /// There were too few events for a value.
    TooFewEvents,
    /// The events are of too few persons, or all but too few persons are in the team.
    TooFewPersons,
    /// No task has a label that marks a bug.
    NoBugLabels,
    /// No bug's task has the time at which it was opened.
    NoOpeningTimes,
    /// No merged pull request mentions a bug's task.
    NoMergedPullRequests,
    /// No author of a merged pull request is known as a user (`provider_logins`).
    NoProviderLogins,
}

/// Share of recalls of which an item was used within seven days.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallHitRate {
    /// `hits` divided by `recalls`, with four decimals.
    pub value: Option<f64>,
    /// Recalls by persons, without those of a control group.
    pub recalls: Option<u64>,
    /// Those with a used item.
    pub hits: Option<u64>,
    /// Why there is no value.
    pub reason: Option<MissingReason>,
}

/// Time from the start of a client's session to its first recall of which an item was used.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimeToFirstRelevant {
    /// The median, in seconds with three decimals.
    pub median_seconds: Option<f64>,
    /// Sessions with a recall.
    pub sessions: Option<u64>,
    /// Those with a recall of which an item was used; the median is of these.
    pub relevant_sessions: Option<u64>,
    /// Why there is no value.
    pub reason: Option<MissingReason>,
}

/// Share of judged saves that were kept.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SaveAcceptance {
    /// `accepted` divided by `judged`, with four decimals.
    pub value: Option<f64>,
    /// Saves that were kept, discarded by the judge, or declined by a reviewer.
    pub judged: Option<u64>,
    /// Saves that became, changed or replaced a record of the team.
    pub accepted: Option<u64>,
    /// All saves by outcome: `created`, `merged`, `superseded` and `accepted` were kept;
    /// `duplicate`, `rejected` and `declined` were not. `pending`, `expired`, `unknown`,
    /// `quarantined`, `invalid` and `failed` were not judged.
    pub outcomes: Option<BTreeMap<String, u64>>,
    /// Why there is no value.
    pub reason: Option<MissingReason>,
}

/// Time from the opening of a bug's task to the merge of its pull request, for a group of tasks.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeadTime {
    /// The median, in seconds with three decimals.
    pub median_seconds: Option<f64>,
    /// Lower bound of the 95 % interval of the median.
    pub low_seconds: Option<f64>,
    /// Upper bound of the interval.
    pub high_seconds: Option<f64>,
    /// Number of tasks.
    pub tasks: Option<u64>,
    /// Why there is no value.
    pub reason: Option<MissingReason>,
}

/// Lead times of bug fixes by the use of the memory. The groups were not drawn by lot: a difference
/// does not show its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BugfixLeadTime {
    /// Start of the period of the merges.
    pub starts_at: DateTime<Utc>,
    /// End of the period.
    pub ends_at: DateTime<Utc>,
    /// Tasks that a recall of a person named before the merge.
    pub with_memory: LeadTime,
    /// Tasks that no recall named.
    pub without_memory: LeadTime,
    /// Tasks that only recalls of a control group named.
    pub control: LeadTime,
    /// Tasks that were merged before the project existed here, in a period of the same length.
    pub before: LeadTime,
}

/// Time from a newcomer's start to the merge of their first own bug fix.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OnboardingTime {
    /// Start of the period of the merges.
    pub starts_at: DateTime<Utc>,
    /// End of the period.
    pub ends_at: DateTime<Utc>,
    /// The median, in seconds with three decimals.
    pub median_seconds: Option<f64>,
    /// Newcomers with a bug fix in the period.
    pub persons: Option<u64>,
    /// Why there is no value.
    pub reason: Option<MissingReason>,
}

/// The figures of one week or of all weeks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageFigures {
    /// Share of recalls of which an item was used.
    pub recall_hit_rate: RecallHitRate,
    /// Time to the first recall of which an item was used.
    pub time_to_first_relevant: TimeToFirstRelevant,
    /// Share of judged saves that were kept.
    pub save_acceptance: SaveAcceptance,
}

/// The figures of a week.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KpiWeek {
    /// The ISO week, such as `2026-W48`.
    pub week: String,
    /// Monday, 00:00 UTC.
    pub starts_at: DateTime<Utc>,
    /// Whether a use of an item can no longer change the figures: seven days after the week.
    pub is_final: bool,
    /// The figures.
    #[serde(flatten)]
    pub figures: UsageFigures,
}

/// The health of a project's memory: counts of live records of the team.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryHealth {
    /// Records that recalls may return.
    pub records: u64,
    /// Records that were never recalled for 30 days, or recalled and always passed over; each once.
    pub junk: u64,
    /// Records older than 30 days that were never recalled.
    pub never_recalled: u64,
    /// Records without a use, which at least three feedbacks passed over.
    pub always_rejected: u64,
    /// Open clusters of duplicate records.
    pub duplicate_clusters: u64,
    /// Records in them.
    pub duplicates: u64,
    /// Records whose cited code has changed.
    pub stale: u64,
    /// Records of which a secret or personal data was masked.
    pub masked: u64,
    /// Quarantined texts that wait for a decision; for maintainers.
    pub quarantined: Option<u64>,
}

/// The figures of a project.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = example)]
pub struct KpiResponse {
    /// Key of the project.
    pub project_key: String,
    /// Key of the team whose members count; absent for all.
    pub team: Option<TeamKey>,
    /// The time up to which events count.
    pub generated_at: DateTime<Utc>,
    /// The fewest persons whose events a figure sums up.
    pub persons_min: u32,
    /// The weeks, newest first.
    pub weeks: Vec<KpiWeek>,
    /// The figures of all weeks whose figure is shown.
    pub period: UsageFigures,
    /// Lead times of bug fixes in the last 26 weeks.
    pub bugfix_lead_time: BugfixLeadTime,
    /// Time to the first own bug fix of newcomers in the last 26 weeks.
    pub onboarding_time: OnboardingTime,
    /// Health of the memory; of the whole project, also with a team.
    pub health: MemoryHealth,
}

pub(super) fn example() -> Value {
    let figures = json!({
        "recall_hit_rate": { "value": 0.375, "recalls": 40, "hits": 15 },
        "time_to_first_relevant":
            { "median_seconds": 95.5, "sessions": 12, "relevant_sessions": 8 },
        "save_acceptance": { "value": 0.8, "judged": 10, "accepted": 8,
            "outcomes": { "created": 7, "merged": 1, "rejected": 2, "failed": 1 } }
    });
    let mut week = figures.clone();
    week["week"] = json!("2026-W48");
    week["starts_at"] = json!("2026-11-23T00:00:00Z");
    week["is_final"] = json!(false);
    let none = json!({ "reason": "no_merged_pull_requests" });
    json!({
        "project_key": "shop", "generated_at": "2026-11-29T09:00:00Z", "persons_min": 3,
        "weeks": [week], "period": figures,
        "bugfix_lead_time": {
            "starts_at": "2026-05-31T09:00:00Z", "ends_at": "2026-11-29T09:00:00Z",
            "with_memory": { "median_seconds": 86400, "low_seconds": 43200,
                             "high_seconds": 172_800, "tasks": 11 },
            "without_memory": none, "control": none, "before": none
        },
        "onboarding_time": { "starts_at": "2026-05-31T09:00:00Z",
            "ends_at": "2026-11-29T09:00:00Z", "reason": "no_provider_logins" },
        "health": { "records": 120, "junk": 9, "never_recalled": 7, "always_rejected": 2,
                    "duplicate_clusters": 1, "duplicates": 2, "stale": 3, "masked": 1 }
    })
}
