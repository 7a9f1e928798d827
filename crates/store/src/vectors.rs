//! Vectors, of several models side by side, and the queue of passages that still need one.

use mc_domain::{PassageId, ProjectId, SourceKind};
use mc_sanitizer::Sanitized;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row};

use crate::error::word;
use crate::passages::{PassageFilter, embedding_text};
use crate::{Error, Listener, Store, Tx};

/// At most this many vectors are searched exactly: on two cores the scan takes a few milliseconds,
/// and no filter can fall into a hole of the graph.
const EXACT_UP_TO: i64 = 20_000;

/// The longest vectors that pgvector's HNSW index takes.
const MAX_DIMENSIONS: i32 = 2_000;

/// A passage that was refused this often is no longer waited for.
pub(crate) const FAILING_AFTER: i32 = 3;

/// An embedding model known to the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Number under which its vectors are kept.
    pub id: i16,
    /// Weights and quantisation, such as `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Length of its vectors.
    pub dimensions: i32,
    /// How to open it again; no secrets.
    pub provider: serde_json::Value,
}

/// A passage that needs a vector.
#[derive(Debug, Clone)]
pub struct Backlog {
    /// Passage.
    pub passage: PassageId,
    /// Project.
    pub project: ProjectId,
    /// What it was cut from.
    pub source: SourceKind,
    /// What is to be embedded.
    pub text: Sanitized,
    /// Hash of that text; a vector of an older text is not stored.
    pub text_hash: Vec<u8>,
}

/// Finds or adds the model; a new one gets its own partial index. A model that comes back with
/// other dimensions is refused: it is another model and wants another name.
pub async fn register_model(
    store: &Store,
    name: &str,
    dimensions: usize,
    provider: &serde_json::Value,
) -> Result<Model, Error> {
    let dimensions = i32::try_from(dimensions)
        .ok()
        .filter(|dimensions| *dimensions <= MAX_DIMENSIONS)
        .ok_or_else(|| {
            Error::Unsuitable(format!(
                "the embedding model \"{name}\" makes vectors of {dimensions} dimensions, and more than \
                 {MAX_DIMENSIONS} can't be indexed; ask for shorter ones with embedding.dimensions, or \
                 use another model"
            ))
        })?;
    let mut tx = store.begin().await?;
    let model = sqlx::query_as!(
        Model,
        "insert into embedding_models (name, dimensions, provider) values ($1, $2, $3)
         on conflict (name) do update set provider = excluded.provider
         returning id, name, dimensions, provider",
        name,
        dimensions,
        provider
    )
    .fetch_one(&mut *tx.0)
    .await?;
    if model.dimensions != dimensions {
        return Err(Error::Unsuitable(format!(
            "the embedding model \"{name}\" made vectors of {} dimensions before and makes {dimensions} now; \
             give it another name in the configuration (embedding.name)",
            model.dimensions
        )));
    }
    // Identifiers and numbers can't be bound; both are integers of our own.
    let index = format!(
        "create index if not exists embeddings_hnsw_{id} on embeddings
         using hnsw ((embedding::vector({dimensions})) vector_cosine_ops) where model_id = {id}",
        id = model.id
    );
    sqlx::query(AssertSqlSafe(index)).execute(&mut *tx.0).await?;
    tx.commit().await?;
    Ok(model)
}

/// Every model that has vectors here, oldest first.
pub async fn models(store: &Store) -> Result<Vec<Model>, Error> {
    Ok(sqlx::query_as!(
        Model,
        "select id, name, dimensions, provider from embedding_models order by id"
    )
    .fetch_all(&store.pool)
    .await?)
}

/// How many vectors a model has.
pub async fn count(store: &Store, model: &Model) -> Result<i64, Error> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from embeddings where model_id = $1"#,
        model.id
    )
    .fetch_one(&store.pool)
    .await?)
}

/// Queues every passage that has no current vector of the model; answers how many are new in the
/// queue.
pub async fn enqueue_missing(store: &Store, model: &Model) -> Result<u64, Error> {
    let done = sqlx::query!(
        "insert into embedding_queue (passage_id)
         select p.id from passages p
         where not exists (select 1 from embeddings e where e.model_id = $1
             and e.passage_id = p.id and e.text_hash = p.content_hash)
         on conflict do nothing",
        model.id
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}

/// How many passages have no current vector, in one project or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Those whose vector is to come.
    pub pending: i64,
    /// Those that failed so often that nobody should wait for their vectors; they are tried again
    /// from time to time. Keyword search finds them.
    pub failing: i64,
}

/// Counts the passages that have no current vector.
pub async fn queue(store: &Store, project: Option<ProjectId>) -> Result<Queue, Error> {
    Ok(sqlx::query_as!(
        Queue,
        r#"select count(*) filter (where q.attempts < $2) as "pending!",
                  count(*) filter (where q.attempts >= $2) as "failing!"
           from embedding_queue q join passages p on p.id = q.passage_id
           where $1::uuid is null or p.project_id = $1"#,
        project.map(|project| project.0),
        FAILING_AFTER
    )
    .fetch_one(&store.pool)
    .await?)
}

