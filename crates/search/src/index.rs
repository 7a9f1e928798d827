//! Keyword index of a node: derived from PostgreSQL, in one directory, updated by one follower.

pub mod directory;
#[cfg(test)]
pub(crate) mod fixtures;
mod follower;
pub mod generation;
mod nosync_directory;
mod pass_time;
mod position;
mod rebuild;
mod repair;
pub mod schema;
pub mod statistics;
mod status;

use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::{Either, select};
use mc_domain::ProjectId;
use mc_store::Store;
use mc_store::change_feed::{self, FeedCursor};
use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use directory::IndexDirectory;
use generation::IndexSnapshot;
use pass_time::ExpectedPass;
use position::{CHANGES_MAX, Position};

pub use repair::RepairReport;
pub use status::{Freshness, Phase, Status};

/// Keyword index of this node; cheap to clone.
#[derive(Clone)]
pub struct KeywordIndex {
    shared: Arc<Shared>,
    /// The store of the follower, which may read the change feed. Behind a pointer, since each
    /// future of a search contains the index.
    store: Arc<Store>,
}

/// How long a search waits for the changes of all projects before it looks for those of its own.
/// Mostly there are few, and they are applied by then.
const WAIT_FOR_ALL: Duration = Duration::from_millis(10);

/// State shared by searches and the follower.
struct Shared {
    /// Snapshot that searches read; a rebuild replaces it when it starts.
    snapshot: RwLock<Option<IndexSnapshot>>,
    /// Position of the snapshot or of an earlier one.
    position: RwLock<Arc<Position>>,
    status: watch::Sender<Status>,
    refreshes: mpsc::UnboundedSender<Refresh>,
    /// Running pass; `None` between passes.
    pass: watch::Sender<Option<ExpectedPass>>,
    /// Snapshot in which a search last found a damaged file.
    damaged: watch::Sender<Uuid>,
}

/// Request to catch up with the feed. It receives `true` after a later pass has succeeded.
type Refresh = oneshot::Sender<bool>;

/// Opens the index in `dir` and follows the change feed until `stop`, in the returned task.
///
/// A missing, damaged or foreign index is rebuilt in the background.
pub async fn start(
    store: &Store,
    dir: &Path,
    stop: CancellationToken,
) -> Result<(KeywordIndex, JoinHandle<()>), Error> {
    let root = dir.to_owned();
    let directory = tokio::task::spawn_blocking(move || IndexDirectory::open(&root)).await??;
    let (refreshes, requests) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::new(refreshes));
    let index = KeywordIndex { shared: Arc::clone(&shared), store: Arc::new(store.clone()) };
    let follower = follower::Follower::open(store.clone(), Arc::new(directory), shared).await?;
    let task = tokio::spawn(follower.run(requests, stop));
    Ok((index, task))
}

impl KeywordIndex {
    /// Makes every change visible that was committed before the call, or returns why it could not.
    /// Concurrent callers share one pass over the feed; without changes it is one small query.
    ///
    /// Returns early if the changes are expected to take longer than the budget. They are applied
    /// nevertheless.
    pub async fn refresh(&self, budget: Duration) -> Freshness {
        self.shared.refresh(budget).await
    }

    /// Like [`Self::refresh`], for the changes of one project: it does not wait for those of
    /// others, such as the thousands of an index run.
    pub async fn refresh_for(&self, project: ProjectId, budget: Duration) -> Freshness {
        let deadline = Instant::now() + budget;
        let own = async {
            tokio::time::sleep(WAIT_FOR_ALL).await;
            self.is_current_for(project).await
        };
        let own = async { timeout_at(deadline, own).await.unwrap_or_default() };
        let (all, own) = (pin!(self.refresh(budget)), pin!(own));
        let (freshness, is_current) = match select(all, own).await {
            Either::Left((Freshness::Behind, own)) => (Freshness::Behind, own.await),
            Either::Left((freshness, _)) => (freshness, false),
            Either::Right((true, _)) => (Freshness::Current, true),
            Either::Right((false, all)) => (all.await, false),
        };
        if is_current { Freshness::Current } else { freshness }
    }

    /// Returns whether each change of a project that was committed before is visible; false if that
    /// is not known.
    async fn is_current_for(&self, project: ProjectId) -> bool {
        let snapshot = || {
            let snapshot = self.snapshot().filter(|_| self.status().phase == Phase::Live);
            snapshot.map(|snapshot| snapshot.id)
        };
        let before = snapshot();
        let position = self.shared.position();
        let cursor = position.cursor();
        let most = i64::try_from(CHANGES_MAX).unwrap_or(i64::MAX);
        let changes = change_feed::of_project_after(&self.store, cursor, project, most).await;
        let has_applied = |changes: Vec<FeedCursor>| position.has_applied(&changes);
        // A rebuild may have replaced the snapshot meanwhile.
        before.is_some()
            && before == snapshot()
            && changes.is_ok_and(|c| c.is_some_and(has_applied))
    }

    /// Returns the phase and the position of the index.
    pub fn status(&self) -> Status {
        *self.shared.status.borrow()
    }

    /// Waits until the index is complete and follows the feed.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut status = self.shared.status.subscribe();
        let following = status.wait_for(|status| status.phase == Phase::Live).await;
        following.map(drop).map_err(|_| Error::IndexClosed)
    }

    /// Returns the snapshot to search; `None` only before the first rebuild has started.
    pub(crate) fn snapshot(&self) -> Option<IndexSnapshot> {
        self.shared.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests a rebuild after a search failed to read this snapshot, if it is still in use.
    pub(crate) fn report_damage(&self, snapshot: Uuid) {
        self.shared.damaged.send_replace(snapshot);
    }
}

