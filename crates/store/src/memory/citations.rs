//! Citations: locations in the code that records are about, and the code to check them against.

mod code;
mod staleness;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use mc_domain::{CitationId, CitationVerdict, ProjectId, RecordId};

use crate::error::word;
use crate::row::{read, uuids};
use crate::{Result, Store, Tx};

pub use code::{SymbolSpan, file_lines, is_indexed, paths_like, symbol_spans, symbols_like};
pub use staleness::{
    citing, derive_states, records_citing, reset_content_hashes, update_staleness,
};

/// A citation as stored.
#[derive(Debug, Clone)]
pub struct Citation {
    /// Identifier.
    pub id: CitationId,
    /// The citing record.
    pub record: RecordId,
    /// Path within the repository.
    pub file_path: String,
    /// Qualified name of a definition.
    pub symbol: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit at which the record's statement was true.
    pub commit: Option<String>,
    /// sha256 of the cited lines; `None` until the file is indexed.
    pub content_hash: Option<Vec<u8>>,
    /// The last verdict.
    pub verdict: CitationVerdict,
    /// Time of the verdict; `None` means now.
    pub checked_at: Option<DateTime<Utc>>,
    /// Whether the cited code may have changed since the verdict.
    pub outdated: bool,
}

/// Replaces the citations of a record. The `id` and `record` of `citations` are ignored.
pub async fn replace(
    tx: &mut Tx,
    project: ProjectId,
    record: RecordId,
    citations: &[Citation],
) -> Result<()> {
    tx.run(sqlx::query!("delete from record_citations where record_id = $1", record.0)).await?;
    add(tx, project, record, citations).await
}

/// Adds citations to a record. Their `id` and `record` are ignored.
pub async fn add(
    tx: &mut Tx,
    project: ProjectId,
    record: RecordId,
    citations: &[Citation],
) -> Result<()> {
    for citation in citations {
        tx.run(sqlx::query!(
            "insert into record_citations (id, record_id, project_id, file_path, symbol, line_start,
                 line_end, commit_sha, content_hash, verdict, checked_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11::timestamptz, now()))",
            CitationId::generate().0,
            record.0,
            project.0,
            citation.file_path,
            citation.symbol,
            citation.lines.map(|l| l.0),
            citation.lines.map(|l| l.1),
            citation.commit,
            citation.content_hash,
            citation.verdict.as_str(),
            citation.checked_at
        ))
        .await?;
    }
    Ok(())
}

/// Returns whether a record's citations differ from `citations` in location or text. Order and
/// commit don't matter.
pub(crate) async fn differ(tx: &mut Tx, record: RecordId, citations: &[Citation]) -> Result<bool> {
    let known = of_record_in(tx, record).await?;
    let now: BTreeSet<_> = known.iter().map(place_and_text).collect();
    let then: BTreeSet<_> = citations.iter().map(place_and_text).collect();
    Ok(now != then)
}

/// The key by which two citations are compared.
fn place_and_text(citation: &Citation) -> impl Ord {
    // A definition is identified by its name; its lines may move.
    let lines = citation.lines.filter(|_| citation.symbol.is_none());
    (&citation.file_path, &citation.symbol, lines, &citation.content_hash)
}

/// Returns the citations of an earlier version of a record, with the verdicts of that time.
pub async fn of_version(tx: &mut Tx, record: RecordId, version: i32) -> Result<Vec<Citation>> {
    let cited = fetch_of_versions(&mut *tx.0, record, Some(version)).await?;
    Ok(cited.into_iter().map(|(_, citation)| citation).collect())
}

/// Returns the citations of all earlier versions of a record, with the verdicts of those times.
pub async fn of_versions(store: &Store, record: RecordId) -> Result<Vec<(i32, Citation)>> {
    fetch_of_versions(&mut *store.read().await?, record, None).await
}

