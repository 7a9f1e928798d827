//! What the use-cases work with.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use mc_domain::{BundleId, Policy};
use mc_seal::Sealer;
use mc_search::SearchContext;
use mc_store::Store;
use mc_store::policies::sanitizing;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::turns::Turns;

/// What the use-cases work with; cheap to clone.
#[derive(Clone)]
pub struct MemoryContext {
    /// The truth.
    pub store: Store,
    /// The search, with the embedding models that answer now.
    pub search: SearchContext,
    /// The policy of the project at hand.
    pub policy: Arc<Policy>,
    /// Seals what is held in quarantine.
    pub sealer: Arc<Sealer>,
    pub(crate) turns: Turns,
    pub(crate) journal: Journal,
}

impl MemoryContext {
    /// A context over a search and its store.
    pub fn new(search: SearchContext, sealer: Arc<Sealer>) -> Self {
        let store = search.store.clone();
        // A third of the connections for saves, a third for what recalls leave to be written; the rest
        // stays with the readers.
        let writers = (store.max_connections() / 3).max(1);
        let (turns, journal) = (Turns::new(writers), Journal::new(writers));
        Self { store, search, policy: Arc::default(), sealer, turns, journal }
    }

    /// The same over another view of the database, on somebody's behalf ([`Store::enter`]), and under
    /// the policy of the project that was entered.
    pub fn over(&self, store: Store, policy: Arc<Policy>) -> Self {
        let search = SearchContext {
            store: store.clone(),
            models: self.search.models.restricted_to(policy.models.embedding),
            keyword: self.search.keyword.clone(),
            sanitizing: Arc::new(sanitizing(&policy)),
        };
        Self { store, search, policy, ..self.clone() }
    }

    /// Returns when the bundle, which may have been handed out so recently that it is still being
    /// written, can be found.
    pub async fn bundle_is_written(&self, bundle: BundleId) {
        self.journal.written(bundle).await;
    }

    /// Waits until everything is written that recalls left to be written after their answer. To
    /// be called when the service stops, before the store is closed.
    pub async fn finish(&self) {
        self.journal.tasks.close();
        self.journal.tasks.wait().await;
    }
}

/// Bundles whose record is still being written.
#[derive(Clone)]
pub(crate) struct Journal {
    tasks: TaskTracker,
    turns: Arc<Semaphore>,
    open: Arc<Mutex<HashSet<BundleId>>>,
    closed: Arc<Notify>,
}

impl Journal {
    /// One that writes at most so many bundles at once.
    fn new(at_once: usize) -> Self {
        Self {
            tasks: TaskTracker::new(),
            turns: Arc::new(Semaphore::new(at_once)),
            open: Arc::default(),
            closed: Arc::default(),
        }
    }

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
