//! Follower: the only task that writes to the index. It applies the change feed in commit order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mc_store::change_feed::FeedCursor;
use mc_store::{Store, change_feed, passages, server};
use tantivy::TantivyError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::directory::IndexDirectory;
use super::generation::{Generation, Unusable};
use super::pass_time::{PassTime, RunningPass};
use super::position::{Position, cursor_of};
use super::rebuild::rebuild;
use super::{Phase, Refresh, Shared, Status};
use crate::Error;

const PAGE: u16 = 1000;
/// Number of changes after which a long pass commits.
const COMMIT_EVERY: usize = 10_000;
/// Interval between passes without a request. A search requests a pass, which starts at once, so
/// the interval only limits how much it has to catch up with. Notifications of each commit, and a
/// small segment for each, would cost a tenth of the write rate.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// First delay before the next attempt to write the index. It doubles up to [`BACKOFF_MAX`].
const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// Maximum delay before the next attempt to write the index.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Generation shared by the async follower and the blocking calls of tantivy.
pub(super) type SharedGeneration = Arc<Mutex<Generation>>;

pub(super) struct Follower {
    store: Store,
    directory: Arc<IndexDirectory>,
    shared: Arc<Shared>,
    /// Index that was opened at the start, until it is followed.
    opened: Option<(SharedGeneration, FeedCursor)>,
    /// Whether the index on disk may be opened again: not after a search failed to read it.
    is_trusted: bool,
}

/// Reason why following a generation ended.
enum End {
    /// The service stops.
    Stopped,
    /// A search failed to read it.
    Damaged,
    /// Writing failed, for example because the disk is full or the directory was deleted.
    WriteFailed(Error),
}

impl Follower {
    /// Opens the index on disk, if it can be used.
    pub(super) async fn open(
        store: Store,
        directory: Arc<IndexDirectory>,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let opened = open_current(&store, &directory).await?;
        if let Some((generation, cursor)) = &opened {
            publish_following(&shared, generation, Position::new(*cursor));
        }
        let is_trusted = opened.is_some();
        Ok(Self { store, directory, shared, opened, is_trusted })
    }

