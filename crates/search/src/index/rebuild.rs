//! Building the index anew from the database.

use std::sync::{Arc, Mutex};

use mc_store::change_feed::FeedCursor;
use mc_store::{Store, change_feed, passages, server};

use super::directory::Folder;
use super::follower::{SharedGeneration, blocking};
use super::generation::Generation;
use super::{Phase, Shared, Status};
use crate::Error;

/// Passages read at once.
const PAGE: i64 = 1000;
/// Passages after which what is in so far becomes visible.
const SHOW_EVERY: u64 = 20_000;

/// Fills a fresh generation with every passage, then makes it the one in use. Searches see it grow.
/// Answers it with the position from which the feed has to be applied to it.
pub(super) async fn rebuild(
    store: &Store,
    folder: &Arc<Folder>,
    shared: &Shared,
) -> Result<(SharedGeneration, FeedCursor), Error> {
    let built = build(store, folder, shared).await;
    if built.is_err() {
        let home = Arc::clone(folder);
        // What is half built takes room, and too little of that may be what it failed by.
        tokio::task::spawn_blocking(move || home.sweep()).await?;
    }
    built
}

async fn build(
    store: &Store,
    folder: &Arc<Folder>,
    shared: &Shared,
) -> Result<(SharedGeneration, FeedCursor), Error> {
    // Taken first: what changes while the passages are read is in the feed behind this.
    let cursor = change_feed::safe_position(store).await?;
    let database = server::identity(store).await?;
    let home = Arc::clone(folder);
    let (path, generation) = tokio::task::spawn_blocking(move || {
        let path = home.fresh()?;
        let generation = Generation::create(&path, &database)?;
        Ok::<_, Error>((path, generation))
    })
    .await??;
    shared.show(generation.view());
    let generation = Arc::new(Mutex::new(generation));

    fill(store, &generation, cursor, shared).await?;

    let home = Arc::clone(folder);
    tokio::task::spawn_blocking(move || home.switch_to(&path)).await??;
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
        let show = before / SHOW_EVERY != count / SHOW_EVERY;
        blocking(generation, move |generation| {
            generation.add(&page)?;
            if show { generation.commit(cursor) } else { Ok(()) }
        })
        .await?;
        shared.status.send_replace(Status { phase: Phase::Rebuilding, passages: count, cursor });
        if show {
            tracing::info!(index.passages = count, "keyword index rebuilding");
        }
    }
    blocking(generation, move |generation| generation.commit(cursor)).await?;
    tracing::info!(index.passages = count, "keyword index rebuilt");
    Ok(())
}
