//! The context in which the use-cases run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mc_chat::ChatModels;
use mc_crypto::Encryptor;
use mc_domain::{BundleId, ClientSession, Policy, ProjectId, UserId};
use mc_search::SearchContext;
use mc_store::Store;
use mc_store::policies::sanitizing;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::chat::ProjectChat;
use crate::content_filter::FairnessKey;
use crate::judge::NoteCache;
use crate::prompts::PromptVersionCache;
use crate::recall::IssuedBundle;
use crate::save::Save;
use crate::usage_log::UsageWrite;
use crate::write_queue::WriteQueue;

/// Context of the use-cases: store, search, policy and queues. Cheap to clone.
#[derive(Clone)]
pub struct MemoryContext {
    /// Store in the context of the caller.
    pub store: Store,
    /// Search, with the embedding models available now.
    pub search: SearchContext,
    /// Policy of the project.
    pub policy: Arc<Policy>,
    /// Encrypts quarantine items.
    pub encryptor: Arc<Encryptor>,
    /// The configured chat models.
    chat_models: Arc<ChatModels>,
    /// How long a save waits for the chat models that distill and judge it, together.
    pub(crate) judge_wait: Duration,
    /// Session of the caller, if there is one.
    pub(crate) session: Option<ClientSession>,
    pub(crate) writes: WriteQueue<Save>,
    pub(crate) bundles: WriteQueue<IssuedBundle>,
    pub(crate) usage: WriteQueue<UsageWrite>,
    pub(crate) bundle_writer: BundleWriter,
    pub(crate) notes: NoteCache,
    pub(crate) prompt_versions: PromptVersionCache,
}

impl MemoryContext {
    /// Creates a context over a search and its store.
    pub fn new(search: SearchContext, encryptor: Arc<Encryptor>) -> Self {
        let store = search.store.clone();
        // A third of the connections is for saves, a third for bundles, the rest for readers.
        let concurrency = (store.max_connections() / 3).max(1);
        Self {
            store,
            search,
            policy: Arc::default(),
            encryptor,
            chat_models: Arc::default(),
            judge_wait: Duration::ZERO,
            session: None,
            writes: WriteQueue::new(concurrency),
            bundles: WriteQueue::new(concurrency),
            // No caller waits for these writes.
            usage: WriteQueue::new(1),
            bundle_writer: BundleWriter::new(concurrency),
            notes: NoteCache::new(),
            prompt_versions: PromptVersionCache::new(),
        }
    }

    /// Returns the context with these chat models; it has none before. A save waits at most
    /// `judge_wait` for those that distill and judge it, together.
    #[must_use]
    pub fn with_chat_models(self, chat_models: Arc<ChatModels>, judge_wait: Duration) -> Self {
        Self { chat_models, judge_wait, ..self }
    }

    /// Returns the context with a store that acts for a caller in a project
    /// ([`Store::for_project`]), and that project's policy.
    pub fn with_store(&self, store: Store, policy: Arc<Policy>) -> Self {
        let search = SearchContext {
            store: store.clone(),
            models: self.search.models.restricted_to(policy.models.embedding),
            keyword: self.search.keyword.clone(),
            sanitizing: Arc::new(sanitizing(&policy)),
        };
        Self { store, search, policy, ..self.clone() }
    }

    /// Returns the context for requests of a client's session.
    pub fn in_session(self, session: ClientSession) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Returns the chat models on behalf of the project that the context acts in.
    pub fn chat(&self, project: ProjectId) -> ProjectChat {
        let models = Arc::clone(&self.chat_models);
        ProjectChat::new(models, self.store.clone(), project, &self.policy)
    }

    /// Returns the user that the context acts for, as the key of queues of long work.
    pub fn fairness_key(&self) -> FairnessKey {
        self.store.principal()
    }

    /// Waits until the bundle, which may have been handed out just now, is written.
    pub async fn wait_until_stored(&self, bundle: BundleId) {
        self.bundles.flush();
        self.bundle_writer.wait_for(bundle).await;
    }

    /// Waits until all bundles are written that this node handed out to the caller in the project.
    /// Returns the newest non-empty one that it remembers.
    pub(crate) async fn wait_for_callers_bundles(&self, project: ProjectId) -> Option<BundleId> {
        let caller = self.caller(project);
        self.bundles.flush();
        self.bundle_writer.wait_for_caller(caller).await;
        self.bundle_writer.newest(caller)
    }

