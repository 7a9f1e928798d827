//! What a run has done so far, and telling the database of it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mc_domain::IngestRunId;
use mc_store::Store;
use mc_store::files::Written;
use mc_store::ingest_runs::{self, Counts};

use crate::Error;
use crate::walk::{SkipReason, Tree};

/// How often counts are written.
const EVERY: Duration = Duration::from_secs(1);

/// Counts, shared by the writer and who tells of them.
#[derive(Debug, Default)]
pub(super) struct Tracker(Mutex<Counts>);

impl Tracker {
    /// The walk is done.
    pub fn begin(&self, tree: &Tree) {
        self.change(|counts| {
            counts.files_total = number(tree.candidates.len());
            for (skip, count) in &tree.skipped {
                counts
                    .files_skipped
                    .insert(skip.as_str().into(), i32::try_from(*count).unwrap_or(i32::MAX));
            }
        });
    }

    pub fn unchanged(&self) {
        self.change(|counts| counts.files_done += 1);
    }

    pub fn skipped(&self, skip: SkipReason) {
        self.change(|counts| {
            counts.files_done += 1;
            *counts.files_skipped.entry(skip.as_str().into()).or_default() += 1;
        });
    }

    pub fn written(&self, files: usize, chunks: Written) {
        self.change(|counts| {
            counts.files_done += number(files);
            counts.files_changed += number(files);
            counts.chunks_written += number(chunks.written);
            counts.chunks_reused += number(chunks.reused);
        });
    }

    pub fn deleted(&self, files: usize) {
        self.change(|counts| counts.files_deleted += number(files));
    }

    pub fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes the counts again and again until that fails; answers how.
pub(super) async fn keep(store: &Store, id: IngestRunId, worker: &str, tracker: &Tracker) -> Error {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = note(store, id, worker, tracker).await {
            return error;
        }
    }
}

/// Writes the counts once; fails where another has the run by now.
pub(super) async fn note(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    tracker: &Tracker,
) -> Result<(), Error> {
    if ingest_runs::progress(store, id, worker, &tracker.counts()).await? {
        Ok(())
    } else {
        Err(Error::Lost)
    }
}

fn number(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
