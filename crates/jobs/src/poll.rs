//! Looks for connections to other systems that are due, and asks for a sync of each.

use std::time::Duration;

use mc_store::{Store, connections};
use serde::{Deserialize, Serialize};

use crate::work::{Failure, Work};

/// A look at all connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Poll {}

impl Work for Poll {
    const KIND: &'static str = "poll";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_secs(50);
}

/// Does it. A sync that is asked for already, by whichever node, is not asked for again.
pub async fn run(store: Store) -> Result<(), Failure> {
    let asked = connections::ask_for_due(&store).await.map_err(|error| Failure::of(&error))?;
    if asked > 0 {
        tracing::debug!(connections = asked, "other systems are asked what is new");
    }
    Ok(())
}