    /// Returns the caller for whom bundles of the project are handed out.
    pub(crate) fn caller(&self, project: ProjectId) -> Caller {
        (self.store.principal(), project)
    }

    /// Waits until everything is written that recalls left for after their response. Call it when
    /// the service stops, before the store closes.
    pub async fn finish(&self) {
        self.bundle_writer.tasks.close();
        self.bundles.flush();
        self.usage.flush();
        self.bundle_writer.tasks.wait().await;
    }
}

/// User and project of a recall.
pub(crate) type Caller = (Option<UserId>, ProjectId);

/// Callers whose newest bundle is remembered. Beyond that, all are dropped at little cost.
const CALLERS_REMEMBERED: usize = 10_000;

/// Bundles that are still being written, and tasks that follow them.
#[derive(Clone)]
pub(crate) struct BundleWriter {
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
    closed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    open: HashMap<BundleId, Caller>,
    /// The newest non-empty bundle of each caller; an empty one has no handles.
    newest: HashMap<Caller, BundleId>,
}

impl BundleWriter {
    /// Creates a writer with at most `concurrency` follow-up look-ups at once.
    fn new(concurrency: usize) -> Self {
        Self {
            tasks: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(concurrency)),
            state: Arc::default(),
            closed: Arc::default(),
        }
    }

    /// Runs `write` after the response; [`BundleWriter::wait_for`] waits for it.
    pub(crate) fn spawn(
        &self,
        bundle: BundleId,
        caller: Caller,
        has_items: bool,
        write: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut state = self.state();
        state.open.insert(bundle, caller);
        if has_items {
            if state.newest.len() >= CALLERS_REMEMBERED {
                state.newest.clear();
            }
            state.newest.insert(caller, bundle);
        }
        drop(state);
        // Dropped with the task, even if that panics.
        let guard = OpenGuard { bundle_writer: self.clone(), bundle };
        self.tasks.spawn(async move {
            let _guard = guard;
            write.await;
        });
    }

    /// Runs `task` after the response.
    pub(crate) fn spawn_without_bundle(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs `task` after the response, once the bundles are written that are being written now.
    pub(crate) fn spawn_after(&self, task: impl Future<Output = ()> + Send + 'static) {
        let bundle_writer = self.clone();
        let open: Vec<BundleId> = self.state().open.keys().copied().collect();
        self.tasks.spawn(async move {
            for bundle in open {
                bundle_writer.wait_for(bundle).await;
            }
            let _turn =
                bundle_writer.permits.acquire().await.expect("the semaphore is never closed");
            task.await;
        });
    }

    /// Waits until the bundle is no longer being written.
    pub(crate) async fn wait_for(&self, bundle: BundleId) {
        self.until(|state| !state.open.contains_key(&bundle)).await;
    }

    /// Waits until no bundle of the caller is being written.
    async fn wait_for_caller(&self, caller: Caller) {
        self.until(|state| state.open.values().all(|of| *of != caller)).await;
    }

    /// Returns the newest non-empty bundle handed out to the caller here, if it is remembered.
    fn newest(&self, caller: Caller) -> Option<BundleId> {
        self.state().newest.get(&caller).copied()
    }

    async fn until(&self, is_met: impl Fn(&State) -> bool) {
        loop {
            let closed = self.closed.notified();
            tokio::pin!(closed);
            // Registered before the check, so that no notification is lost between the two.
            closed.as_mut().enable();
            if is_met(&self.state()) {
                return;
            }
            closed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a bundle from the open ones when it is dropped.
struct OpenGuard {
    bundle_writer: BundleWriter,
    bundle: BundleId,
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.bundle_writer.state().open.remove(&self.bundle);
        self.bundle_writer.closed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn empty_bundle_is_waited_for_and_is_not_the_newest() {
        let (bundle_writer, caller) = (BundleWriter::new(1), (None, ProjectId::generate()));
        let [full, empty] = [BundleId::generate(), BundleId::generate()];
        bundle_writer.spawn(full, caller, true, async {});
        bundle_writer.spawn(empty, caller, false, std::future::pending());
        bundle_writer.wait_for(full).await;
        assert_eq!(bundle_writer.newest(caller), Some(full));
        assert!(bundle_writer.state().open.contains_key(&empty));
    }
}
