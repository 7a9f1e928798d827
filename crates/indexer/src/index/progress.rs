//! Progress of a run, written to the database at intervals.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mc_domain::IngestRunId;
use mc_store::Store;
use mc_store::files::Written;
use mc_store::ingest_runs::{self, Counts, FileError};

use super::IndexTask;
use crate::Error;
use crate::text::as_i32;
use crate::walk::SkipReason;

/// Maximum number of failed files that are named.
const NAMED_FAILURES: usize = 10;

/// Interval between writes of the counts.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Counts of a run, shared by the tasks that update and store them.
#[derive(Debug, Default)]
pub(super) struct Tracker(Mutex<State>);

#[derive(Debug, Default, Clone)]
struct State {
    counts: Counts,
    /// Files whose stored text is current.
    unchanged: usize,
}

impl Tracker {
    /// Sets the counts that are known after the walk.
    pub fn begin(&self, task: &IndexTask) {
        let tree = &task.tree;
        self.update(|counts| {
            counts.files_total = as_i32(tree.candidates.len());
            for (reason, count) in &tree.skipped {
                counts.files_skipped.insert(reason.as_str().into(), as_i32(*count));
            }
        });
        for path in tree.unreadable() {
            self.failed(path, &task.cause(path, SkipReason::Unreadable));
        }
    }

    pub fn unchanged(&self) {
        let mut state = self.state();
        state.unchanged += 1;
        state.counts.files_done += 1;
    }

    pub fn skipped(&self, reason: SkipReason) {
        self.update(|counts| {
            counts.files_done += 1;
            *counts.files_skipped.entry(reason.as_str().into()).or_default() += 1;
        });
    }

    /// Counts a file, or a directory, that could not be read or stored.
    pub fn failed(&self, path: &str, cause: &str) {
        self.update(|counts| {
            counts.failed_files += 1;
            if counts.file_errors.len() < NAMED_FAILURES {
                let masked = |text: &str| mc_sanitizer::mask(text).text.into_string();
                let path = if path.is_empty() { "." } else { path };
                counts.file_errors.push(FileError { path: masked(path), cause: masked(cause) });
            }
        });
    }

    /// Returns the error of a run that could read or store none of the files that it should have.
    pub fn nothing_stored(&self) -> Option<Error> {
        let State { counts, unchanged } = self.state().clone();
        let has_stored = unchanged > 0 || counts.files_changed > 0;
        (counts.failed_files > 0 && !has_stored).then(|| Error::nothing_stored(&counts))
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
        self.state().counts.clone()
    }

    fn update(&self, update: impl FnOnce(&mut Counts)) {
        update(&mut self.state().counts);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