async fn fetch_of_versions(
    executor: impl sqlx::PgExecutor<'_>,
    record: RecordId,
    version: Option<i32>,
) -> Result<Vec<(i32, Citation)>> {
    let rows = sqlx::query!(
        r#"select v.version as "version!", c.id as "id!", v.record_id as "record_id!",
                  c.file_path as "file_path!", c.symbol as "symbol?", c.line_start as "line_start?",
                  c.line_end as "line_end?", c.commit_sha as "commit_sha?",
                  c.content_hash as "content_hash?", c.verdict as "verdict!",
                  c.checked_at as "checked_at!"
           from record_versions v
           cross join lateral jsonb_populate_recordset(null::record_citations, v.citations) as c
           where v.record_id = $1 and ($2::int is null or v.version = $2)
           order by v.version, c.id"#,
        record.0,
        version
    )
    .fetch_all(executor)
    .await?;
    let cited = rows.into_iter().map(|row| {
        let citation = read!(row => Citation {
            id: row.id.into(), record: row.record_id.into(), file_path, symbol,
            lines: row.line_start.zip(row.line_end), commit: row.commit_sha, content_hash,
            verdict: word(&row.verdict)?, checked_at: Some(row.checked_at), outdated: false
        });
        Ok((row.version, citation?))
    });
    cited.collect()
}

/// Stores the result of a check: location, hash and verdict of the citation.
pub async fn record_check(tx: &mut Tx, citation: &Citation) -> Result<()> {
    tx.run(sqlx::query!(
        "update record_citations set file_path = $2, line_start = $3, line_end = $4,
             content_hash = $5, verdict = $6, checked_at = now() where id = $1",
        citation.id.0,
        citation.file_path,
        citation.lines.map(|l| l.0),
        citation.lines.map(|l| l.1),
        citation.content_hash,
        citation.verdict.as_str()
    ))
    .await
}

/// Returns the stored citations of these records, with their last verdicts.
pub async fn of_records(store: &Store, records: &[RecordId]) -> Result<Vec<Citation>> {
    fetch(&mut *store.read().await?, records).await
}

/// Returns the citations of a record within the transaction.
pub async fn of_record_in(tx: &mut Tx, record: RecordId) -> Result<Vec<Citation>> {
    fetch(&mut *tx.0, &[record]).await
}

async fn fetch(executor: impl sqlx::PgExecutor<'_>, records: &[RecordId]) -> Result<Vec<Citation>> {
    // A file's `updated_at` is the start of the transaction that changed it, and a check may have
    // read the file before that transaction committed: hence the ten minutes.
    let rows = sqlx::query!(
        r#"select c.id, c.record_id, c.file_path, c.symbol, c.line_start, c.line_end, c.commit_sha,
                  c.content_hash, c.verdict, c.checked_at,
                  (exists (select 1 from files f
                           where f.project_id = c.project_id and f.path = c.file_path
                             and f.updated_at > c.checked_at - interval '10 minutes')
                   or exists (select 1 from code_symbols s join files f on f.id = s.file_id
                              where s.project_id = c.project_id and s.name = c.symbol
                                and f.updated_at > c.checked_at - interval '10 minutes')
                   or (c.verdict <> 'orphaned'
                       and not exists (select 1 from files f
                                       where f.project_id = c.project_id and f.path = c.file_path))
                   or (c.verdict <> 'orphaned' and c.symbol is not null
                       and not exists (select 1 from code_symbols s
                                       where s.project_id = c.project_id and s.name = c.symbol))
                  ) as "outdated!"
           from record_citations c where c.record_id = any($1) order by c.record_id, c.id"#,
        &uuids(records)
    )
    .fetch_all(executor)
    .await?;
    read!(each row in rows => Citation {
        id: row.id.into(), record: row.record_id.into(), file_path, symbol,
        lines: row.line_start.zip(row.line_end), commit: row.commit_sha, content_hash,
        verdict: word(&row.verdict)?, checked_at: Some(row.checked_at), outdated
    })
}
