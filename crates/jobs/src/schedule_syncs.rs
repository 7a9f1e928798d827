//! Looks for connections to other systems that are due, and asks for a sync of each.

use std::time::Duration;

use mc_store::{Store, integrations};
use serde::{Deserialize, Serialize};

use crate::job::{BackgroundJob, JobError};

/// A look at all connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleSyncs {}

impl BackgroundJob for ScheduleSyncs {
    const KIND: &'static str = "schedule_syncs";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_secs(50);
}

/// Does it. A sync that is asked for already, by whichever node, is not asked for again.
pub async fn run(store: Store) -> Result<(), JobError> {
    let asked = integrations::enqueue_due_syncs(&store)
        .await
        .map_err(|error| JobError::classify(&error))?;
    if asked > 0 {
        tracing::debug!(connections = asked, "other systems are asked what is new");
    }
    Ok(())
}