/// Wakes when passages come that wait for a vector, on any node.
pub async fn listen(store: &Store) -> Result<Listener, Error> {
    Listener::to(store, "embedding_queue").await
}

/// [`Queue::pending`].
pub async fn queue_length(store: &Store, project: Option<ProjectId>) -> Result<i64, Error> {
    Ok(queue(store, project).await?.pending)
}

/// [`Queue::failing`].
pub async fn failing(store: &Store, project: Option<ProjectId>) -> Result<i64, Error> {
    Ok(queue(store, project).await?.failing)
}

/// The next passages to embed, those that wait longest first, claimed for a minute so that two nodes
/// don't do the same work.
pub async fn take_backlog(store: &Store, limit: i64) -> Result<Vec<Backlog>, Error> {
    let rows = sqlx::query!(
        r#"with due as (
               select q.passage_id from embedding_queue q
               where q.run_at <= now()
               order by q.run_at, q.passage_id limit $1
               for update skip locked),
           claimed as (
               update embedding_queue q set run_at = now() + interval '1 minute'
               from due where q.passage_id = due.passage_id
               returning q.passage_id)
           select p.id, p.project_id, p.source_kind as "source_kind!", p.title, p.place,
                  p.context, p.text, p.content_hash
           from claimed c join passages p on p.id = c.passage_id"#,
        limit
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|r| {
            Ok(Backlog {
                passage: r.id.into(),
                project: r.project_id.into(),
                source: word(&r.source_kind)?,
                text: Sanitized::stored(embedding_text(&r.title, &r.place, &r.context, &r.text)),
                text_hash: r.content_hash,
            })
        })
        .collect()
}

/// Stores the vectors of a batch and takes it off the queue. A passage that changed or went away
/// meanwhile is passed over; its new text is in the queue by itself.
pub async fn store_batch(
    store: &Store,
    model: &Model,
    batch: &[(Backlog, Vec<f32>)],
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    for (item, vector) in batch {
        put(&mut tx, model, item.passage, &item.text_hash, vector).await?;
    }
    tx.commit().await
}

/// Stores one vector, if the passage still says what was embedded, and takes it off the queue.
pub async fn put(
    tx: &mut Tx,
    model: &Model,
    passage: PassageId,
    text_hash: &[u8],
    vector: &[f32],
) -> Result<(), Error> {
    let done = sqlx::query!(
        "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding)
         select $1, p.id, p.project_id, p.source_kind, p.content_hash, $4::real[]::vector
         from passages p where p.id = $2 and p.content_hash = $3 for share
         on conflict (model_id, passage_id) do update
             set embedding = excluded.embedding, text_hash = excluded.text_hash",
        model.id,
        passage.0,
        text_hash,
        vector
    )
    .execute(&mut *tx.0)
    .await?;
    if done.rows_affected() == 1 {
        sqlx::query!("delete from embedding_queue where passage_id = $1", passage.0)
            .execute(&mut *tx.0)
            .await?;
    }
    Ok(())
}

/// The vector is there already under this text's hash: what [`put`] is to be called with for a
/// passage that was just written.
pub fn text_hash(passage: &crate::passages::NewPassage) -> Vec<u8> {
    crate::passages::content_hash(passage)
}

/// Puts a passage back with the reason and a growing delay (seconds doubling up to an hour).
pub async fn backlog_failed(
    store: &Store,
    passages: &[PassageId],
    reason: &str,
) -> Result<(), Error> {
    let ids: Vec<_> = passages.iter().map(|id| id.0).collect();
    sqlx::query!(
        "update embedding_queue set attempts = attempts + 1, last_error = $2,
             run_at = now() + least(interval '1 hour', interval '1 second' * 2 ^ least(attempts, 12))
         where passage_id = any($1)",
        &ids,
        reason
    )
    .execute(&store.pool)
    .await?;
    Ok(())
}

/// Gives claimed passages back at once, unharmed (the provider is away, or the service stops).
pub async fn release_backlog(store: &Store, passages: &[PassageId]) -> Result<(), Error> {
    let ids: Vec<_> = passages.iter().map(|id| id.0).collect();
    sqlx::query!("update embedding_queue set run_at = now() where passage_id = any($1)", &ids)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// The passages nearest to `query` under the filter, with their cosine similarity, best first.
pub async fn nearest(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
) -> Result<Vec<(PassageId, f32)>, Error> {
    nearest_by(store, model, query, filter, limit, EXACT_UP_TO).await
}

/// As [`nearest`]: the project's vectors of the asked sources are scanned while they are at most
/// `exact_up_to`, and the model's HNSW index is used beyond that.
pub async fn nearest_by(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
    exact_up_to: i64,
) -> Result<Vec<(PassageId, f32)>, Error> {
    let extent = extent_by(store, model, filter, exact_up_to).await?;
    nearest_in(store, model, query, filter, limit, extent).await
}

/// How the vectors that a filter may let through are best searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// There are none.
    Empty,
    /// So few that each is compared.
    Exact,
    /// So many that the model's HNSW index leads to them.
    Graph,
}

