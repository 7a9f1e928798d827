//! Candidates: live records that a new text may duplicate.

use mc_domain::{ProjectId, RecordId, RecordKind, Trust, UserId, Visibility};
use sqlx::{AssertSqlSafe, FromRow, raw_sql};
use uuid::Uuid;

use crate::error::word;
use crate::rls::Planning;
use crate::vectors::{Model, ScanWidth, VectorPlacement};
use crate::{Error, Result, Tx};

/// A live record that a new text may duplicate.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Identifier.
    pub id: RecordId,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Whether its text may be trusted.
    pub trust: Trust,
    /// Text of the record.
    pub content: String,
    /// sha256 of the normalized content.
    pub content_hash: Vec<u8>,
    /// Cosine similarity of the vectors; `None` if one of the texts has no vector.
    pub similarity: Option<f32>,
}

/// The values of a new text that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint<'a> {
    /// sha256 of the normalized content.
    pub content_hash: &'a [u8],
    /// 64-bit simhash of the content.
    pub simhash: u64,
    /// The text's vector of the model passed to [`candidates`]. If one text has no vector, none is
    /// compared.
    pub vector: Option<&'a [f32]>,
}

/// How near a record must be to be a candidate.
#[derive(Debug, Clone, Copy)]
pub struct Nearness {
    /// Largest number of bits by which the simhash may differ.
    pub max_distance: u32,
    /// Most candidates by simhash, and most by vector.
    pub limit: i64,
}

/// Number of a project's newest records whose fingerprints are compared, which takes about 5 ms.
/// Duplicates of older records are found by vector.
const FINGERPRINTS_MAX: i64 = 10_000;

