//! Deletes what is no longer needed.

use std::time::Duration;

use mc_store::Store;
use mc_store::upkeep::{self, Swept};
use serde::{Deserialize, Serialize};

use crate::work::{Failure, Work};

/// A sweep over everything that has its time and is no project's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Upkeep {}

impl Work for Upkeep {
    const KIND: &'static str = "upkeep";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_mins(30);
}

/// Does it. One that fails half-way has deleted what it deleted, and the next goes on.
pub async fn run(store: Store) -> Result<(), Failure> {
    let swept = upkeep::sweep(&store).await.map_err(|error| Failure::of(&error))?;
    if swept != Swept::default() {
        let Swept { feed, held, expired, logins, events } = swept;
        tracing::info!(feed, held, expired, logins, events, "deleted what is no longer needed");
    }
    Ok(())
}