/// The extent of what [`nearest_in`] searches; needs no query, so that it can be found out while
/// that is embedded.
pub async fn extent(store: &Store, model: &Model, filter: &PassageFilter) -> Result<Extent, Error> {
    extent_by(store, model, filter, EXACT_UP_TO).await
}

async fn extent_by(
    store: &Store,
    model: &Model,
    filter: &PassageFilter,
    exact_up_to: i64,
) -> Result<Extent, Error> {
    let size = sqlx::query_scalar!(
        r#"select count(*) as "count!" from
           (select 1 from embeddings where model_id = $1 and project_id = $2
                and source_kind = any($3) limit $4) as bounded"#,
        model.id,
        filter.project.0,
        &sources(filter) as &[&str],
        exact_up_to.saturating_add(1)
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(match size {
        0 => Extent::Empty,
        size if size <= exact_up_to => Extent::Exact,
        _ => Extent::Graph,
    })
}

/// Never empty: the index on model, project and source is read where the sources are known.
fn sources(filter: &PassageFilter) -> Vec<&'static str> {
    let asked = match filter.sources.as_slice() {
        [] => SourceKind::ALL,
        asked => asked,
    };
    asked.iter().map(|source| source.as_str()).collect()
}

/// Like [`nearest`], where the extent is known.
pub async fn nearest_in(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
    extent: Extent,
) -> Result<Vec<(PassageId, f32)>, Error> {
    if extent == Extent::Empty {
        return Ok(Vec::new());
    }
    let is_exact = extent == Extent::Exact;
    let kinds: Vec<&str> = filter.record_kinds.iter().map(|k| k.as_str()).collect();
    let statement = sqlx::query(AssertSqlSafe(nearest_sql(model, filter, is_exact)))
        .bind(filter.project.0)
        .bind(query)
        .bind(limit)
        .bind(sources(filter))
        .bind(kinds)
        .bind(&filter.scope)
        .bind(&filter.tags)
        .bind(&filter.languages)
        .bind(filter.path_regex.as_deref().map(|regex| format!("^(?:{regex})$")));
    let rows = if is_exact {
        statement.fetch_all(&store.pool).await?
    } else {
        through_graph(&mut *store.pool.acquire().await?, statement).await?
    };
    rows.into_iter()
        .map(|row| {
            let id: uuid::Uuid = row.try_get(0)?;
            let similarity: f32 = row.try_get(1)?;
            Ok((id.into(), similarity))
        })
        .collect()
}

/// Runs a statement that uses an HNSW index.
async fn through_graph(
    connection: &mut PgConnection,
    statement: Query<'_, Postgres, PgArguments>,
) -> Result<Vec<PgRow>, Error> {
    let mut tx = connection.begin().await?;
    // Iterative scans go on until the filter is satisfied instead of stopping at ef_search rows.
    // Who asked may have given up: the statement must not hold its connection much longer.
    sqlx::query(
        "select set_config('statement_timeout', '5s', true),
                set_config('hnsw.iterative_scan', 'strict_order', true),
                set_config('hnsw.ef_search', '200', true),
                set_config('hnsw.max_scan_tuples', '100000', true)",
    )
    .execute(&mut *tx)
    .await?;
    let rows = statement.fetch_all(&mut *tx).await?;
    tx.commit().await?;
    Ok(rows)
}

/// The statement over one model's vectors. The model's id and dimensions are written into it so
/// that the planner can match the model's own partial index.
fn nearest_sql(model: &Model, filter: &PassageFilter, exact: bool) -> String {
    let join = if filter.is_plain() { "" } else { "join passages p on p.id = e.passage_id" };
    let conditions = if filter.is_plain() {
        // Bound all the same: the statement's parameters must not depend on the filter.
        "$5::text[] is not null and $6::text[] is not null and $7::text[] is not null
         and $8::text[] is not null and $9::text is null"
    } else {
        "(cardinality($5::text[]) = 0 or p.record_kind = any($5))
         and (cardinality($6::text[]) = 0 or p.scope && $6)
         and (cardinality($7::text[]) = 0 or p.tags && $7)
         and (cardinality($8::text[]) = 0 or p.language = any($8))
         and ($9::text is null or p.place ~ $9)"
    };
    let dim = model.dimensions;
    let candidates = format!(
        "from embeddings e {join}
         where e.model_id = {id} and e.project_id = $1 and e.source_kind = any($4) and {conditions}",
        id = model.id
    );
    if exact {
        // The offset keeps the planner from the graph; the query is read out of its parameter once,
        // and not for each row.
        format!(
            "select passage_id, (1 - distance)::real from
                 (select e.passage_id,
                         e.embedding::vector({dim}) <=> (select $2::real[]::vector({dim})) as distance
                  {candidates} offset 0) as scanned
             order by distance limit $3"
        )
    } else {
        let distance = format!("e.embedding::vector({dim}) <=> $2::real[]::vector({dim})");
        format!(
            "select e.passage_id, (1 - ({distance}))::real {candidates} order by {distance} limit $3"
        )
    }
}