/// Returns, for each text, the live records of the team (or one user's private ones) that it may
/// duplicate: those with the same hash, the nearest by simhash, and the nearest by vector if all
/// texts have one. Expired records with the same hash count, because
/// `memory_records_live_content_key` still includes them. `model` comes with the placement of the
/// project's vectors. Call it in a transaction of
/// [`Store::begin_with_memory_lock`](crate::Store::begin_with_memory_lock).
pub async fn candidates(
    tx: &mut Tx,
    project: ProjectId,
    private_to: Option<UserId>,
    model: Option<(&Model, VectorPlacement)>,
    texts: &[Fingerprint<'_>],
    nearness: Nearness,
) -> Result<Vec<Vec<Candidate>>> {
    let visibility = if private_to.is_some() { Visibility::Private } else { Visibility::Team };
    let hashes: Vec<_> = texts.iter().map(|text| text.content_hash.to_vec()).collect();
    let simhashes: Vec<_> = texts.iter().map(|text| text.simhash.cast_signed()).collect();
    let vectors: Option<Vec<&[f32]>> = texts.iter().map(|text| text.vector).collect();
    let compared_vectors = model.zip(vectors);
    let (model, dimensions) =
        compared_vectors.as_ref().map_or((None, 0), |((m, _), _)| (Some(m.id), m.dimensions));
    let is_in_graph =
        compared_vectors.as_ref().is_some_and(|((_, extent), _)| *extent != VectorPlacement::Flat);
    // One array, since arrays of arrays can't be unnested by one level.
    let numbers = compared_vectors.map(|(_, vectors)| vectors.concat());
    if is_in_graph {
        raw_sql(Planning::Hnsw(ScanWidth::Wide).within()).execute(&mut *tx.0).await?;
    }
    let kinds: Vec<_> = RecordKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let statement =
        sqlx::query_as(AssertSqlSafe(candidates_sql(is_in_graph.then_some(dimensions))))
            .bind(project.0)
            .bind(hashes)
            .bind(simhashes)
            .bind(i64::from(nearness.max_distance))
            .bind(model)
            .bind(numbers)
            .bind(nearness.limit)
            .bind(visibility.as_str())
            .bind(private_to.map(|user| user.0))
            .bind(i64::from(dimensions))
            .bind(kinds);
    let rows: Vec<Row> = statement.fetch_all(&mut *tx.0).await?;
    if is_in_graph {
        raw_sql(Planning::Once.within()).execute(&mut *tx.0).await?;
    }
    let mut found: Vec<Vec<Candidate>> = texts.iter().map(|_| Vec::new()).collect();
    for row in rows {
        #[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more")]
        let similarity = row.similarity.map(|s| s as f32);
        let candidate = Candidate {
            id: row.id.into(),
            kind: word(&row.kind)?,
            trust: word(&row.trust)?,
            content: row.content,
            content_hash: row.content_hash,
            similarity,
        };
        let candidates = usize::try_from(row.n - 1).ok().and_then(|at| found.get_mut(at));
        candidates
            .ok_or_else(|| Error::UnknownStoredValue("a candidate without its text".into()))?
            .push(candidate);
    }
    Ok(found)
}

#[derive(FromRow)]
struct Row {
    n: i64,
    id: Uuid,
    kind: String,
    trust: String,
    content: String,
    content_hash: Vec<u8>,
    similarity: Option<f64>,
}

/// Returns the statement; `in_hnsw` has the vectors' dimensions if some of them are in the
/// project's HNSW index.
fn candidates_sql(in_hnsw: Option<i32>) -> String {
    let compared = |condition| {
        format!(
            "(select passage_id from
                 (select passage_id, embedding <=> asked.vector as distance
                  from embeddings
                  where model_id = $5 and project_id = $1 and source_kind = 'memory' {condition}
                    and private_to is not distinct from $9
                  offset 0) as vectors
              order by distance limit $7)"
        )
    };
    let near = match in_hnsw {
        None => compared(""),
        // Private vectors are in no HNSW index.
        Some(dimensions) => format!(
            "{}
             union all
             (select passage_id from embeddings
              where model_id = $5 and project_id = $1 and source_kind = 'memory' and in_hnsw
                and $9::uuid is null
              order by embedding::halfvec({dimensions}) <=> asked.vector::halfvec({dimensions})
              limit $7)",
            compared("and not in_hnsw")
        ),
    };
    // Fingerprints are read from an index alone and vectors from their own table; only the few
    // chosen rows are read as records. A cached plan made while the tables were small would read
    // all of a project if an index on fewer columns existed. So equal hashes are looked up by kind
    // too, the first column of their index, and the chosen rows' vectors by passage alone (hence `+
    // 0`).
    format!(
        "with asked as materialized (
             select n, hash, simhash,
                    ($6::real[])[(n - 1) * $10 + 1 : n * $10]::halfvec as vector
             from unnest($2::bytea[], $3::bigint[]) with ordinality as asked (hash, simhash, n))
         select asked.n, r.id, r.kind, r.trust, r.content, r.content_hash,
                (select 1 - (e.embedding <=> asked.vector)
                 from passages p join embeddings e on e.passage_id = p.id and e.model_id + 0 = $5
                 where p.record_id = r.id) as similarity
         from asked
         cross join lateral (
             select id from memory_records
             where project_id = $1 and state in ('active', 'stale') and content_hash = asked.hash
               and kind = any($11) and visibility = $8 and private_to is not distinct from $9
             union
             (select id from
                 (select id, bit_count((simhash # asked.simhash)::bit(64)) as bits
                     from memory_records
                  where project_id = $1 and state in ('active', 'stale')
                    and visibility = $8 and private_to is not distinct from $9
                  order by id desc limit {FINGERPRINTS_MAX}) as fingerprints
              where bits <= $4 order by bits limit $7)
             union
             select p.record_id from ({near}) as near
             join passages p on p.id = near.passage_id) as chosen
         cross join lateral (select * from memory_records where id = chosen.id offset 0) as r
         where r.state in ('active', 'stale') and (r.ttl > now() or r.content_hash = asked.hash)"
    )
}
