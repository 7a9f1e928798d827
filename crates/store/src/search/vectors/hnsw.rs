//! Which vectors are in the HNSW graph.
//!
//! A new vector lies outside, on the heap, where a search compares each: a few thousand take a few
//! milliseconds, no filter falls into a hole of the graph, and neither a new record nor an ingest pays
//! for an entry in it (a third of a save's work in the database). Where a project's heap of one source
//! grows too large for that, it is moved into the graph, in the background and in small steps.
//! The commits of a history stay outside: their number is limited, and code and notes would be found among them.
//! Private vectors stay outside: how long a walk through the graph takes would tell others of them.

use std::sync::Arc;
use std::time::Duration;

use mc_domain::{ProjectId, SourceKind};
use moka::sync::Cache;
use sqlx::AssertSqlSafe;

use super::Model;
use crate::error::word;
use crate::{Error, Store};

/// The vectors of one source of a project that are outside the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatVectors {
    /// Project.
    pub project: ProjectId,
    /// What the passages were cut from.
    pub source: SourceKind,
    /// How many.
    pub vectors: i64,
}

/// For how long a node may compare all vectors of a source, after they have begun to move into a graph.
const KNOWN_FOR: Duration = Duration::from_mins(1);
/// Projects whose graphs a node knows.
const KNOWN_MAX: u64 = 10_000;

/// The sources that have vectors in graphs, by model and project.
pub(crate) type Graphs = Cache<(i16, ProjectId), Arc<[SourceKind]>>;

/// None is known yet.
pub(crate) fn graphs() -> Graphs {
    Cache::builder().max_capacity(KNOWN_MAX).time_to_live(KNOWN_FOR).build()
}

/// The sources of a project that have vectors in its graph; what a node knows of that may be a minute old.
pub(super) async fn graphed(
    store: &Store,
    model: &Model,
    project: ProjectId,
) -> Result<Arc<[SourceKind]>, Error> {
    if let Some(known) = store.graphs.get(&(model.id, project)) {
        return Ok(known);
    }
    let found = sqlx::query_scalar!(
        "select source_kind from hnsw_sources where model_id = $1 and project_id = $2",
        model.id,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let found: Arc<[_]> = found.iter().map(|kind| word(kind)).collect::<Result<_, _>>()?;
    store.graphs.insert((model.id, project), Arc::clone(&found));
    Ok(found)
}

/// The model's heaps of more than so many vectors.
pub async fn list_flat_vectors(
    store: &Store,
    model: &Model,
    more_than: i64,
) -> Result<Vec<FlatVectors>, Error> {
    let rows = sqlx::query!(
        r#"select project_id, source_kind, count(*) as "vectors!" from embeddings
           where model_id = $1 and not in_hnsw and private_to is null and source_kind <> 'change'
           group by project_id, source_kind having count(*) > $2"#,
        model.id,
        more_than
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (project, source) = (row.project_id.into(), word(&row.source_kind)?);
            Ok(FlatVectors { project, source, vectors: row.vectors })
        })
        .collect()
}

/// Makes the project's graph of the model's vectors, if it has none, and has searches look into it for what the heap
/// holds. Writes to vectors wait for as long as it takes to look through them all.
pub async fn create_hnsw_index(
    store: &Store,
    model: &Model,
    heap: &FlatVectors,
) -> Result<(), Error> {
    let (project, source) = (heap.project.0, heap.source.as_str());
    sqlx::query!("select from mc.create_hnsw_index($1, $2, $3)", model.id, project, source)
        .execute(&mut *store.plain().await?)
        .await?;
    store.graphs.invalidate(&(model.id, heap.project));
    Ok(())
}

/// Drops the graphs of projects that are gone; answers how many.
pub async fn drop_orphaned_hnsw_indexes(store: &Store) -> Result<i32, Error> {
    Ok(sqlx::query_scalar!(r#"select mc.drop_orphaned_hnsw_indexes() as "dropped!""#)
        .fetch_one(&mut *store.plain().await?)
        .await?)
}

/// Moves at most `limit` vectors of a heap into the graph; answers how many, 0 when none is left that
/// nobody else is at.
pub async fn move_into_hnsw(
    store: &Store,
    model: &Model,
    heap: &FlatVectors,
    limit: i64,
) -> Result<u64, Error> {
    // The limit stands in the text: not knowing it, the planner would read the whole heap for it.
    let statement = format!(
        "update embeddings set in_hnsw = true
         where model_id = $1 and passage_id = any(array(
             select passage_id from embeddings
             where model_id = $1 and project_id = $2 and source_kind = $3 and not in_hnsw
                 and private_to is null
             limit {limit} for update skip locked))"
    );
    let moved = sqlx::query(AssertSqlSafe(statement))
        .bind(model.id)
        .bind(heap.project.0)
        .bind(heap.source.as_str())
        .execute(&mut *store.plain().await?)
        .await?;
    Ok(moved.rows_affected())
}
