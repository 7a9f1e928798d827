//! What the use-cases work with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mc_crypto::Encryptor;
use mc_domain::{BundleId, Policy, ProjectId, UserId};
use mc_search::SearchContext;
use mc_store::Store;
use mc_store::policies::sanitizing;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::groups::Groups;
use crate::judge::NoteCache;
use crate::recall::HandedOut;
use crate::save::Save;

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
    pub sealer: Arc<Encryptor>,
    pub(crate) writes: Groups<Save>,
    pub(crate) bundles: Groups<HandedOut>,
    pub(crate) journal: BundleWriter,
    pub(crate) notes: NoteCache,
}

impl MemoryContext {
    /// A context over a search and its store.
    pub fn new(search: SearchContext, sealer: Arc<Encryptor>) -> Self {
        let store = search.store.clone();
        // A third of the connections for saves, a third for what recalls leave to be written; the rest
        // stays with the readers.
        let at_once = (store.max_connections() / 3).max(1);
        let (writes, bundles) = (Groups::new(at_once), Groups::new(at_once));
        let journal = BundleWriter::new(at_once);
        let notes = NoteCache::new();
        Self { store, search, policy: Arc::default(), sealer, writes, bundles, journal, notes }
    }

    /// The same over another view of the database, on somebody's behalf ([`Store::enter`]), and under
    /// the policy of the project that was entered.
    pub fn with_store(&self, store: Store, policy: Arc<Policy>) -> Self {
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
    pub async fn wait_until_stored(&self, bundle: BundleId) {
        self.bundles.hurry();
        self.journal.written(bundle).await;
    }

    /// Returns when all bundles are written that this node handed out to the caller in the project; answers the
    /// newest of them with anything in it that it remembers.
    pub(crate) async fn bundles_are_written(&self, project: ProjectId) -> Option<BundleId> {
        let caller = self.caller(project);
        self.bundles.hurry();
        self.journal.all_written(caller).await;
        self.journal.newest(caller)
    }

    /// For whom bundles of the project are handed out.
    pub(crate) fn caller(&self, project: ProjectId) -> Caller {
        (self.store.principal(), project)
    }

    /// Waits until everything is written that recalls left to be written after their answer. To
    /// be called when the service stops, before the store is closed.
    pub async fn finish(&self) {
        self.journal.tasks.close();
        self.bundles.hurry();
        self.journal.tasks.wait().await;
    }
}

/// Who was answered, and of which project.
pub(crate) type Caller = (Option<UserId>, ProjectId);

/// Callers whose newest bundle is remembered; beyond that all are forgotten, which costs a little waiting.
const CALLERS_REMEMBERED: usize = 10_000;

/// Bundles whose record is still being written.
#[derive(Clone)]
pub(crate) struct BundleWriter {
    tasks: TaskTracker,
    turns: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
    closed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    open: HashMap<BundleId, Caller>,
    /// The last bundle with anything in it that each caller was answered with here: handles are of none but such.
    newest: HashMap<Caller, BundleId>,
}

impl BundleWriter {
    /// One that looks at most so many times at once.
    fn new(at_once: usize) -> Self {
        Self {
            tasks: TaskTracker::new(),
            turns: Arc::new(Semaphore::new(at_once)),
            state: Arc::default(),
            closed: Arc::default(),
        }
    }

    /// Runs `write` after the answer; [`Journal::written`] waits for it.
    pub(crate) fn spawn(
        &self,
        bundle: BundleId,
        caller: Caller,
        has_items: bool,
        write: impl Future<Output = ()> + Send + 'static,
    ) {
        self.state().begin(bundle, caller, has_items);
        // Dropped with the task, however that ends.
        let entry = Entry { journal: self.clone(), bundle };
        self.tasks.spawn(async move {
            let _entry = entry;
            write.await;
        });
    }

    /// Runs `look` after the answer, once the bundles are written that are being written now.
    pub(crate) fn spawn_after(&self, look: impl Future<Output = ()> + Send + 'static) {
        let journal = self.clone();
        let open: Vec<BundleId> = self.state().open.keys().copied().collect();
        self.tasks.spawn(async move {
            for bundle in open {
                journal.written(bundle).await;
            }
            let _turn = journal.turns.acquire().await.expect("the semaphore is never closed");
            look.await;
        });
    }

    /// Returns when the bundle is no longer being written.
    pub(crate) async fn written(&self, bundle: BundleId) {
        self.until(|state| !state.open.contains_key(&bundle)).await;
    }

    /// Returns when no bundle of the caller is being written any more.
    async fn all_written(&self, caller: Caller) {
        self.until(|state| state.open.values().all(|of| *of != caller)).await;
    }

    /// The last bundle with anything in it that the caller was answered with here, if that is still known.
    fn newest(&self, caller: Caller) -> Option<BundleId> {
        self.state().newest.get(&caller).copied()
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let closed = self.closed.notified();
            tokio::pin!(closed);
            // Registered before the look, so that no notice falls between the two.
            closed.as_mut().enable();
            if holds(&self.state()) {
                return;
            }
            closed.await;
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self, bundle: BundleId, caller: Caller, has_items: bool) {
        self.open.insert(bundle, caller);
        if !has_items {
            return;
        }
        if self.newest.len() >= CALLERS_REMEMBERED {
            self.newest.clear();
        }
        self.newest.insert(caller, bundle);
    }
}

/// A bundle in the list of those that are being written.
struct Entry {
    journal: BundleWriter,
    bundle: BundleId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.journal.state().open.remove(&self.bundle);
        self.journal.closed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_empty_bundle_is_waited_for_and_is_not_the_newest_that_has_handles() {
        let (journal, caller) = (BundleWriter::new(1), (None, ProjectId::generate()));
        let [full, empty] = [BundleId::generate(), BundleId::generate()];
        journal.spawn(full, caller, true, async {});
        journal.spawn(empty, caller, false, std::future::pending());
        journal.written(full).await;
        assert_eq!(journal.newest(caller), Some(full));
        assert!(journal.state().open.contains_key(&empty));
    }
}
