//! `/jobs`: background jobs.

use chrono::{DateTime, Utc};
use mc_domain::JobState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::Request;
use crate::number::PageLimit;
use crate::text::{JobId, Name};

path! {
    /// A job, in a path.
    JobPath {
        /// The job's id.
        id: JobId,
    }
}

/// Which jobs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// Only jobs of this kind, such as `cleanup`.
    #[param(inline)]
    pub kind: Option<Name>,
    /// Whether to leave out the jobs that the service's schedule enqueues each minute or hour.
    pub hide_housekeeping: Option<bool>,
    /// The `next_cursor` of the previous page.
    #[param(inline)]
    pub cursor: Option<JobId>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for JobQuery {}

/// A background job.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "kind": "index_repository",
    "args": {"run": "019a0000-0000-7000-8000-000000000011"}, "state": "completed",
    "attempts": 1, "max_attempts": 100, "scheduled_at": "2026-11-20T10:00:00Z",
    "worker": "node-1", "attempted_at": "2026-11-20T10:00:01Z",
    "completed_at": "2026-11-20T10:02:30Z",
    "progress_url": "/ingest/runs/019a0000-0000-7000-8000-000000000011"
}))]
pub struct Job {
    /// Identifier; newer jobs have greater ones.
    pub id: String,
    /// Name of the job kind, such as `index_repository`.
    pub kind: String,
    /// The key by which the job is enqueued once among those of its kind.
    pub unique_key: Option<String>,
    /// Arguments.
    #[schema(value_type = Object)]
    pub args: Value,
    /// Where it is in its life.
    pub state: JobState,
    /// Attempts so far.
    pub attempts: i32,
    /// Attempts after which it is discarded.
    pub max_attempts: i32,
    /// When the next attempt may start.
    pub scheduled_at: DateTime<Utc>,
    /// The worker of the last attempt.
    pub worker: Option<String>,
    /// When the last attempt was claimed or started.
    pub attempted_at: Option<DateTime<Utc>>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// Why the last attempt failed, masked.
    pub last_error: Option<String>,
    /// Path of the index run or integration that the job works on. Absent in lists, for other
    /// kinds, and if that was deleted.
    pub progress_url: Option<String>,
}
