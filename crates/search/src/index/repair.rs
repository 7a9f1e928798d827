//! Comparison of a node's keyword index with the database, and repair of differences.

use std::collections::HashSet;
use std::time::Duration;

use mc_domain::PassageId;
use mc_store::{Store, change_feed, passages};
use tantivy::TantivyError;
use uuid::Uuid;

use super::generation::IndexSnapshot;
use super::schema::{ID_HIGH, ID_LOW};
use super::{Freshness, KeywordIndex, Phase};
use crate::Error;

const PAGE: i64 = 10_000;
/// Maximum time for the index to catch up with the change feed.
const REFRESH_TIMEOUT: Duration = Duration::from_mins(1);

/// Differences that were repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// Number of passages that the index lacked.
    pub missing: u64,
    /// Number of passages that the database did not have any more.
    pub strays: u64,
}

/// Passages that only the database or only the index has.
#[derive(Default)]
struct Difference {
    missing: HashSet<Uuid>,
    strays: HashSet<Uuid>,
}

impl KeywordIndex {
    /// Finds passages that the index lacks or should not have, and publishes them to the change
    /// feed again, so that the follower of each node updates them.
    ///
    /// Returns `None` without a repair if the index is being rebuilt, cannot be written or cannot
    /// catch up with the feed. `store` needs access to every project.
    pub async fn repair(&self, store: &Store) -> Result<Option<RepairReport>, Error> {
        if self.status().phase != Phase::Live {
            return Ok(None);
        }
        let first = self.difference(store).await?;
        if first.missing.is_empty() && first.strays.is_empty() {
            return Ok(Some(RepairReport::default()));
        }
        // Concurrent changes are differences, too, until the follower has applied them.
        if self.refresh(REFRESH_TIMEOUT).await != Freshness::Current {
            return Ok(None);
        }
        let second = self.difference(store).await?;
        let missing: Vec<_> = second.missing.intersection(&first.missing).collect();
        let strays: Vec<_> = second.strays.intersection(&first.strays).collect();
        let differing = missing.iter().chain(&strays).map(|id| PassageId(**id));
        change_feed::republish(store, &differing.collect::<Vec<_>>()).await?;
        self.refresh(REFRESH_TIMEOUT).await;
        Ok(Some(RepairReport { missing: missing.len() as u64, strays: strays.len() as u64 }))
    }

    async fn difference(&self, store: &Store) -> Result<Difference, Error> {
        let Some(snapshot) = self.snapshot() else { return Ok(Difference::default()) };
        let reading = tokio::task::spawn_blocking(move || indexed(&snapshot));
        let mut strays = reading.await??;
        let mut missing = HashSet::new();
        let mut after = None;
        loop {
            let page = passages::ids_after(store, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Difference { missing, strays }) };
            after = Some(*last);
            missing.extend(page.iter().map(|id| id.0).filter(|id| !strays.remove(id)));
        }
    }
}

/// Returns the ids of all passages in the index.
fn indexed(snapshot: &IndexSnapshot) -> Result<HashSet<Uuid>, TantivyError> {
    let mut ids = HashSet::new();
    for segment in snapshot.reader.searcher().segment_readers() {
        let columns = segment.fast_fields();
        let (high, low) = (columns.u64(ID_HIGH)?, columns.u64(ID_LOW)?);
        let halves = segment.doc_ids_alive().map(|doc| (high.first(doc), low.first(doc)));
        ids.extend(halves.filter_map(|(high, low)| Some(Uuid::from_u64_pair(high?, low?))));
    }
    Ok(ids)
}
