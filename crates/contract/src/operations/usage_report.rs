//! `GET /metrics/report`: the weekly report of a project's memory.

use chrono::{DateTime, Utc};
use mc_domain::RecordId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::kpi::{self, KpiResponse};

/// Changes of the team's records in a week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WeekChanges {
    /// The ISO week, such as `2026-W48`.
    pub week: String,
    /// Monday, 00:00 UTC.
    pub starts_at: DateTime<Utc>,
    /// New records.
    pub created: u64,
    /// Records with a new version: merged into, edited or restored.
    pub changed: u64,
    /// Records that another one replaced.
    pub superseded: u64,
    /// Deleted records.
    pub deleted: u64,
    /// Records that expired.
    pub expired: u64,
}

/// A record that was used in the present week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsedRecord {
    /// The record's id.
    pub id: RecordId,
    /// Its title, or the start of its content.
    pub title: String,
    /// Bundles of which it was used.
    pub uses: u64,
}

/// Decisions that wait for a person.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingDecisions {
    /// Proposals of users and agents.
    pub proposals: u64,
    /// When the oldest of them was made.
    pub oldest_proposal_at: Option<DateTime<Utc>>,
    /// Records that hygiene returned to the reviewers.
    pub demoted: u64,
    /// Records whose expiry waits for a decision.
    pub suspended_expiries: u64,
    /// Open clusters of duplicates.
    pub duplicate_clusters: u64,
    /// Quarantined texts; for maintainers.
    pub quarantined: Option<u64>,
}

/// The weekly report of a project's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = example)]
pub struct UsageReport {
    /// The figures.
    #[serde(flatten)]
    pub kpi: KpiResponse,
    /// Changes of the team's records in the weeks, newest first.
    pub changes: Vec<WeekChanges>,
    /// The records that were used most in the present week, at most ten.
    pub most_used: Vec<UsedRecord>,
    /// Decisions that wait for a person.
    pub pending: PendingDecisions,
}

fn example() -> Value {
    let mut report = kpi::example();
    report["changes"] = json!([{
        "week": "2026-W48", "starts_at": "2026-11-23T00:00:00Z",
        "created": 6, "changed": 2, "superseded": 1, "deleted": 0, "expired": 0
    }]);
    report["most_used"] = json!([{
        "id": "019a0000-0000-7000-8000-000000000002",
        "title": "The delay is nil when delay_unit and trigger_delay_unit differ.", "uses": 5
    }]);
    report["pending"] = json!({
        "proposals": 2, "oldest_proposal_at": "2026-11-20T10:00:00Z", "demoted": 0,
        "suspended_expiries": 0, "duplicate_clusters": 1
    });
    report
}
