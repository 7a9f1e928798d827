//! Moves the vectors of large projects into the graph, behind the back of those who save and index.

use std::time::Duration;

use mc_store::vectors::{self, FlatVectors, Model};
use mc_store::{Error, Store};
use tokio_util::sync::CancellationToken;

/// A heap of more vectors is moved: to compare so many takes two cores some four milliseconds.
pub const HEAP_MAX: i64 = 10_000;
/// Vectors that are moved in one statement: a fraction of a second, while their rows are locked.
const STEP: i64 = 100;
/// How often the heaps are counted.
const EVERY: Duration = Duration::from_mins(1);

/// Looks for heaps of these models that grew too large, at the start and every minute, until
/// `shutdown`.
pub async fn run(store: &Store, models: &[Model], shutdown: &CancellationToken) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
        for model in models {
            let moved = fill_hnsw(store, model, HEAP_MAX);
            if let Some(Err(error)) = shutdown.run_until_cancelled(moved).await {
                tracing::warn!(%error, "vectors could not be moved into the graph; the next minute tries again");
            }
        }
    }
}

/// Moves every heap of more than so many vectors. What was moved stays so, whenever this ends.
pub async fn fill_hnsw(store: &Store, model: &Model, more_than: i64) -> Result<(), Error> {
    for heap in vectors::list_flat_vectors(store, model, more_than).await? {
        let FlatVectors { project, source, vectors: count } = heap;
        tracing::info!(%project, source = source.as_str(), vectors = count, "moving vectors into the graph");
        vectors::create_hnsw_index(store, model, &heap).await?;
        let mut moved = 0;
        // No more than it had: the next heap shall not wait for an ingest that goes on.
        while moved < count.cast_unsigned() {
            match vectors::move_into_hnsw(store, model, &heap, STEP).await? {
                0 => break,
                step => moved += step,
            }
        }
        tracing::info!(%project, source = source.as_str(), vectors = moved, "moved vectors into the graph");
    }
    Ok(())
}
