//! The nearest vectors: HNSW indexes are scanned, flat vectors compared one by one.

use mc_domain::{PassageId, RecordId, SourceKind};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::Model;
use super::hnsw::hnsw_sources;
use crate::passages::PassageFilter;
use crate::rls::Planning;
use crate::row::uuids;
use crate::{Result, Store};

/// If at most this many passages pass a filter, each is compared, flat or not. That takes about 20
/// ms and misses none; an index scan would take longer to find enough of them.
const COMPARED_MAX: usize = 10_000;

/// Returns the passages nearest to `query` under the filter, with their cosine similarity, best
/// first.
pub async fn nearest(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
) -> Result<Vec<(PassageId, f32)>> {
    let placement = placement(store, model, filter).await?;
    nearest_in(store, model, query, filter, limit, placement, ScanWidth::Wide).await
}

/// Where the vectors of the searched sources are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPlacement {
    /// All are flat, or so few that they are compared one by one.
    Flat,
    /// Some are in the HNSW index. The statement counts whether few pass the filter, for which it
    /// reads the passages of the project: about 300 ms for 500,000.
    Hnsw,
    /// Some are in the HNSW index, and many are known to pass the filter.
    HnswOfMany,
}

/// How many vectors a scan of an HNSW index keeps while it searches (`hnsw.ef_search`): with more,
/// it misses fewer of the nearest ones, and takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanWidth {
    /// 200: for a list of which only the beginning counts.
    Narrow,
    /// 400.
    Wide,
}

/// Returns the placement for [`nearest_in`]. It needs no query, so it can run while the query is
/// embedded.
pub async fn placement(
    store: &Store,
    model: &Model,
    filter: &PassageFilter,
) -> Result<VectorPlacement> {
    let in_hnsw = hnsw_sources(store, model, filter.project).await?;
    let mut restriction = filter.searched_sources().iter();
    Ok(if restriction.any(|source| in_hnsw.contains(source)) {
        VectorPlacement::Hnsw
    } else {
        VectorPlacement::Flat
    })
}

