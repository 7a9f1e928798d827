//! The vectors nearest to a query: those of the graph through it, all others one by one.

use mc_domain::PassageId;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::Model;
use super::hnsw::graphed;
use crate::passages::PassageFilter;
use crate::rls::Planning;
use crate::{Error, Store};

/// As many as pass a filter are compared one by one, wherever they are: that takes some 20 ms, misses
/// none, and the graph would take longer to come by enough of so few.
const COMPARED_MAX: usize = 10_000;

/// The passages nearest to `query` under the filter, with their cosine similarity, best first.
pub async fn nearest(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
) -> Result<Vec<(PassageId, f32)>, Error> {
    let extent = extent(store, model, filter).await?;
    nearest_in(store, model, query, filter, limit, extent).await
}

/// Placement of the vectors that a filter may let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPlacement {
    /// All are flat vectors, each of which is compared.
    Flat,
    /// Some are in an HNSW index, the rest are flat. The statement determines whether few pass the
    /// filter, for which it reads the passages of the project: about 300 ms for 500,000.
    Hnsw,
    /// Some are in an HNSW index, and many are known to pass the filter.
    HnswManyMatches,
}

/// What [`nearest_in`] is to be told; needs no query, so that it can be found out while that is embedded.
pub async fn extent(
    store: &Store,
    model: &Model,
    filter: &PassageFilter,
) -> Result<VectorPlacement, Error> {
    let in_graph = graphed(store, model, filter.project).await?;
    let mut asked = filter.searched_sources().iter();
    Ok(if asked.any(|source| in_graph.contains(source)) {
        VectorPlacement::Hnsw
    } else {
        VectorPlacement::Flat
    })
}

/// Like [`nearest`], where the extent is known.
pub async fn nearest_in(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
    extent: VectorPlacement,
) -> Result<Vec<(PassageId, f32)>, Error> {
    // Always some: the index on model, project and source is read where the sources are known.
    let sources: Vec<&str> = filter.searched_sources().iter().map(|s| s.as_str()).collect();
    let kinds: Vec<&str> = filter.record_kinds.iter().map(|k| k.as_str()).collect();
    let statement = sqlx::query(AssertSqlSafe(nearest_sql(model, filter, extent)))
        .bind(filter.project.0)
        .bind(query)
        .bind(limit)
        .bind(sources)
        .bind(kinds)
        .bind(&filter.scope)
        .bind(&filter.tags)
        .bind(&filter.languages)
        .bind(filter.path_regex.as_deref().map(|regex| format!("^(?:{regex})$")));
    let planning = match extent {
        VectorPlacement::Hnsw | VectorPlacement::HnswManyMatches => Planning::Graph,
        VectorPlacement::Flat if filter.is_plain() => Planning::Once,
        VectorPlacement::Flat => Planning::Anew,
    };
    let found = statement.fetch_one(&mut *store.read_planned(planning).await?).await?;
    passages_and_similarities(&found)
}

fn passages_and_similarities(found: &PgRow) -> Result<Vec<(PassageId, f32)>, Error> {
    let (ids, similarities): (Vec<uuid::Uuid>, Vec<f32>) = (found.try_get(0)?, found.try_get(1)?);
    Ok(ids.into_iter().map(PassageId).zip(similarities).collect())
}

/// The nearest of these passages, which a filter let through; best first.
pub async fn nearest_of(
    store: &Store,
    model: &Model,
    query: &[f32],
    passages: &[PassageId],
    limit: i64,
) -> Result<Vec<(PassageId, f32)>, Error> {
    let mut passages: Vec<_> = passages.iter().map(|passage| passage.0).collect();
    // As they were written: neighbours are on the same pages.
    passages.sort_unstable();
    // One by one through the key, as the offset has it: the planner would rather read every vector there is.
    let one = format!(
        "from unnest($1::uuid[]) as id
         cross join lateral (select e.passage_id, e.embedding from embeddings e
                             where e.model_id = {} and e.passage_id = id offset 0) as e",
        model.id
    );
    let found = sqlx::query(AssertSqlSafe(in_order("", &compared(model, &one))))
        .bind(passages)
        .bind(query)
        .bind(limit)
        .fetch_one(&mut *store.read().await?)
        .await?;
    passages_and_similarities(&found)
}

