//! Moves the vectors of large projects into their HNSW indexes, in the background.

use std::time::Duration;

use mc_store::vectors::{self, FlatVectors, Model};
use mc_store::{Error, Store};
use tokio_util::sync::CancellationToken;

/// Flat vectors that a project keeps: comparing so many takes two cores about four milliseconds.
pub const FLAT_VECTORS_MAX: i64 = 10_000;
/// Vectors moved by one statement, which locks their rows for a fraction of a second.
const BATCH_SIZE: i64 = 100;
/// Interval between two counts of the flat vectors.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Fills the HNSW indexes of `models`, at the start and every minute, until `shutdown`.
pub async fn run(store: &Store, models: &[Model], shutdown: &CancellationToken) {
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
        for model in models {
            let filled = fill_hnsw(store, model, FLAT_VECTORS_MAX);
            if let Some(Err(error)) = shutdown.run_until_cancelled(filled).await {
                tracing::warn!(%error, "moving vectors into the HNSW index failed; will retry");
            }
        }
    }
}

/// Moves the flat vectors of each project and source that has more than `more_than`.
///
/// Each batch is committed, so an interrupted move resumes where it stopped.
pub async fn fill_hnsw(store: &Store, model: &Model, more_than: i64) -> Result<(), Error> {
    for flat in vectors::list_flat_vectors(store, model, more_than).await? {
        let FlatVectors { project, source, vectors: count } = flat;
        let source = source.as_str();
        tracing::info!(%project, source, vectors = count, "moving vectors into the HNSW index");
        vectors::create_hnsw_index(store, model, &flat).await?;
        let mut moved = 0;
        // At most the number counted before: an ingest that adds more must not delay the others.
        while moved < count.cast_unsigned() {
            match vectors::move_into_hnsw(store, model, &flat, BATCH_SIZE).await? {
                0 => break,
                batch => moved += batch,
            }
        }
        tracing::info!(%project, source, vectors = moved, "moved vectors into the HNSW index");
    }
    Ok(())
}