/// Index for a group of searches. The first use brings it up to date for all of them.
pub struct RefreshedIndex<'a> {
    index: &'a KeywordIndex,
    project: ProjectId,
    budget: Duration,
    freshness: OnceCell<Freshness>,
}

impl<'a> RefreshedIndex<'a> {
    /// Creates it for searches of a project, with the maximum time to bring the index up to date.
    pub fn new(index: &'a KeywordIndex, project: ProjectId, budget: Duration) -> Self {
        Self { index, project, budget, freshness: OnceCell::new() }
    }

    /// Brings the index up to date once, and returns the outcome.
    pub async fn freshness(&self) -> Freshness {
        let refreshed = || Box::pin(self.index.refresh_for(self.project, self.budget));
        *self.freshness.get_or_init(refreshed).await
    }

    /// Returns the snapshot to search, if it is up to date.
    pub async fn snapshot(&self) -> Option<IndexSnapshot> {
        match self.freshness().await {
            Freshness::Current => self.index.snapshot(),
            _ => None,
        }
    }
}

impl Shared {
    fn new(refreshes: mpsc::UnboundedSender<Refresh>) -> Self {
        Self {
            snapshot: RwLock::new(None),
            position: RwLock::default(),
            status: watch::Sender::new(Status::default()),
            refreshes,
            pass: watch::Sender::new(None),
            damaged: watch::Sender::new(Uuid::nil()),
        }
    }

    /// See [`KeywordIndex::refresh`].
    async fn refresh(&self, budget: Duration) -> Freshness {
        match self.status.borrow().phase {
            Phase::Live => {}
            Phase::Rebuilding => return Freshness::Rebuilding,
            Phase::ReadOnly => return Freshness::ReadOnly,
            Phase::Incomplete => return Freshness::Incomplete,
        }
        let mut pass = self.pass.subscribe();
        let running = *pass.borrow();
        let (done, result) = oneshot::channel();
        if self.refreshes.send(done).is_err() {
            return Freshness::Behind;
        }
        let deadline = Instant::now() + budget;
        let is_late = |pass: ExpectedPass| pass.answers_at(running) > deadline;
        tokio::select! {
            biased;
            applied = timeout_at(deadline, result) => match applied {
                Ok(Ok(true)) => Freshness::Current,
                _ => Freshness::Behind,
            },
            _ = pass.wait_for(|pass| pass.is_some_and(is_late)) => Freshness::Behind,
        }
    }

    fn publish(&self, snapshot: IndexSnapshot) {
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
    }

    /// Publishes the position of the published snapshot.
    fn publish_position(&self, position: Position) {
        *self.position.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(position);
    }

    fn position(&self) -> Arc<Position> {
        Arc::clone(&self.position.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_secs(1);

    /// Returns the state without a follower, and the requests that one would receive.
    fn index() -> (Shared, mpsc::UnboundedReceiver<Refresh>) {
        let (refreshes, requests) = mpsc::unbounded_channel();
        let shared = Shared::new(refreshes);
        shared.status.send_replace(Status { phase: Phase::Live, ..Status::default() });
        (shared, requests)
    }

    /// Returns a pass that starts now, and after which a pass of this duration is expected.
    fn pass(duration: Duration, next: Duration) -> ExpectedPass {
        ExpectedPass { started_at: Instant::now(), duration, next }
    }

    #[tokio::test(start_paused = true)]
    async fn search_does_not_wait_for_a_pass_that_is_too_long() {
        let (index, mut requests) = index();
        let began = Instant::now();
        let follower = async {
            let _request = requests.recv().await;
            let running = pass(Duration::ZERO, Duration::ZERO);
            index.pass.send_replace(Some(running));
            tokio::time::sleep(BUDGET / 10).await;
            index.pass.send_replace(Some(ExpectedPass { duration: BUDGET * 2, ..running }));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            freshness = index.refresh(BUDGET) => assert_eq!(freshness, Freshness::Behind),
            () = follower => {}
        }
        assert!(began.elapsed() < BUDGET / 2, "{:?}", began.elapsed());

        // The pass started before this search.
        assert_eq!(index.refresh(BUDGET).await, Freshness::Behind);
        assert!(began.elapsed() < BUDGET / 2, "{:?}", began.elapsed());
        assert!(requests.try_recv().is_ok(), "the follower continues");
    }

    #[tokio::test(start_paused = true)]
    async fn search_during_a_pass_does_not_wait_for_the_next_one_if_that_is_too_long() {
        let (index, mut requests) = index();
        index.pass.send_replace(Some(pass(BUDGET / 2, BUDGET)));
        let began = Instant::now();
        assert_eq!(index.refresh(BUDGET).await, Freshness::Behind);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(requests.try_recv().is_ok(), "the follower continues");
    }

    #[tokio::test(start_paused = true)]
    async fn search_waits_for_a_pass_that_ends_in_time() {
        for came_during_a_pass in [false, true] {
            let (index, mut requests) = index();
            // The pass after the one that answers may be too long.
            let running = pass(BUDGET / 4, BUDGET / 2);
            index.pass.send_replace(came_during_a_pass.then_some(running));
            let follower = async {
                let request = requests.recv().await.expect("a request");
                tokio::time::sleep(BUDGET / 4).await;
                index.pass.send_replace(Some(pass(BUDGET / 2, BUDGET)));
                tokio::time::sleep(BUDGET / 2).await;
                request.send(true).expect("the search waits");
            };
            let (freshness, ()) = tokio::join!(index.refresh(BUDGET), follower);
            assert_eq!(freshness, Freshness::Current);
        }
    }
}
