//! Which vectors are in an HNSW index.
//!
//! New vectors are flat, and a search compares each of them. A few thousand take a few
//! milliseconds, a filter always finds enough of them, and neither a save nor an index run pays for
//! an insertion into the index, which is a third of a save's work in the database. If a project has
//! too many flat vectors of one source, they move into its HNSW index, in the background and in
//! small steps.
//!
//! A project has one index for commits and one for all other sources, since no search returns
//! commits together with code and notes. Private vectors stay flat: the time of an index scan would
//! reveal them to others.

use std::sync::Arc;
use std::time::Duration;

use mc_domain::{ProjectId, SourceKind};
use moka::sync::Cache;
use sqlx::AssertSqlSafe;

use super::Model;
use crate::error::word;
use crate::row::read;
use crate::{Result, Store};

/// The flat vectors of one source of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatVectors {
    /// Project of the passages.
    pub project: ProjectId,
    /// Kind of source of the passages.
    pub source: SourceKind,
    /// Number of vectors.
    pub vectors: i64,
}

/// How long a node may compare all vectors of a source after they started to move into an index.
const CACHE_TTL: Duration = Duration::from_mins(1);
/// Most projects whose HNSW sources a node caches.
const CACHE_MAX: u64 = 10_000;

/// The sources with vectors in an HNSW index, by model and project.
pub(crate) type HnswSources = Cache<(i16, ProjectId), Arc<[SourceKind]>>;

/// Returns an empty cache.
pub(crate) fn hnsw_cache() -> HnswSources {
    Cache::builder().max_capacity(CACHE_MAX).time_to_live(CACHE_TTL).build()
}

/// Returns the sources of a project that have vectors in its HNSW index; the cached answer may be a
/// minute old.
pub(super) async fn hnsw_sources(
    store: &Store,
    model: &Model,
    project: ProjectId,
) -> Result<Arc<[SourceKind]>> {
    if let Some(known) = store.hnsw_cache.get(&(model.id, project)) {
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
    store.hnsw_cache.insert((model.id, project), Arc::clone(&found));
    Ok(found)
}

/// Returns the model's flat vectors of each project and source with more than `more_than`.
pub async fn list_flat_vectors(
    store: &Store,
    model: &Model,
    more_than: i64,
) -> Result<Vec<FlatVectors>> {
    let rows = sqlx::query!(
        r#"select project_id, source_kind, count(*) as "vectors!" from embeddings
           where model_id = $1 and not in_hnsw and private_to is null
           group by project_id, source_kind having count(*) > $2"#,
        model.id,
        more_than
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => FlatVectors {
        project: row.project_id.into(), source: word(&row.source_kind)?, vectors
    })
}

/// Creates the project's HNSW index that holds vectors of this source, if it does not exist, and
/// makes searches of the source read it. Writes of vectors wait until the index is built.
pub async fn create_hnsw_index(store: &Store, model: &Model, flat: &FlatVectors) -> Result<()> {
    let (project, source) = (flat.project.0, flat.source.as_str());
    sqlx::query!("select from mc.create_hnsw_index($1, $2, $3)", model.id, project, source)
        .execute(&mut *store.plain().await?)
        .await?;
    store.hnsw_cache.invalidate(&(model.id, flat.project));
    Ok(())
}

/// Drops the HNSW indexes of deleted projects and models; returns their number.
pub async fn drop_orphaned_hnsw_indexes(store: &Store) -> Result<i32> {
    Ok(sqlx::query_scalar!(r#"select mc.drop_orphaned_hnsw_indexes() as "dropped!""#)
        .fetch_one(&mut *store.plain().await?)
        .await?)
}

/// Moves at most `limit` flat vectors into the HNSW index; returns how many. 0 means that none is
/// left that no other transaction has locked.
pub async fn move_into_hnsw(
    store: &Store,
    model: &Model,
    flat: &FlatVectors,
    limit: i64,
) -> Result<u64> {
    // The limit is part of the text: without its value, the planner would read all flat vectors.
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
        .bind(flat.project.0)
        .bind(flat.source.as_str())
        .execute(&mut *store.plain().await?)
        .await?;
    Ok(moved.rows_affected())
}
