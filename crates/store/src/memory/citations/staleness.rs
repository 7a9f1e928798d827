//! Staleness of records, derived from the verdicts of their citations.

use mc_domain::{ProjectId, RecordId};

use crate::repositories::Repository;
use crate::row::uuids;
use crate::{Result, Store, Tx};

/// Sets live records to stale or active by the verdicts of their citations: one drifted or orphaned
/// citation makes a record stale, only fresh ones make it active; unchecked ones leave it as it is.
/// The caller has locked the records ([`records::lock`](crate::records::lock)). Returns the records
/// that changed, with whether they are stale.
pub async fn derive_states(tx: &mut Tx, records: &[RecordId]) -> Result<Vec<(RecordId, bool)>> {
    let changed = sqlx::query!(
        r#"update memory_records r set state = case when v.bad then 'stale' else 'active' end
           from (select record_id, bool_or(verdict in ('drifted', 'orphaned')) as bad,
                        bool_and(verdict = 'fresh') as fresh
                 from record_citations where record_id = any($1) group by record_id) v
           where r.id = v.record_id
             and r.state = case when v.bad then 'active' else 'stale' end and (v.bad or v.fresh)
           returning r.id, r.state = 'stale' as "stale!""#,
        &uuids(records)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(changed.into_iter().map(|row| (row.id.into(), row.stale)).collect())
}

/// Derives the state of a record from its current citations alone, after its citations were
/// restored: the citation that had made it stale may be gone. The caller has locked the record
/// ([`records::lock`](crate::records::lock)).
pub async fn update_staleness(tx: &mut Tx, record: RecordId) -> Result<()> {
    tx.run(sqlx::query!(
        "update memory_records set state = 'active' where id = $1 and state = 'stale'",
        record.0
    ))
    .await?;
    derive_states(tx, &[record]).await?;
    Ok(())
}

/// Clears the hashes of a file's fresh citations, so that the next check takes them from the text
/// that is about to be written. Its bytes are those of the last check; only masking or chunking
/// changed.
pub async fn reset_content_hashes(tx: &mut Tx, repository: &Repository, path: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "update record_citations c set content_hash = null from files f
         where f.repository_id = $1 and f.path = $2
             and c.project_id = f.project_id and c.file_path = f.path
             and c.verdict = 'fresh' and c.checked_at > f.updated_at
             and not exists (select from files o
                             where o.project_id = f.project_id and o.path = f.path
                                 and o.id <> f.id)",
        repository.id.0,
        path
    ))
    .await
}

/// Returns live records of the project that have citations, after an id, oldest first.
pub async fn citing(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<RecordId>> {
    let ids = sqlx::query_scalar!(
        "select r.id from memory_records r
         where r.project_id = $1 and r.state in ('active', 'stale') and r.id > $2
             and exists (select from record_citations c where c.record_id = r.id)
         order by r.id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(ids.into_iter().map(RecordId::from).collect())
}

/// Returns live records of the project that cite one of these files, or a symbol defined in one of
/// them.
pub async fn records_citing(
    store: &Store,
    project: ProjectId,
    paths: &[String],
) -> Result<Vec<RecordId>> {
    let ids = sqlx::query_scalar!(
        r#"select r.id from memory_records r
           where r.state in ('active', 'stale') and r.id in (
               select c.record_id from record_citations c
               where c.project_id = $1 and c.file_path = any($2)
               union
               select c.record_id
               from files f
               join code_symbols s on s.file_id = f.id
               join record_citations c on c.project_id = $1 and c.symbol = s.name
               where f.project_id = $1 and f.path = any($2))"#,
        project.0,
        paths
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(ids.into_iter().map(RecordId::from).collect())
}
