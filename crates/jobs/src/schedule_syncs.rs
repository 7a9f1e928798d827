//! The job `schedule_syncs`: enqueues a sync of each integration that is due.

use std::time::Duration;

use mc_store::integrations;
use serde::{Deserialize, Serialize};

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};

/// Enqueues a sync of each integration that is due.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleSyncs {}

impl BackgroundJob for ScheduleSyncs {
    const NAME: &'static str = "schedule_syncs";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_secs(50);

    type Context = JobContext;

    /// Enqueues the syncs, except those that any node has enqueued already.
    async fn run(self, JobContext { store, .. }: &JobContext) -> Result<(), JobError> {
        let integrations = integrations::enqueue_due_syncs(store).await?;
        if integrations > 0 {
            tracing::debug!(integrations, "due syncs enqueued");
        }
        Ok(())
    }
}
