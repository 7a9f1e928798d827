//! The one task that writes to the index: applies the change feed in commit order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mc_store::feed::FeedCursor;
use mc_store::{Store, feed, passages, server};
use tantivy::TantivyError;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::folder::Folder;
use super::generation::{Generation, Unusable};
use super::position::{Position, place};
use super::rebuild::rebuild;
use super::{Phase, Refresh, Shared, Status};
use crate::Error;

/// Feed entries read at once.
const PAGE: u16 = 1000;
/// Changes after which a long pass makes visible what it has so far.
const COMMIT_EVERY: usize = 10_000;
/// Unasked passes keep this distance, so that a stream of writes does not become a stream of tiny
/// segments. A search asks for a pass and gets it at once.
const QUIET: Duration = Duration::from_millis(200);
/// How often the feed is looked at when no notification comes: they can be lost, the feed can't.
const POLL: Duration = Duration::from_secs(1);

/// A generation between the async follower and the blocking calls of tantivy.
pub(super) type SharedGeneration = Arc<Mutex<Generation>>;

pub(super) struct Follower {
    store: Store,
    folder: Arc<Folder>,
    shared: Arc<Shared>,
    /// The index that was found on disk, until it is followed.
    found: Option<(SharedGeneration, FeedCursor)>,
}

/// How following a generation ended.
enum End {
    Stopped,
    Damaged(Error),
}

impl Follower {
    /// Takes up the index on disk, if there is one that can be used.
    pub(super) async fn open(
        store: Store,
        folder: Arc<Folder>,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let found = open_current(&store, &folder).await?;
        if let Some((generation, cursor)) = &found {
            following(&shared, generation, *cursor);
        }
        Ok(Self { store, folder, shared, found })
    }

    /// Follows until told to stop, building the index anew whenever it turns out damaged.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Refresh>,
        stop: CancellationToken,
    ) {
        let wake = Arc::new(Notify::new());
        let _listener =
            AbortOnDropHandle::new(tokio::spawn(listen(self.store.clone(), Arc::clone(&wake))));
        loop {
            let (generation, cursor) = tokio::select! {
                () = stop.cancelled() => return,
                generation = self.generation() => generation,
            };
            following(&self.shared, &generation, cursor);
            let view = generation.lock().map_or(Uuid::nil(), |generation| generation.view().id);
            let mut passes = Passes {
                store: &self.store,
                shared: &self.shared,
                generation,
                view,
                position: Position::at(cursor),
                committed: cursor,
                pending: 0,
            };
            match passes.run(&mut requests, &wake, &stop).await {
                End::Stopped => return,
                End::Damaged(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "keyword index failed and will be rebuilt"
                    );
                    self.shared.status.send_replace(Status::default());
                }
            }
        }
    }

    /// The index found at the start, or a new one; tries until it has one.
    async fn generation(&mut self) -> (SharedGeneration, FeedCursor) {
        if let Some(found) = self.found.take() {
            return found;
        }
        loop {
            match rebuild(&self.store, &self.folder, &self.shared).await {
                Ok(rebuilt) => return rebuilt,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "keyword index could not be rebuilt, trying again"
                    );
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }
}

/// The application of the feed to one generation.
struct Passes<'a> {
    store: &'a Store,
    shared: &'a Shared,
    generation: SharedGeneration,
    /// As searches see it.
    view: Uuid,
    position: Position,
    /// The position that the last commit carries.
    committed: FeedCursor,
    /// Changes that are in the writer and not committed yet; they outlive a pass that fails.
    pending: usize,
}