/// Which of these passages have a cosine similarity of `least` or more to one passage, under any model that both have a
/// vector of.
pub async fn near_to(
    store: &Store,
    passage: PassageId,
    others: &[PassageId],
    least: f32,
) -> Result<Vec<PassageId>, Error> {
    let others: Vec<_> = others.iter().map(|other| other.0).collect();
    // One by one through the key: the planner may take the passage's vectors for many.
    let near = sqlx::query_scalar!(
        r#"select other as "other!" from unnest($2::uuid[]) as other
           where exists (select from embeddings e
                         join embeddings o on o.passage_id = other and o.model_id = e.model_id
                         where e.passage_id = $1 and 1 - (e.embedding <=> o.embedding) >= $3)"#,
        passage.0,
        &others,
        f64::from(least)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(near.into_iter().map(PassageId::from).collect())
}

/// The statement over one model's vectors. The model's id and dimensions are written into it so that
/// the planner can match the model's own partial index.
fn nearest_sql(model: &Model, filter: &PassageFilter, extent: VectorPlacement) -> String {
    let asked =
        format!("e.model_id = {} and e.project_id = $1 and e.source_kind = any($4)", model.id);
    let (with, parts) = if filter.is_plain() {
        (String::new(), plain(model, &asked, extent))
    } else {
        filtered(model, &asked, extent)
    };
    in_order(&with, &parts)
}

/// The best of what the parts found, as two arrays in one row: 200 rows take PostgreSQL and this process longer.
fn in_order(with: &str, parts: &str) -> String {
    // The sum makes PostgreSQL sort: it takes what comes out of the graph for sorted, which in relaxed
    // order it isn't, and would merge the parts. The ids, so that equals come in the same order whatever
    // else is written.
    format!(
        "{with} select coalesce(array_agg(passage_id), '{{}}'), coalesce(array_agg(similarity), '{{}}')
         from (select passage_id, (1 - distance)::real as similarity from ({parts}) as found
               order by distance + 0, passage_id limit $3) as best"
    )
}

/// The parts of a search that only asks for a project and sources.
fn plain(model: &Model, asked: &str, extent: VectorPlacement) -> String {
    // Bound all the same: the statement's parameters must not depend on the filter.
    let all = format!(
        "from embeddings e
         where {asked} and $5::text[] is not null and $6::text[] is not null
           and $7::text[] is not null and $8::text[] is not null and $9::text is null"
    );
    match extent {
        // All of them, whatever has begun to move since that was found.
        VectorPlacement::Flat => compared(model, &all),
        VectorPlacement::Hnsw | VectorPlacement::HnswManyMatches => heap_and_graph(model, &all),
    }
}

/// What passes the filter, and the parts of a search under it.
fn filtered(model: &Model, asked: &str, extent: VectorPlacement) -> (String, String) {
    let passes = "(cardinality($5::text[]) = 0 or p.record_kind = any($5))
         and (cardinality($6::text[]) = 0 or p.scope && $6)
         and (cardinality($7::text[]) = 0 or p.tags && $7)
         and (cardinality($8::text[]) = 0 or p.language = any($8))
         and ($9::text is null or p.location ~ $9)";
    let passing = format!(
        "select p.id from passages p
         where p.project_id = $1 and p.source_kind = any($4) and {passes}"
    );
    let each = format!(
        "from passing join embeddings e on e.passage_id = passing.id where e.model_id = {}",
        model.id
    );
    let many = format!(
        "from embeddings e join passages p on p.id = e.passage_id where {asked} and {passes}"
    );
    match extent {
        VectorPlacement::Flat => {
            (format!("with passing as materialized ({passing})"), compared(model, &each))
        }
        VectorPlacement::Hnsw => {
            let with = format!(
                "with passing as materialized ({passing} limit {COMPARED_MAX} + 1),
                 few as materialized (select count(*) <= {COMPARED_MAX} as they_are from passing)"
            );
            let few = compared(model, &format!("{each} and (select they_are from few)"));
            let many = heap_and_graph(model, &format!("{many} and not (select they_are from few)"));
            (with, format!("{few} union all {many}"))
        }
        VectorPlacement::HnswManyMatches => (String::new(), heap_and_graph(model, &many)),
    }
}

/// The nearest of the candidates, each compared. The offset keeps the planner from sorting by anything
/// but the distance that it has; the query is read out of its parameter once, and not for each row.
fn compared(model: &Model, candidates: &str) -> String {
    let dim = model.dimensions;
    format!(
        "(select passage_id, distance from
              (select e.passage_id,
                      e.embedding::halfvec({dim}) <=> (select $2::real[]::halfvec({dim})) as distance
               {candidates} offset 0) as compared
          order by distance, passage_id limit $3)"
    )
}

/// The nearest of the candidates on the heap, and those of the graph; both at one moment, since a
/// vector may just be moving from one to the other.
fn heap_and_graph(model: &Model, candidates: &str) -> String {
    let heap = compared(model, &format!("{candidates} and not e.in_hnsw"));
    let dim = model.dimensions;
    let distance = format!("e.embedding::halfvec({dim}) <=> $2::real[]::halfvec({dim})");
    format!(
        "{heap}
         union all
         (select e.passage_id, {distance} as distance {candidates} and e.in_hnsw
          order by {distance} limit $3)"
    )
}
