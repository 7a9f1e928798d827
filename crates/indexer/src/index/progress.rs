//! Progress of a run, written to the database at intervals.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mc_domain::IngestRunId;
use mc_store::Store;
use mc_store::files::Written;
use mc_store::ingest_runs::{self, Counts};

use crate::Error;
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
            counts.files_total = number(tree.candidates.len());
            for (reason, count) in &tree.skipped {
                counts
                    .files_skipped
                    .insert(reason.as_str().into(), i32::try_from(*count).unwrap_or(i32::MAX));
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
            counts.files_done += number(files);
            counts.files_changed += number(files);
            counts.chunks_written += number(chunks.written);
            counts.chunks_reused += number(chunks.reused);
        });
    }

    pub fn deleted(&self, files: usize) {
        self.update(|counts| counts.files_deleted += number(files));
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
    if ingest_runs::progress(store, id, worker, &tracker.counts()).await? {
        Ok(())
    } else {
        Err(Error::RunTakenOver)
    }
}

fn number(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
