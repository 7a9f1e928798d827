//! Vectors of several models, their HNSW indexes, and the embedding queue.

mod backlog;
mod hnsw;
mod nearest;
mod progress;

use mc_domain::PassageId;
use sqlx::postgres::PgConnection;

use crate::{Error, Result, Store, Tx};

pub use crate::passages::content_hash as text_hash;
pub use backlog::{
    Backlog, EmbeddingBacklog, backlog_failed, enqueue_missing, enqueue_missing_in, listen,
    may_embed, queue, queue_length, release_backlog, take_backlog,
};
pub use hnsw::{
    FlatVectors, create_hnsw_index, drop_orphaned_hnsw_indexes, list_flat_vectors, move_into_hnsw,
};
pub(crate) use hnsw::{HnswSources, hnsw_cache};
pub use nearest::{
    ScanWidth, VectorPlacement, near_to, nearest, nearest_in, nearest_of, of_record, placement,
};
pub use progress::{FailedPassage, Progress, list_failed, progress, retry_failed};

/// The most dimensions of half precision that pgvector's HNSW index supports.
const MAX_DIMENSIONS: i32 = 4_000;

/// An embedding model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Number of the model in the database.
    pub id: i16,
    /// Name of weights and quantization, such as `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Dimensions of its vectors.
    pub dimensions: i32,
    /// Configuration to open the model again; no secrets.
    pub provider: serde_json::Value,
}

/// Finds or adds the model with this name and these dimensions, and marks it as used.
/// [`Error::Unsupported`] if its vectors have too many dimensions.
pub async fn register_model(
    store: &Store,
    name: &str,
    dimensions: usize,
    provider: &serde_json::Value,
) -> Result<Model> {
    let dimensions = i32::try_from(dimensions)
        .ok()
        .filter(|dimensions| *dimensions <= MAX_DIMENSIONS)
        .ok_or_else(|| {
            Error::Unsupported(format!(
                "the embedding model \"{name}\" makes vectors of {dimensions} dimensions, and more \
                 than {MAX_DIMENSIONS} can't be indexed; set embedding.dimensions to a lower \
                 number, or use another model"
            ))
        })?;
    Ok(sqlx::query_as!(
        Model,
        "insert into embedding_models (name, dimensions, provider) values ($1, $2, $3)
         on conflict (name, dimensions) do update
             set provider = excluded.provider, used_at = now()
         returning id, name, dimensions, provider",
        name,
        dimensions,
        provider
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Marks a model as used, so that changed passages are queued for it. Deletes the queues of models
/// that no node has used in the last ten minutes.
pub async fn renew_model(store: &Store, model: &Model) -> Result<()> {
    sqlx::query!("update embedding_models set used_at = now() where id = $1", model.id)
        .execute(&mut *store.plain().await?)
        .await?;
    sqlx::query!(
        "delete from embedding_queue q using embedding_models m
         where m.id = q.model_id and m.used_at <= now() - interval '10 minutes'"
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Returns all models, oldest first.
pub async fn models(store: &Store) -> Result<Vec<Model>> {
    Ok(sqlx::query_as!(
        Model,
        "select id, name, dimensions, provider from embedding_models order by id"
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}

/// Returns the previous model: of all other models, the one with current vectors for the most
/// passages that lack one of `model`. `None` if there is no such passage.
pub async fn previous_model(store: &Store, model: &Model) -> Result<Option<Model>> {
    Ok(sqlx::query_as!(
        Model,
        "select m.id, m.name, m.dimensions, m.provider
         from (select e.model_id, count(*) as vectors
               from passages p join embeddings e
                   on e.passage_id = p.id and e.text_hash = p.content_hash and e.model_id <> $1
               where not exists (select from embeddings c where c.model_id = $1
                   and c.passage_id = p.id and c.text_hash = p.content_hash)
               group by e.model_id) as other
         join embedding_models m on m.id = other.model_id
         order by other.vectors desc, m.used_at desc, m.id desc limit 1",
        model.id
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Counts the vectors of a model.
pub async fn count(store: &Store, model: &Model) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from embeddings where model_id = $1"#,
        model.id
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Stores the vectors of a batch and removes its passages from the model's queue. A passage that
/// changed or was deleted is skipped; the queue has its new text.
pub async fn store_batch(
    store: &Store,
    model: &Model,
    batch: &[(Backlog, Vec<f32>)],
) -> Result<()> {
    let items = batch.iter().map(|(item, vector)| (item.passage, &*item.text_hash, &**vector));
    put_all(&mut *store.plain().await?, model, &items.collect::<Vec<_>>()).await
}

/// Stores the vector of a passage, unless its text changed, and removes it from the model's queue.
pub async fn put(
    tx: &mut Tx,
    model: &Model,
    passage: PassageId,
    text_hash: &[u8],
    vector: &[f32],
) -> Result<()> {
    put_all(&mut tx.0, model, &[(passage, text_hash, vector)]).await
}

/// Stores vectors, each with its passage and the hash of the passage's text.
async fn put_all(
    connection: &mut PgConnection,
    model: &Model,
    items: &[(PassageId, &[u8], &[f32])],
) -> Result<()> {
    let ids: Vec<_> = items.iter().map(|item| item.0.0).collect();
    let hashes: Vec<_> = items.iter().map(|item| item.1).collect();
    let vectors: Vec<_> = items.iter().map(|item| item.2).collect();
    // All vectors are one array, since arrays of arrays can't be unnested by one level.
    sqlx::query!(
        "with stored as (
             insert into embeddings (model_id, passage_id, project_id, source_kind, repository_id,
                 text_hash, embedding, private_to)
             select $1, p.id, p.project_id, p.source_kind, p.repository_id, p.content_hash,
                 ($4::real[])[(item.n - 1) * $5 + 1 : item.n * $5]::halfvec, p.private_to
             from unnest($2::uuid[], $3::bytea[]) with ordinality as item (passage_id, text_hash, n)
             join passages p on p.id = item.passage_id and p.content_hash = item.text_hash
             for share of p
             on conflict (model_id, passage_id) do update
                 set embedding = excluded.embedding, text_hash = excluded.text_hash,
                     repository_id = excluded.repository_id
             returning passage_id)
         delete from embedding_queue q using stored
         where q.passage_id = stored.passage_id and q.model_id = $1",
        model.id,
        &ids,
        &hashes as &[&[u8]],
        &vectors.concat(),
        i64::from(model.dimensions)
    )
    .execute(connection)
    .await?;
    Ok(())
}