/// Returns the vector of a record, if it has one of this model.
pub async fn of_record(store: &Store, model: &Model, record: RecordId) -> Result<Option<Vec<f32>>> {
    Ok(sqlx::query_scalar!(
        r#"select e.embedding::real[] as "embedding!"
           from passages p join embeddings e on e.passage_id = p.id
           where p.record_id = $1 and e.model_id = $2"#,
        record.0,
        model.id
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}

/// Like [`nearest`], with a known placement.
pub async fn nearest_in(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
    placement: VectorPlacement,
    width: ScanWidth,
) -> Result<Vec<(PassageId, f32)>> {
    // Never empty: the index on model, project and source is used if the sources are given.
    let sources: Vec<&str> = filter.searched_sources().iter().map(|s| s.as_str()).collect();
    let kinds: Vec<&str> = filter.record_kinds.iter().map(|k| k.as_str()).collect();
    let statement = sqlx::query(AssertSqlSafe(nearest_sql(model, filter, placement)))
        .bind(filter.project.0)
        .bind(query)
        .bind(limit)
        .bind(sources)
        .bind(kinds)
        .bind(&filter.scope)
        .bind(&filter.tags)
        .bind(&filter.languages)
        .bind(filter.path_regex.as_deref().map(|regex| format!("^(?:{regex})$")))
        .bind(uuids(&filter.repositories));
    let planning = match placement {
        VectorPlacement::Hnsw | VectorPlacement::HnswOfMany => Planning::Hnsw(width),
        VectorPlacement::Flat => Planning::EachTime,
    };
    let found = statement.fetch_one(&mut *store.read_planned(planning).await?).await?;
    passages_and_similarities(&found)
}

fn passages_and_similarities(found: &PgRow) -> Result<Vec<(PassageId, f32)>> {
    let (ids, similarities): (Vec<uuid::Uuid>, Vec<f32>) = (found.try_get(0)?, found.try_get(1)?);
    Ok(ids.into_iter().map(PassageId).zip(similarities).collect())
}

/// Returns the nearest of these passages, best first.
pub async fn nearest_of(
    store: &Store,
    model: &Model,
    query: &[f32],
    passages: &[PassageId],
    limit: i64,
) -> Result<Vec<(PassageId, f32)>> {
    let mut passages: Vec<_> = passages.iter().map(|passage| passage.0).collect();
    // In the order of writing, neighbors are on the same pages.
    passages.sort_unstable();
    // The offset forces one look-up by key per passage; otherwise the planner would read all
    // vectors.
    let by_key = format!(
        "from unnest($1::uuid[]) as id
         cross join lateral (select e.passage_id, e.embedding from embeddings e
                             where e.model_id = {} and e.passage_id = id offset 0) as e",
        model.id
    );
    let found = sqlx::query(AssertSqlSafe(in_order("", &compared(model, &by_key))))
        .bind(passages)
        .bind(query)
        .bind(limit)
        .fetch_one(&mut *store.read().await?)
        .await?;
    passages_and_similarities(&found)
}

/// Returns those of `others` with a cosine similarity of at least `least` to a passage, by any
/// model that has both vectors.
pub async fn near_to(
    store: &Store,
    passage: PassageId,
    others: &[PassageId],
    least: f32,
) -> Result<Vec<PassageId>> {
    // One look-up by key per passage: the planner overestimates the vectors of a passage.
    let near = sqlx::query_scalar!(
        r#"select other as "other!" from unnest($2::uuid[]) as other
           where exists (select from embeddings e
                         join embeddings o on o.passage_id = other and o.model_id = e.model_id
                         where e.passage_id = $1 and 1 - (e.embedding <=> o.embedding) >= $3)"#,
        passage.0,
        &uuids(others),
        f64::from(least)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(near.into_iter().map(PassageId::from).collect())
}

/// Returns the statement for one model. Id and dimensions are part of the text, so that the planner
/// can use the model's own partial index.
fn nearest_sql(model: &Model, filter: &PassageFilter, placement: VectorPlacement) -> String {
    let repositories =
        if filter.repositories.is_empty() { "" } else { "and e.repository_id = any($10)" };
    let restriction = format!(
        "e.model_id = {} and e.project_id = $1 and e.source_kind = any($4) {repositories}",
        model.id
    );
    let is_counted = placement == VectorPlacement::Hnsw && !filter.is_plain();
    let (with, parts) = if is_counted || !filter.is_of_vectors() {
        filtered(model, &restriction, filter, placement)
    } else {
        (String::new(), of_vectors(model, &restriction, filter, placement))
    };
    in_order(&with, &parts)
}

/// Returns the statement for the best rows of all parts, as two arrays in one row: PostgreSQL and
/// this process take longer for 200 rows.
fn in_order(with: &str, parts: &str) -> String {
    // The sum forces a sort: PostgreSQL takes the index scan for sorted, which it is not in relaxed
    // order, and would merge the parts. The ids keep equal distances in one order.
    format!(
        "{with} select coalesce(array_agg(passage_id), '{{}}'), coalesce(array_agg(similarity),
             '{{}}')
         from (select passage_id, (1 - distance)::real as similarity from ({parts}) as found
               order by distance + 0, passage_id limit $3) as best"
    )
}

/// Returns the parts of a search that reads no passages.
fn of_vectors(
    model: &Model,
    restriction: &str,
    filter: &PassageFilter,
    placement: VectorPlacement,
) -> String {
    // Every parameter is bound, so the statement must use each one, with its type.
    let all = format!(
        "from embeddings e
         where {restriction} and $5::text[] is not null and $6::text[] is not null
           and $7::text[] is not null and $8::text[] is not null and $9::text is null
           and $10::uuid[] is not null"
    );
    match placement {
        // All vectors, including those that move into the index meanwhile.
        VectorPlacement::Flat => compared(model, &all),
        VectorPlacement::Hnsw | VectorPlacement::HnswOfMany => flat_and_hnsw(model, filter, &all),
    }
}

/// Returns the passages that pass the filter as a `with` clause, and the parts of the search.
fn filtered(
    model: &Model,
    restriction: &str,
    filter: &PassageFilter,
    placement: VectorPlacement,
) -> (String, String) {
    let passes = "(cardinality($5::text[]) = 0 or p.record_kind = any($5))
         and (cardinality($6::text[]) = 0 or p.scope && $6)
         and (cardinality($7::text[]) = 0 or p.tags && $7)
         and (cardinality($8::text[]) = 0 or p.language = any($8))
         and ($9::text is null or p.location ~ $9)
         and (cardinality($10::uuid[]) = 0 or p.repository_id = any($10))";
    let passing = format!(
        "select p.id from passages p
         where p.project_id = $1 and p.source_kind = any($4) and {passes}"
    );
    let each = format!(
        "from passing join embeddings e on e.passage_id = passing.id where e.model_id = {}",
        model.id
    );
    let many = format!(
        "from embeddings e join passages p on p.id = e.passage_id where {restriction} and {passes}"
    );
    match placement {
        VectorPlacement::Flat => {
            (format!("with passing as materialized ({passing})"), compared(model, &each))
        }
        VectorPlacement::Hnsw => {
            let with = format!(
                "with passing as materialized ({passing} limit {COMPARED_MAX} + 1),
                 few as materialized (select count(*) <= {COMPARED_MAX} as they_are from passing)"
            );
            let few = compared(model, &format!("{each} and (select they_are from few)"));
            let many = format!("{many} and not (select they_are from few)");
            let many = flat_and_hnsw(model, filter, &many);
            (with, format!("{few} union all {many}"))
        }
        VectorPlacement::HnswOfMany => (String::new(), flat_and_hnsw(model, filter, &many)),
    }
}

/// Returns a query for the nearest of the candidates, each compared. The offset keeps the planner
/// from sorting by anything but the computed distance. The sub-select reads the query parameter
/// once, not for each row.
fn compared(model: &Model, candidates: &str) -> String {
    let dim = model.dimensions;
    format!(
        "(select passage_id, distance from
              (select e.passage_id,
                      e.embedding::halfvec({dim}) <=> (select $2::real[]::halfvec({dim})) as
                          distance
               {candidates} offset 0) as compared
          order by distance, passage_id limit $3)"
    )
}

/// Returns a query for the nearest flat candidates and those in the HNSW indexes, in one snapshot,
/// because a vector may be moving.
fn flat_and_hnsw(model: &Model, filter: &PassageFilter, candidates: &str) -> String {
    let flat = compared(model, &format!("{candidates} and not e.in_hnsw"));
    let dim = model.dimensions;
    let distance = format!("e.embedding::halfvec({dim}) <=> $2::real[]::halfvec({dim})");
    let sources = filter.searched_sources();
    let of_commits = sources.contains(&SourceKind::Change).then_some("=");
    let of_others = sources.iter().any(|source| *source != SourceKind::Change).then_some("<>");
    // The condition of the partial index.
    let indexed = of_commits.into_iter().chain(of_others).map(|is_change| {
        format!(
            "union all
             (select e.passage_id, {distance} as distance {candidates} and e.in_hnsw
                and e.source_kind {is_change} 'change'
              order by {distance} limit $3)"
        )
    });
    format!("{flat} {}", indexed.collect::<Vec<_>>().join(" "))
}
