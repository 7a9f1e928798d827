//! The keyword index held against the database, and made to fit: what the feed told of and the
//! index lost, or the other way round. It is each node's own, and so is this.

use std::collections::HashSet;
use std::time::Duration;

use mc_domain::PassageId;
use mc_store::{Store, change_feed, passages};
use tantivy::TantivyError;
use uuid::Uuid;

use super::KeywordIndex;
use super::Phase;
use super::generation::IndexSnapshot;
use super::schema::{ID_HIGH, ID_LOW};
use crate::Error;

/// Ids read from the database at once.
const PAGE: i64 = 10_000;
/// For so long the index may take to read what the feed tells.
const TIMEOUT: Duration = Duration::from_mins(1);

/// What did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// Passages of the database that the index did not have.
    pub missing: u64,
    /// Passages that the index had, and the database no more.
    pub strays: u64,
}

/// Passages that one has and the other not.
#[derive(Default)]
struct Difference {
    missing: HashSet<Uuid>,
    strays: HashSet<Uuid>,
}

impl KeywordIndex {
    /// Finds which passages the index lacks or should not have, and has them told of once more; the
    /// follower does the rest, here and on every other node. `None` where the index is being built
    /// anew or can't be written: it is left alone. `store` sees every project.
    pub async fn repair(&self, store: &Store) -> Result<Option<RepairReport>, Error> {
        if self.status().phase != Phase::Following {
            return Ok(None);
        }
        let first = self.difference(store).await?;
        if first.missing.is_empty() && first.strays.is_empty() {
            return Ok(Some(RepairReport::default()));
        }
        // What changed while both were read differs, too, until the index has followed.
        self.refresh(TIMEOUT).await;
        let second = self.difference(store).await?;
        let missing: Vec<_> = second.missing.intersection(&first.missing).collect();
        let strays: Vec<_> = second.strays.intersection(&first.strays).collect();
        let both = missing.iter().chain(&strays).map(|id| PassageId(**id));
        change_feed::republish(store, &both.collect::<Vec<_>>()).await?;
        self.refresh(TIMEOUT).await;
        Ok(Some(RepairReport { missing: missing.len() as u64, strays: strays.len() as u64 }))
    }

    async fn difference(&self, store: &Store) -> Result<Difference, Error> {
        let Some(view) = self.view() else { return Ok(Difference::default()) };
        let reading = tokio::task::spawn_blocking(move || indexed(&view));
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

/// The ids of all passages that a search finds.
fn indexed(view: &IndexSnapshot) -> Result<HashSet<Uuid>, TantivyError> {
    let mut ids = HashSet::new();
    for segment in view.reader.searcher().segment_readers() {
        let columns = segment.fast_fields();
        let (high, low) = (columns.u64(ID_HIGH)?, columns.u64(ID_LOW)?);
        let halves = segment.doc_ids_alive().map(|doc| (high.first(doc), low.first(doc)));
        ids.extend(halves.filter_map(|(high, low)| Some(Uuid::from_u64_pair(high?, low?))));
    }
    Ok(ids)
}
