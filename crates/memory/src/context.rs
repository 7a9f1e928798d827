//! What the use-cases work with.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use mc_domain::BundleId;
use mc_search::SearchContext;
use mc_store::Store;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

/// How many saves may be in the database at once. Those that wait for a project's lock hold a
/// connection each; the rest of the pool stays with the readers.
const SAVES_AT_ONCE: usize = 4;

/// What the use-cases work with; cheap to clone.
#[derive(Clone)]
pub struct MemoryContext {
    /// The truth.
    pub store: Store,
    /// The search, with the embedding models that answer now.
    pub search: SearchContext,
    pub(crate) saves: Arc<Semaphore>,
    pub(crate) journal: Journal,
}

impl MemoryContext {
    /// A context over a search and its store.
    pub fn new(search: SearchContext) -> Self {
        Self {
            store: search.store.clone(),
            search,
            saves: Arc::new(Semaphore::new(SAVES_AT_ONCE)),
            journal: Journal::default(),
        }
    }

    /// Waits until everything is written that recalls left to be written after their answer. To
    /// be called when the service stops, before the store is closed.
    pub async fn finish(&self) {
        self.journal.tasks.close();
        self.journal.tasks.wait().await;
    }
}

/// How many bundles may be written at once, for the same reason.
const JOURNALS_AT_ONCE: usize = 4;

/// Bundles whose record is still being written.
#[derive(Clone)]
pub(crate) struct Journal {
    tasks: TaskTracker,
    turns: Arc<Semaphore>,
    open: Arc<Mutex<HashSet<BundleId>>>,
    closed: Arc<Notify>,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            tasks: TaskTracker::new(),
            turns: Arc::new(Semaphore::new(JOURNALS_AT_ONCE)),
            open: Arc::default(),
            closed: Arc::default(),
        }
    }
}

impl Journal {
    /// Runs `write` after the answer; [`Journal::written`] waits for it.
    pub(crate) fn spawn(&self, bundle: BundleId, write: impl Future<Output = ()> + Send + 'static) {
        self.open().insert(bundle);
        // Dropped with the task, however that ends.
        let entry = Entry { journal: self.clone(), bundle };
        let turns = Arc::clone(&self.turns);
        self.tasks.spawn(async move {
            let _entry = entry;
            let _turn = turns.acquire().await.expect("the semaphore is never closed");
            write.await;
        });
    }

    /// Returns when the bundle is no longer being written.
    pub(crate) async fn written(&self, bundle: BundleId) {
        loop {
            let closed = self.closed.notified();
            tokio::pin!(closed);
            // Registered before the look, so that no notice falls between the two.
            closed.as_mut().enable();
            if !self.open().contains(&bundle) {
                return;
            }
            closed.await;
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashSet<BundleId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bundle in the list of those that are being written.
struct Entry {
    journal: Journal,
    bundle: BundleId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.journal.open().remove(&self.bundle);
        self.journal.closed.notify_waiters();
    }
}
