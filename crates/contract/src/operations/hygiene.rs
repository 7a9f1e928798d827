//! `/projects/{key}/hygiene-runs`: runs of hygiene tasks.

use chrono::{DateTime, Utc};
use mc_domain::{ExpiryDecision, HygieneRunId, HygieneTask};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::number::PageLimit;
use crate::{ProjectKey, Request, ValidationError};

path! {
    /// A hygiene run, in a path.
    HygieneRunPath {
        /// The project's key.
        key: ProjectKey,
        /// The run's id.
        id: HygieneRunId,
    }
}

query! {
    /// Which hygiene runs to list.
    HygieneRunQuery {
        /// Only runs of this task.
        task: Option<HygieneTask>,
        /// The `next_cursor` of the previous page.
        cursor: Option<HygieneRunId>,
        /// Maximum number of items, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// A hygiene run to request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"task": "duplicates", "dry_run": true}))]
pub struct RunHygiene {
    /// Name of the hygiene task.
    pub task: HygieneTask,
    /// Whether it only reports its changes and makes none; `false` by default.
    #[serde(default)]
    pub dry_run: bool,
    /// For the task `expiry`: the decision about records whose expiry waits for a person, since too
    /// many would have expired at once. Runs of the task count them as `suspended`.
    pub expiry_decision: Option<ExpiryDecision>,
}

impl Request for RunHygiene {
    fn check(&self) -> Result<(), ValidationError> {
        if self.expiry_decision.is_some() && self.task != HygieneTask::Expiry {
            let rule = "is for the task expiry; leave it out";
            return Err(ValidationError::new("expiry_decision", rule));
        }
        Ok(())
    }
}

/// A run of a hygiene task.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
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
    /// The run's id.
    pub id: HygieneRunId,
    /// Name of the hygiene task.
    pub task: HygieneTask,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// Login of the user who requested it; absent for a scheduled run.
    pub requested_by: Option<String>,
    /// When it was requested.
    pub requested_at: DateTime<Utc>,
    /// When its last attempt started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// Counts by name.
    #[schema(value_type = Object)]
    pub counts: Value,
    /// The first 200 findings, with ids and reasons. Their shape depends on the task.
    #[schema(value_type = Vec<Object>)]
    pub findings: Value,
    /// Why the last attempt failed, masked.
    pub last_error: Option<String>,
}
