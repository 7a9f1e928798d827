//! The keyword index: derived from PostgreSQL, one folder a node, kept up to date by one follower.

pub mod directory;
#[cfg(test)]
pub(crate) mod fixtures;
mod follower;
pub mod generation;
mod nosync_directory;
mod position;
mod rebuild;
mod repair;
pub mod schema;
pub mod statistics;
mod status;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mc_store::Store;
use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use directory::Folder;
use generation::IndexSnapshot;

pub use repair::RepairReport;
pub use status::{Freshness, Phase, Status};

/// The node's keyword index; cheap to clone.
#[derive(Clone)]
pub struct KeywordIndex(Arc<Shared>);

/// What searches and the follower both hold.
struct Shared {
    /// What searches read; changes when a rebuild begins.
    view: RwLock<Option<IndexSnapshot>>,
    status: watch::Sender<Status>,
    refreshes: mpsc::UnboundedSender<Refresh>,
    /// The generation in which a search last met a damaged file.
    damaged: watch::Sender<Uuid>,
}

/// Told `true` when a pass over the feed that began after the request has succeeded.
type Refresh = oneshot::Sender<bool>;

/// Opens the index in `dir` (or begins to build it anew in the background, where it is missing,
/// damaged, of another format or of another database) and follows the change feed until `stop`.
/// The task ends when the follower has.
pub async fn start(
    store: &Store,
    dir: &Path,
    stop: CancellationToken,
) -> Result<(KeywordIndex, JoinHandle<()>), Error> {
    let root = dir.to_owned();
    let folder = tokio::task::spawn_blocking(move || Folder::open(&root)).await??;
    let (refreshes, requests) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        view: RwLock::new(None),
        status: watch::Sender::new(Status::default()),
        refreshes,
        damaged: watch::Sender::new(Uuid::nil()),
    });
    let index = KeywordIndex(Arc::clone(&shared));
    let follower = follower::Follower::open(store.clone(), Arc::new(folder), shared).await?;
    let task = tokio::spawn(follower.run(requests, stop));
    Ok((index, task))
}

impl KeywordIndex {
    /// Makes every change visible that was committed before the call, or says why not. Callers that
    /// wait at the same time share one pass over the feed; with nothing new it is one small query.
    pub async fn refresh(&self, budget: Duration) -> Freshness {
        match self.status().phase {
            Phase::Following => {}
            Phase::Rebuilding => return Freshness::Rebuilding,
            Phase::Stuck => return Freshness::Stuck,
            Phase::Unbuilt => return Freshness::Unbuilt,
        }
        let (done, answer) = oneshot::channel();
        if self.0.refreshes.send(done).is_err() {
            return Freshness::Behind;
        }
        match tokio::time::timeout(budget, answer).await {
            Ok(Ok(true)) => Freshness::Current,
            _ => Freshness::Behind,
        }
    }

    /// What the index is doing and how far it is.
    pub fn status(&self) -> Status {
        *self.0.status.borrow()
    }

    /// Returns when the index is complete and follows the feed.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut status = self.0.status.subscribe();
        let following = status.wait_for(|status| status.phase == Phase::Following).await;
        following.map(drop).map_err(|_| Error::IndexClosed)
    }

    /// What a search reads; `None` only before the first rebuild has begun.
    pub(crate) fn view(&self) -> Option<IndexSnapshot> {
        self.0.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the index rebuilt, unless it was since: a search could not read this view of it.
    pub(crate) fn report_damage(&self, view: Uuid) {
        self.0.damaged.send_replace(view);
    }
}

/// The index for searches that belong together: brought up to date once for all of them, when one
/// asks.
pub struct UpToDate<'a> {
    index: &'a KeywordIndex,
    budget: Duration,
    brought: OnceCell<Freshness>,
}

impl<'a> UpToDate<'a> {
    /// To be brought up to date within `budget`.
    pub fn new(index: &'a KeywordIndex, budget: Duration) -> Self {
        Self { index, budget, brought: OnceCell::new() }
    }

    /// What came of it.
    pub async fn brought(&self) -> Freshness {
        *self.brought.get_or_init(|| self.index.refresh(self.budget)).await
    }

    /// What a search reads, if everything is in it.
    pub async fn view(&self) -> Option<IndexSnapshot> {
        match self.brought().await {
            Freshness::Current => self.index.view(),
            _ => None,
        }
    }
}

impl Shared {
    fn show(&self, view: IndexSnapshot) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }
}
