//! The one task that writes to the index: applies the change feed in commit order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mc_store::change_feed::FeedCursor;
use mc_store::{Store, change_feed, passages, server};
use tantivy::TantivyError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::directory::Folder;
use super::generation::{Generation, Unusable};
use super::position::{Position, place};
use super::rebuild::rebuild;
use super::{Phase, Refresh, Shared, Status};
use crate::Error;

/// Feed entries read at once.
const PAGE: u16 = 1000;
/// Changes after which a long pass makes visible what it has so far.
const COMMIT_EVERY: usize = 10_000;
/// The distance of passes that nobody asked for. A search asks for a pass and gets it at once, so
/// these only keep short what it has to catch up with: a word from the database at each commit, and
/// a tiny segment for each few of them, cost the writes a tenth of their rate.
const POLL: Duration = Duration::from_secs(1);
/// An index that can't be written is tried again after this, and after twice as long each time.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// A generation between the async follower and the blocking calls of tantivy.
pub(super) type SharedGeneration = Arc<Mutex<Generation>>;

pub(super) struct Follower {
    store: Store,
    folder: Arc<Folder>,
    shared: Arc<Shared>,
    /// The index that was found on disk, until it is followed.
    found: Option<(SharedGeneration, FeedCursor)>,
    /// Whether what is on disk may be taken up: not after a search could not read it.
    is_trusted: bool,
}

/// How following a generation ended.
enum End {
    Stopped,
    /// A search could not read it.
    Damaged,
    /// It could not be written: the disk is full, the folder is gone.
    Unwritten(Error),
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
        let is_trusted = found.is_some();
        Ok(Self { store, folder, shared, found, is_trusted })
    }

    /// Follows until told to stop. An index that can't be written is opened again where it stood,
    /// and built anew where that can't be done or where a search could not read it.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Refresh>,
        stop: CancellationToken,
    ) {
        let mut pause = BACKOFF_BASE;
        loop {
            let (generation, cursor) = tokio::select! {
                () = stop.cancelled() => return,
                generation = self.generation() => generation,
            };
            let mut passes = Passes::over(&self.store, &self.shared, generation, cursor);
            let end = passes.run(&mut requests, &stop).await;
            let has_written = passes.has_written;
            // Its writer goes with it: there is only one at a time.
            drop(passes);
            match end {
                End::Stopped => return,
                End::Damaged => {
                    tracing::error!("a search could not read the keyword index, which is rebuilt");
                    self.is_trusted = false;
                    self.shared.status.send_replace(Status::default());
                }
                End::Unwritten(error) => {
                    self.fail(Phase::Stuck, &error);
                    pause = if has_written { BACKOFF_BASE } else { longer(pause) };
                    if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// The index found at the start or on disk, or a new one; tries until it has one.
    async fn generation(&mut self) -> (SharedGeneration, FeedCursor) {
        let mut pause = BACKOFF_BASE;
        loop {
            match self.find().await {
                Ok(found) => return found,
                // The database comes back; nothing is wrong with the index.
                Err(Error::Store(error)) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "keyword index waits for the database"
                    );
                    tokio::time::sleep(POLL).await;
                }
                Err(error) => {
                    self.fail(Phase::Unbuilt, &error);
                    pause = longer(pause);
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    async fn find(&mut self) -> Result<(SharedGeneration, FeedCursor), Error> {
        if let Some(found) = self.found.take() {
            return Ok(found);
        }
        if self.is_trusted
            && let Some((generation, cursor)) = open_current(&self.store, &self.folder).await?
        {
            // That it can be written again is known once something was.
            if let Ok(generation) = generation.lock() {
                self.shared.show(generation.view());
            }
            return Ok((generation, cursor));
        }
        self.shared.status.send_replace(Status::default());
        let (generation, cursor) = rebuild(&self.store, &self.folder, &self.shared).await?;
        following(&self.shared, &generation, cursor);
        self.is_trusted = true;
        Ok((generation, cursor))
    }

    /// Searches see what is in so far, and say whether that is all of before or a part.
    fn fail(&self, phase: Phase, error: &Error) {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "keyword index can't be written, trying again; see that there is room in its folder"
        );
        self.shared.status.send_modify(|status| status.phase = phase);
    }
}

/// The pause that follows one that was of no use.
fn longer(pause: Duration) -> Duration {
    (pause * 2).min(BACKOFF_MAX)
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
    /// Whether there was a commit.
    has_written: bool,
}

impl<'a> Passes<'a> {
    fn over(
        store: &'a Store,
        shared: &'a Shared,
        generation: SharedGeneration,
        cursor: FeedCursor,
    ) -> Self {
        let view = generation.lock().map_or(Uuid::nil(), |generation| generation.view().id);
        Self {
            store,
            shared,
            generation,
            view,
            position: Position::at(cursor),
            committed: cursor,
            pending: 0,
            has_written: false,
        }
    }

    async fn run(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<Refresh>,
        stop: &CancellationToken,
    ) -> End {
        let mut due = Instant::now();
        let mut healthy = true;
        let mut damaged = self.shared.damaged.subscribe();
        loop {
            let mut waiting = Vec::new();
            tokio::select! {
                () = stop.cancelled() => return self.stop().await,
                () = reported(&mut damaged, self.view) => return End::Damaged,
                request = requests.recv() => match request {
                    Some(request) => waiting.push(request),
                    None => return self.stop().await,
                },
                () = tokio::time::sleep_until(due) => {}
            }
            // Everyone who asked before the pass begins shares it; who asks later gets the next.
            while let Ok(request) = requests.try_recv() {
                waiting.push(request);
            }
            let outcome = self.pass().await;
            due = Instant::now() + POLL;
            for request in waiting {
                // A search that gave up meanwhile has dropped its end.
                let _: Result<(), bool> = request.send(outcome.is_ok());
            }
            match outcome {
                Ok(()) => {
                    healthy = true;
                    self.recovered();
                }
                Err(Error::Store(error)) => {
                    if healthy {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "change feed can't be read, trying on"
                        );
                    }
                    healthy = false;
                }
                Err(error) => return End::Unwritten(error),
            }
        }
    }

    /// Applies everything that is in the feed now.
    async fn pass(&mut self) -> Result<(), Error> {
        let mut from = self.position.cursor();
        let mut horizon = None;
        loop {
            let page = change_feed::read_after(self.store, from, i64::from(PAGE)).await?;
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
        self.has_written = true;
        following(self.shared, &self.generation, cursor);
        Ok(())
    }

    /// What could not be written is caught up with, or there is no more of it.
    fn recovered(&self) {
        let phase = self.shared.status.borrow().phase;
        if phase != Phase::Following {
            following(self.shared, &self.generation, self.position.cursor());
        }
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
    if cursor.txid > change_feed::safe_position(store).await?.txid {
        tracing::warn!("keyword index is ahead of the database (restored?), rebuilding it");
        return Ok(None);
    }
    if cursor.txid <= change_feed::pruned(store).await? {
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
