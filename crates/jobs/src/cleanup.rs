//! The job `cleanup`: deletes outdated service data, and audits the reads of past hours.

use std::time::Duration;

use mc_store::cleanup::{self, CleanupReport};
use serde::{Deserialize, Serialize};

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};

/// Deletes outdated service data, such as ended sessions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cleanup {}

impl BackgroundJob for Cleanup {
    const NAME: &'static str = "cleanup";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_mins(30);

    type Context = JobContext;

    /// Deletes in small transactions, so that an attempt that fails half-way keeps its progress.
    async fn run(self, JobContext { store, .. }: &JobContext) -> Result<(), JobError> {
        let report = cleanup::sweep(store).await?;
        if report != CleanupReport::default() {
            let CleanupReport { feed, suspended, expired, logins, events, reads, patches } = report;
            tracing::info!(
                feed,
                suspended,
                expired,
                logins,
                events,
                reads,
                patches,
                "outdated data deleted, and reads audited"
            );
        }
        Ok(())
    }
}
