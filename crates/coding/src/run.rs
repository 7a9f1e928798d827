//! What the work of a patch run uses: its stage, its cancellation, and its place among the runs of
//! the node.

use std::sync::{Arc, Mutex, PoisonError};

use mc_chat::Usage;
use mc_memory::content_filter::run_blocking;
use mc_workspaces::background::Slot;
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::open::OpenWorkspace;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::masking::STRICT;
use crate::metrics::PatchMetrics;

/// What a run does now.
#[derive(Debug, Clone)]
pub(crate) struct Stage(Arc<Mutex<&'static str>>);

impl Stage {
    /// Creates the stage of a run that begins.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new("starting")))
    }

    /// Returns what the run does now.
    pub fn get(&self) -> &'static str {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A patch run.
#[derive(Debug)]
pub(crate) struct Run {
    /// What it does now.
    pub stage: Stage,
    /// Whether the user has cancelled it.
    pub cancel: CancellationToken,
    /// Its place. Work that can't be cancelled keeps it, so that it counts until it ends.
    pub slot: Arc<Slot>,
    /// The metrics of the node.
    pub metrics: PatchMetrics,
    /// Its kind, for the metrics.
    pub kind: &'static str,
}

impl Run {
    /// Sets what the run does now.
    pub fn set_stage(&self, stage: &'static str) {
        *self.stage.0.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Counts the tokens of a chat model, whatever becomes of its answer.
    pub fn count(&self, usage: Usage) {
        self.metrics.count_tokens(self.kind, usage.prompt_tokens, usage.completion_tokens);
    }

    /// Runs work that ends when the run is cancelled. What must not be interrupted, such as a
    /// transaction, stays outside.
    pub async fn until_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let result = self.cancel.run_until_cancelled(work).await;
        result.unwrap_or(Err(Error::Cancelled))
    }

    /// Runs a function on the tree of a workspace, as a model sees it. It goes on when the run is
    /// cancelled.
    pub async fn with_tree<T: Send + 'static>(
        &self,
        open: &Arc<OpenWorkspace>,
        read: impl FnOnce(&MaskedTree<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (open, slot) = (Arc::clone(open), Arc::clone(&self.slot));
        run_blocking(move || {
            let _slot = slot;
            let root = open.work_tree.root()?;
            read(&MaskedTree { root: &root, sanitizer: &open.sanitizer, policy: &STRICT })
        })
        .await
    }
}
