//! Rebuild of the index from the database.

use std::sync::{Arc, Mutex};

use mc_store::change_feed::FeedCursor;
use mc_store::{Store, change_feed, passages, server};

use super::directory::IndexDirectory;
use super::follower::{SharedGeneration, blocking};
use super::generation::Generation;
use super::{Phase, Shared, Status};
use crate::Error;

const PAGE: i64 = 1000;
/// Number of passages after which the partial index is committed and becomes visible.
const COMMIT_EVERY: u64 = 20_000;

/// Fills a new generation with all passages, then makes it current. Searches use it meanwhile.
/// Returns it with the position from which the change feed has to be applied.
pub(super) async fn rebuild(
    store: &Store,
    directory: &Arc<IndexDirectory>,
    shared: &Shared,
) -> Result<(SharedGeneration, FeedCursor), Error> {
    let built = build(store, directory, shared).await;
    if built.is_err() {
        let directory = Arc::clone(directory);
        // The incomplete generation uses disk space, and a full disk may be the reason.
        tokio::task::spawn_blocking(move || directory.delete_unused()).await?;
    }
    built
}

async fn build(
    store: &Store,
    directory: &Arc<IndexDirectory>,
    shared: &Shared,
) -> Result<(SharedGeneration, FeedCursor), Error> {
    // Read first, so that changes during the rebuild are after this position.
    let cursor = change_feed::safe_position(store).await?;
    let database = server::identity(store).await?;
    let new_directory = Arc::clone(directory);
    let (path, generation) = tokio::task::spawn_blocking(move || {
        let path = new_directory.create_generation()?;
        let generation = Generation::create(&path, &database)?;
        Ok::<_, Error>((path, generation))
    })
    .await??;
    shared.publish(generation.snapshot());
    let generation = Arc::new(Mutex::new(generation));

    fill(store, &generation, cursor, shared).await?;

    let directory = Arc::clone(directory);
    tokio::task::spawn_blocking(move || directory.switch_to(&path)).await??;
    Ok((generation, cursor))
}

async fn fill(
    store: &Store,
    generation: &SharedGeneration,
    cursor: FeedCursor,
    shared: &Shared,
) -> Result<(), Error> {
    let mut last = None;
    let mut count: u64 = 0;
    loop {
        let page = passages::indexed_after(store, last, PAGE).await?;
        let Some(end) = page.last() else { break };
        last = Some(end.id);
        let before = count;
        count += page.len() as u64;
        let is_commit_due = before / COMMIT_EVERY != count / COMMIT_EVERY;
        blocking(generation, move |generation| {
            generation.add(&page)?;
            if is_commit_due { generation.commit(cursor) } else { Ok(()) }
        })
        .await?;
        shared.status.send_modify(|status| {
            *status = Status { phase: Phase::Rebuilding, passages: count, cursor, ..*status };
        });
        if is_commit_due {
            tracing::info!(index.passages = count, "keyword index rebuilding");
        }
    }
    blocking(generation, move |generation| generation.commit(cursor)).await?;
    tracing::info!(index.passages = count, "keyword index rebuilt");
    Ok(())
}
