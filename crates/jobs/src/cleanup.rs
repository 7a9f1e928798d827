//! Deletes what is no longer needed.

use std::time::Duration;

use mc_store::Store;
use mc_store::cleanup::{self, CleanupReport};
use serde::{Deserialize, Serialize};

use crate::job::{BackgroundJob, JobError};

/// A sweep over everything that has its time and is no project's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cleanup {}

impl BackgroundJob for Cleanup {
    const KIND: &'static str = "cleanup";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_mins(30);
}

/// Does it. One that fails half-way has deleted what it deleted, and the next goes on.
pub async fn run(store: Store) -> Result<(), JobError> {
    let swept = cleanup::sweep(&store).await.map_err(|error| JobError::classify(&error))?;
    if swept != CleanupReport::default() {
        let CleanupReport { feed, held, expired, logins, events } = swept;
        tracing::info!(feed, held, expired, logins, events, "deleted what is no longer needed");
    }
    Ok(())
}