    /// Follows the change feed until `stop`. After a failed write, the index is opened again at its
    /// last position. If that fails, or if a search failed to read the index, it is rebuilt.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Refresh>,
        stop: CancellationToken,
    ) {
        let mut delay = BACKOFF_BASE;
        loop {
            let (generation, cursor) = tokio::select! {
                () = stop.cancelled() => return,
                generation = self.generation() => generation,
            };
            let mut passes = Passes::new(&self.store, &self.shared, generation, cursor);
            let end = passes.run(&mut requests, &stop).await;
            let has_written = passes.has_written;
            // Drops the writer, because only one may exist at a time.
            drop(passes);
            match end {
                End::Stopped => return,
                End::Damaged => {
                    tracing::error!("a search failed to read the keyword index; rebuilding it");
                    self.is_trusted = false;
                    self.shared.status.send_replace(Status::default());
                }
                End::WriteFailed(error) => {
                    self.report_failure(Phase::ReadOnly, &error);
                    delay = if has_written { BACKOFF_BASE } else { next_delay(delay) };
                    if stop.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// Opens or rebuilds the index, and retries until that succeeds.
    async fn generation(&mut self) -> (SharedGeneration, FeedCursor) {
        let mut delay = BACKOFF_BASE;
        loop {
            match self.open_or_rebuild().await {
                Ok(generation) => return generation,
                // The database is unavailable; the index is intact.
                Err(Error::Store(error)) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "keyword index waits for the database"
                    );
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(error) => {
                    self.report_failure(Phase::Incomplete, &error);
                    delay = next_delay(delay);
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }

    async fn open_or_rebuild(&mut self) -> Result<(SharedGeneration, FeedCursor), Error> {
        if let Some(opened) = self.opened.take() {
            return Ok(opened);
        }
        if self.is_trusted
            && let Some((generation, cursor)) = open_current(&self.store, &self.directory).await?
        {
            // The phase changes only after the next commit, which shows that it can be written.
            if let Ok(generation) = generation.lock() {
                self.shared.publish(generation.snapshot());
            }
            return Ok((generation, cursor));
        }
        self.shared.status.send_replace(Status::default());
        let (generation, cursor) = rebuild(&self.store, &self.directory, &self.shared).await?;
        publish_following(&self.shared, &generation, Position::new(cursor));
        self.is_trusted = true;
        Ok((generation, cursor))
    }

    /// Logs a failed write and sets the phase, so that searches report the incomplete index.
    fn report_failure(&self, phase: Phase, error: &Error) {
        let is_disk_full = self.directory.is_disk_full();
        tracing::error!(
            error = error as &dyn std::error::Error,
            disk.is_full = is_disk_full,
            "writing the keyword index failed; will retry"
        );
        self.shared.status.send_modify(|status| {
            status.phase = phase;
            status.is_disk_full = is_disk_full;
        });
    }
}

/// Returns the delay after another failure.
fn next_delay(delay: Duration) -> Duration {
    (delay * 2).min(BACKOFF_MAX)
}

/// Passes that apply the feed to one generation.
struct Passes<'a> {
    store: &'a Store,
    shared: &'a Shared,
    generation: SharedGeneration,
    /// Id of the snapshot of the generation.
    snapshot: Uuid,
    position: Position,
    /// Position of the last commit.
    committed: FeedCursor,
    /// Number of uncommitted changes in the writer, which remain after a failed pass.
    pending: usize,
    has_written: bool,
    times: PassTime,
}

impl<'a> Passes<'a> {
    fn new(
        store: &'a Store,
        shared: &'a Shared,
        generation: SharedGeneration,
        cursor: FeedCursor,
    ) -> Self {
        let snapshot = generation.lock().map_or(Uuid::nil(), |generation| generation.snapshot().id);
        Self {
            store,
            shared,
            generation,
            snapshot,
            position: Position::new(cursor),
            committed: cursor,
            pending: 0,
            has_written: false,
            times: PassTime::default(),
        }
    }

    async fn run(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<Refresh>,
        stop: &CancellationToken,
    ) -> End {
        let mut next_pass_at = Instant::now();
        let mut is_healthy = true;
        let mut damaged = self.shared.damaged.subscribe();
        loop {
            let mut requested = Vec::new();
            tokio::select! {
                () = stop.cancelled() => return self.stop().await,
                () = damage_reported(&mut damaged, self.snapshot) => return End::Damaged,
                request = requests.recv() => match request {
                    Some(request) => requested.push(request),
                    None => return self.stop().await,
                },
                () = tokio::time::sleep_until(next_pass_at) => {}
            }
            // All requests before the start of the pass share it; later ones wait for the next.
            while let Ok(request) = requests.try_recv() {
                requested.push(request);
            }
            let outcome = self.pass().await;
            next_pass_at = Instant::now() + POLL_INTERVAL;
            for request in requested {
                // Fails if the search has timed out.
                let _: Result<(), bool> = request.send(outcome.is_ok());
            }
            match outcome {
                Ok(()) => {
                    is_healthy = true;
                    self.mark_recovered();
                }
                Err(Error::Store(error)) => {
                    if is_healthy {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "reading the change feed failed; will retry"
                        );
                    }
                    is_healthy = false;
                }
                Err(error) => return End::WriteFailed(error),
            }
        }
    }

    /// Applies all current entries of the feed. Meanwhile, searches know when it and the next pass
    /// are expected to end.
    async fn pass(&mut self) -> Result<(), Error> {
        let mut pass = RunningPass::start();
        self.shared.pass.send_replace(Some(self.times.estimate(&pass)));
        let outcome = self.apply_feed(&mut pass).await;
        self.shared.pass.send_replace(None);
        if outcome.is_ok() {
            self.times.learn(&pass);
        }
        outcome
    }

    async fn apply_feed(&mut self, pass: &mut RunningPass) -> Result<(), Error> {
        let mut from = self.position.cursor();
        let mut horizon = None;
        loop {
            let page = change_feed::read_after(self.store, from, i64::from(PAGE)).await?;
            let horizon = *horizon.get_or_insert(page.horizon);
            let Some(last) = page.entries.last() else { break };
            from = cursor_of(last);
            let changed = self.position.unapplied(&page.entries);
            if !changed.is_empty() {
                let present = passages::indexed(self.store, &changed).await?;
                pass.add(present.len());
                self.shared.pass.send_replace(Some(self.times.estimate(pass)));
                self.pending += changed.len();
                blocking(&self.generation, move |generation| {
                    generation.replace(&changed, &present)
                })
                .await?;
            }
            self.position.mark_applied(&page.entries, horizon);
            if self.pending >= COMMIT_EVERY {
                self.commit().await?;
            }
            if page.entries.len() < usize::from(PAGE) {
                break;
            }
        }
        if self.pending > 0 {
            self.commit().await?;
        } else if self.position.cursor() != self.shared.position().cursor() {
            self.shared.publish_position(self.position.published());
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        let cursor = self.position.cursor();
        blocking(&self.generation, move |generation| generation.commit(cursor)).await?;
        self.committed = cursor;
        self.pending = 0;
        self.has_written = true;
        publish_following(self.shared, &self.generation, self.position.published());
        Ok(())
    }

    /// Resets the phase after a pass has succeeded.
    fn mark_recovered(&self) {
        let phase = self.shared.status.borrow().phase;
        if phase != Phase::Live {
            publish_following(self.shared, &self.generation, self.position.published());
        }
    }

    /// Commits the position, so that the next start does not read entries again.
    async fn stop(&mut self) -> End {
        if self.position.cursor() != self.committed
            && let Err(error) = self.commit().await
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "committing the position of the keyword index failed"
            );
        }
        End::Stopped
    }
}

/// Waits until a search has failed to read this snapshot.
async fn damage_reported(damaged: &mut watch::Receiver<Uuid>, snapshot: Uuid) {
    if damaged.wait_for(|damaged| *damaged == snapshot).await.is_err() {
        // All senders are dropped.
        std::future::pending::<()>().await;
    }
}

/// Opens the current generation, if it belongs to the current state of this database.
async fn open_current(
    store: &Store,
    directory: &Arc<IndexDirectory>,
) -> Result<Option<(SharedGeneration, FeedCursor)>, Error> {
    let Some(path) = directory.current() else {
        tracing::info!("no keyword index found; building it");
        return Ok(None);
    };
    let database = server::identity(store).await?;
    let opened = tokio::task::spawn_blocking(move || Generation::open(&path, &database)).await;
    // tantivy may panic on a damaged file.
    let opened = opened.unwrap_or_else(|panic| Err(Unusable::Damaged(panic.to_string())));
    let (generation, cursor) = match opened {
        Ok(opened) => opened,
        Err(reason) => {
            tracing::warn!(%reason, "keyword index cannot be used; rebuilding it");
            return Ok(None);
        }
    };
    // The database may have been restored from an older backup with the same identity.
    if cursor.txid > change_feed::safe_position(store).await?.txid {
        tracing::warn!("keyword index is ahead of the database (restored?); rebuilding it");
        return Ok(None);
    }
    if cursor.txid <= change_feed::pruned(store).await? {
        tracing::info!("keyword index is older than the change feed; rebuilding it");
        return Ok(None);
    }
    Ok(Some((Arc::new(Mutex::new(generation)), cursor)))
}

/// Publishes the generation to searches, with the phase `Live` and its position.
fn publish_following(shared: &Shared, generation: &SharedGeneration, position: Position) {
    let Ok(generation) = generation.lock() else { return };
    let snapshot = generation.snapshot();
    let passages = snapshot.reader.searcher().num_docs();
    shared.publish(snapshot);
    let cursor = position.cursor();
    shared.publish_position(position);
    let live = Status { phase: Phase::Live, is_disk_full: false, passages, cursor };
    shared.status.send_replace(live);
}

/// Runs a call of tantivy on a blocking thread.
pub(super) async fn blocking<R: Send + 'static>(
    generation: &SharedGeneration,
    call: impl FnOnce(&mut Generation) -> Result<R, TantivyError> + Send + 'static,
) -> Result<R, Error> {
    let generation = Arc::clone(generation);
    let run = move || {
        let mut generation = generation.lock().map_err(|_| TantivyError::Poisoned)?;
        call(&mut generation)
    };
    // A panic in tantivy counts as damage; it also poisons the lock.
    let outcome = tokio::task::spawn_blocking(run).await;
    Ok(outcome.unwrap_or_else(|panic| Err(TantivyError::ErrorInThread(panic.to_string())))?)
}

#[cfg(test)]
mod tests;
