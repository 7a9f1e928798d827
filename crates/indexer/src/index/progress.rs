//! Progress of a run, written to the database at intervals.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mc_domain::IngestRunId;
use mc_store::Store;
use mc_store::files::Written;
use mc_store::ingest_runs::{self, Counts};

use crate::Error;
use crate::text::as_i32;
use crate::walk::{SkipReason, Tree};

/// Interval between writes of the counts.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Counts of a run, shared by the tasks that update and store them.
#[derive(Debug, Default)]
pub(super) struct Tracker(Mutex<Counts>);

impl Tracker {
    /// Sets the counts that are known after the walk.
    pub fn begin(&self, tree: &Tree) {
        self.update(|counts| {
            counts.files_total = as_i32(tree.candidates.len());
            for (reason, count) in &tree.skipped {
                counts.files_skipped.insert(reason.as_str().into(), as_i32(*count));
            }
        });
    }

    pub fn unchanged(&self) {
        self.update(|counts| counts.files_done += 1);
    }

    pub fn skipped(&self, reason: SkipReason) {
        self.update(|counts| {
            counts.files_done += 1;
            *counts.files_skipped.entry(reason.as_str().into()).or_default() += 1;
        });
    }

    pub fn written(&self, files: usize, chunks: Written) {
        self.update(|counts| {
            counts.files_done += as_i32(files);
            counts.files_changed += as_i32(files);
            counts.chunks_written += as_i32(chunks.written);
            counts.chunks_reused += as_i32(chunks.reused);
        });
    }

    pub fn deleted(&self, files: usize) {
        self.update(|counts| counts.files_deleted += as_i32(files));
    }

    pub fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn update(&self, update: impl FnOnce(&mut Counts)) {
        update(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes the counts at intervals until that fails, and returns the error.
pub(super) async fn keep_writing(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    tracker: &Tracker,
) -> Error {
    let mut ticks = tokio::time::interval(WRITE_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = write(store, id, worker, tracker).await {
            return error;
        }
    }
}

/// Writes the counts once. Fails if another worker has taken over the run.
pub(super) async fn write(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    tracker: &Tracker,
) -> Result<(), Error> {
    let is_ours = ingest_runs::progress(store, id, worker, &tracker.counts()).await?;
    if is_ours { Ok(()) } else { Err(Error::RunTakenOver) }
}