impl Passes<'_> {
    async fn run(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<Refresh>,
        wake: &Notify,
        stop: &CancellationToken,
    ) -> End {
        let mut last_pass = Instant::now();
        let mut due = last_pass;
        let mut healthy = true;
        let mut damaged = self.shared.damaged.subscribe();
        loop {
            let mut waiting = Vec::new();
            tokio::select! {
                () = stop.cancelled() => return self.stop().await,
                () = reported(&mut damaged, self.view) => {
                    return End::Damaged(Error::Index(TantivyError::InternalError("a search could not read it".into())));
                }
                request = requests.recv() => match request {
                    Some(request) => waiting.push(request),
                    None => return self.stop().await,
                },
                () = wake.notified() => {
                    due = due.min(last_pass + QUIET);
                    continue;
                }
                () = tokio::time::sleep_until(due) => {}
            }
            // Everyone who asked before the pass begins shares it; who asks later gets the next.
            while let Ok(request) = requests.try_recv() {
                waiting.push(request);
            }
            let outcome = self.pass().await;
            last_pass = Instant::now();
            due = last_pass + POLL;
            for request in waiting {
                // A search that gave up meanwhile has dropped its end.
                let _: Result<(), bool> = request.send(outcome.is_ok());
            }
            match outcome {
                Ok(()) => healthy = true,
                Err(Error::Store(error)) => {
                    if healthy {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "change feed can't be read, trying on"
                        );
                    }
                    healthy = false;
                }
                Err(error) => return End::Damaged(error),
            }
        }
    }

    /// Applies everything that is in the feed now.
    async fn pass(&mut self) -> Result<(), Error> {
        let mut from = self.position.cursor();
        let mut horizon = None;
        loop {
            let page = feed::since(self.store, from, i64::from(PAGE)).await?;
            let horizon = *horizon.get_or_insert(page.horizon);
            let Some(last) = page.entries.last() else { break };
            from = place(last);
            let changed = self.position.unseen(&page.entries);
            if !changed.is_empty() {
                let present = passages::indexed(self.store, &changed).await?;
                self.pending += changed.len();
                blocking(&self.generation, move |generation| {
                    generation.replace(&changed, &present)
                })
                .await?;
            }
            self.position.applied(&page.entries, horizon);
            if self.pending >= COMMIT_EVERY {
                self.commit().await?;
            }
            if page.entries.len() < usize::from(PAGE) {
                break;
            }
        }
        if self.pending > 0 {
            self.commit().await?;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        let cursor = self.position.cursor();
        blocking(&self.generation, move |generation| generation.commit(cursor)).await?;
        self.committed = cursor;
        self.pending = 0;
        following(self.shared, &self.generation, cursor);
        Ok(())
    }

    /// Leaves the position on disk, so that the next start has nothing to read twice.
    async fn stop(&mut self) -> End {
        if self.position.cursor() != self.committed
            && let Err(error) = self.commit().await
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "keyword index could not note its position"
            );
        }
        End::Stopped
    }
}

/// Returns when a search could not read this view of the index.
async fn reported(damaged: &mut watch::Receiver<Uuid>, view: Uuid) {
    if damaged.wait_for(|damaged| *damaged == view).await.is_err() {
        // Nobody is left who could report.
        std::future::pending::<()>().await;
    }
}

/// Opens the generation in use and sees that it belongs to this database.
async fn open_current(
    store: &Store,
    folder: &Arc<Folder>,
) -> Result<Option<(SharedGeneration, FeedCursor)>, Error> {
    let Some(path) = folder.current() else {
        tracing::info!("no keyword index yet, building it");
        return Ok(None);
    };
    let database = server::identity(store).await?;
    let opened = tokio::task::spawn_blocking(move || Generation::open(&path, &database)).await;
    // tantivy asserts its way through files; a panic on a broken one is damage like any other.
    let opened = opened.unwrap_or_else(|panic| Err(Unusable::Damaged(panic.to_string())));
    let (generation, cursor) = match opened {
        Ok(opened) => opened,
        Err(reason) => {
            tracing::warn!(%reason, "keyword index can't be used, rebuilding it");
            return Ok(None);
        }
    };
    // A copy of the files put back in place keeps its name.
    if cursor.txid > feed::start(store).await?.txid {
        tracing::warn!("keyword index is ahead of the database (restored?), rebuilding it");
        return Ok(None);
    }
    if cursor.txid <= feed::pruned(store).await? {
        tracing::info!("keyword index was not followed for long, rebuilding it");
        return Ok(None);
    }
    Ok(Some((Arc::new(Mutex::new(generation)), cursor)))
}

/// Lets searches read the generation and shows how far it is.
fn following(shared: &Shared, generation: &SharedGeneration, cursor: FeedCursor) {
    let Ok(generation) = generation.lock() else { return };
    let view = generation.view();
    let passages = view.reader.searcher().num_docs();
    shared.show(view);
    shared.status.send_replace(Status { phase: Phase::Following, passages, cursor });
}

/// Runs a call of tantivy where blocking is fine.
pub(super) async fn blocking<R: Send + 'static>(
    generation: &SharedGeneration,
    call: impl FnOnce(&mut Generation) -> Result<R, TantivyError> + Send + 'static,
) -> Result<R, Error> {
    let generation = Arc::clone(generation);
    let run = move || {
        let mut generation = generation.lock().map_err(|_| TantivyError::Poisoned)?;
        call(&mut generation)
    };
    // A panic in tantivy is damage; the lock is poisoned then, too.
    let outcome = tokio::task::spawn_blocking(run).await;
    Ok(outcome.unwrap_or_else(|panic| Err(TantivyError::ErrorInThread(panic.to_string())))?)
}

/// Wakes the follower at each change, on any node; connects again after a loss.
async fn listen(store: Store, wake: Arc<Notify>) {
    loop {
        if let Ok(mut listener) = feed::listen(&store).await {
            while listener.wait().await.is_ok() {
                wake.notify_one();
            }
        }
        // The poll carries on meanwhile.
        tokio::time::sleep(POLL).await;
    }
}
