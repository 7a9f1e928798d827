//! The places in the code that records cite, and the indexed code to hold them against.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use mc_domain::{CitationId, CitationVerdict, ProjectId, RecordId};

use crate::error::word;
use crate::repositories::Repository;
use crate::{Error, Store, Tx};

/// A citation as stored.
#[derive(Debug, Clone)]
pub struct Citation {
    /// Identifier.
    pub id: CitationId,
    /// The record that cites.
    pub record: RecordId,
    /// Path within the repository.
    pub file_path: String,
    /// Qualified name of a definition.
    pub symbol: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit at which it was true.
    pub commit: Option<String>,
    /// sha256 of the cited lines; `None` until the file has been seen.
    pub content_hash: Option<Vec<u8>>,
    /// Last verdict.
    pub verdict: CitationVerdict,
    /// When that was found; `None` for just now.
    pub checked_at: Option<DateTime<Utc>>,
    /// Whether code that it is about may have changed since that verdict.
    pub outdated: bool,
}

/// A definition in the indexed code.
#[derive(Debug, Clone)]
pub struct SymbolSpan {
    /// File it stands in.
    pub path: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// sha256 of its lines.
    pub span_hash: Vec<u8>,
}

/// Makes `citations` all that the record cites (their `id` and `record` are given anew).
pub async fn replace(
    tx: &mut Tx,
    project: ProjectId,
    record: RecordId,
    citations: &[Citation],
) -> Result<(), Error> {
    sqlx::query!("delete from record_citations where record_id = $1", record.0)
        .execute(&mut *tx.0)
        .await?;
    add(tx, project, record, citations).await
}

/// Adds what a record cites (their `id` and `record` are given anew).
pub async fn add(
    tx: &mut Tx,
    project: ProjectId,
    record: RecordId,
    citations: &[Citation],
) -> Result<(), Error> {
    for citation in citations {
        sqlx::query!(
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
        )
        .execute(&mut *tx.0)
        .await?;
    }
    Ok(())
}

/// Whether a record cites anything else than `citations`: other places, or another text there. Their order is
/// no difference, and neither is the commit at which the same text was seen.
pub(crate) async fn differ(
    tx: &mut Tx,
    record: RecordId,
    citations: &[Citation],
) -> Result<bool, Error> {
    let known = of_record_in(tx, record).await?;
    let now: BTreeSet<_> = known.iter().map(place_and_text).collect();
    let then: BTreeSet<_> = citations.iter().map(place_and_text).collect();
    Ok(now != then)
}

/// What two citations are compared by.
fn place_and_text(citation: &Citation) -> impl Ord {
    // A definition is found by its name, on whichever lines it stands.
    let lines = citation.lines.filter(|_| citation.symbol.is_none());
    (&citation.file_path, &citation.symbol, lines, &citation.content_hash)
}

/// What a record cited in an earlier version, with the verdicts of that time.
pub async fn of_version(
    tx: &mut Tx,
    record: RecordId,
    version: i32,
) -> Result<Vec<Citation>, Error> {
    let cited = fetch_of_versions(&mut *tx.0, record, Some(version)).await?;
    Ok(cited.into_iter().map(|(_, citation)| citation).collect())
}

/// What a record cited in each of its earlier versions, with the verdicts of those times.
pub async fn of_versions(store: &Store, record: RecordId) -> Result<Vec<(i32, Citation)>, Error> {
    fetch_of_versions(&mut *store.read().await?, record, None).await
}

async fn fetch_of_versions(
    executor: impl sqlx::PgExecutor<'_>,
    record: RecordId,
    version: Option<i32>,
) -> Result<Vec<(i32, Citation)>, Error> {
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
    rows.into_iter()
        .map(|row| {
            let cited = Row {
                id: row.id,
                record_id: row.record_id,
                file_path: row.file_path,
                symbol: row.symbol,
                line_start: row.line_start,
                line_end: row.line_end,
                commit_sha: row.commit_sha,
                content_hash: row.content_hash,
                verdict: row.verdict,
                checked_at: row.checked_at,
                outdated: false,
            };
            Ok((row.version, cited.into_citation()?))
        })
        .collect()
}

/// Has the fresh citations of a file take their text from what is about to be written: its bytes are those
/// that they were held against, only how they are masked or cut is not. The check that follows does it.
pub async fn reset_content_hashes(
    tx: &mut Tx,
    repository: &Repository,
    path: &str,
) -> Result<(), Error> {
    sqlx::query!(
        "update record_citations c set content_hash = null from files f
         where f.repository_id = $1 and f.path = $2
             and c.project_id = f.project_id and c.file_path = f.path
             and c.verdict = 'fresh' and c.checked_at > f.updated_at
             and not exists (select from files o
                             where o.project_id = f.project_id and o.path = f.path and o.id <> f.id)",
        repository.id.0,
        path
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes what a check found: place, hash and verdict of the citation.
pub async fn record_check(tx: &mut Tx, citation: &Citation) -> Result<(), Error> {
    sqlx::query!(
        "update record_citations set file_path = $2, line_start = $3, line_end = $4,
             content_hash = $5, verdict = $6, checked_at = now() where id = $1",
        citation.id.0,
        citation.file_path,
        citation.lines.map(|l| l.0),
        citation.lines.map(|l| l.1),
        citation.content_hash,
        citation.verdict.as_str()
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// What these records cite.
pub async fn of_records(store: &Store, records: &[RecordId]) -> Result<Vec<Citation>, Error> {
    fetch(&mut *store.read().await?, records).await
}

/// What a record cites, as the transaction sees it.
pub async fn of_record_in(tx: &mut Tx, record: RecordId) -> Result<Vec<Citation>, Error> {
    fetch(&mut *tx.0, &[record]).await
}

async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    records: &[RecordId],
) -> Result<Vec<Citation>, Error> {
    let ids: Vec<_> = records.iter().map(|id| id.0).collect();
    // A file bears the time at which the transaction of its change began, and a check may have
    // read the file before that ended: hence the ten minutes.
    let rows = sqlx::query_as!(
        Row,
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
        &ids
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(Row::into_citation).collect()
}

/// Sets live records, held with [`records::lock`](crate::records::lock), stale or active by the verdicts of what they cite: one that is bad makes a
/// record stale, all fresh make it active, and what is unchecked decides nothing. Answers those
/// that turned, with whether they are stale now.
pub async fn derive_states(
    tx: &mut Tx,
    records: &[RecordId],
) -> Result<Vec<(RecordId, bool)>, Error> {
    let ids: Vec<_> = records.iter().map(|id| id.0).collect();
    let turned = sqlx::query!(
        r#"update memory_records r set state = case when v.bad then 'stale' else 'active' end
           from (select record_id, bool_or(verdict in ('drifted', 'orphaned')) as bad,
                        bool_and(verdict = 'fresh') as fresh
                 from record_citations where record_id = any($1) group by record_id) v
           where r.id = v.record_id
             and r.state = case when v.bad then 'active' else 'stale' end and (v.bad or v.fresh)
           returning r.id, r.state = 'stale' as "stale!""#,
        &ids
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(turned.into_iter().map(|row| (row.id.into(), row.stale)).collect())
}

/// Sets a live record, held with [`records::lock`](crate::records::lock), stale or active by what it cites
/// now that this was put back, and by nothing else: what had made it stale may be cited no longer.
pub async fn update_staleness(tx: &mut Tx, record: RecordId) -> Result<(), Error> {
    sqlx::query!(
        "update memory_records set state = 'active' where id = $1 and state = 'stale'",
        record.0
    )
    .execute(&mut *tx.0)
    .await?;
    derive_states(tx, &[record]).await?;
    Ok(())
}

/// Live records of the project that cite something, after an id, oldest first.
pub async fn citing(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<RecordId>, Error> {
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

/// Live records of the project that cite one of these files, or a symbol that is defined in one of
/// them.
pub async fn records_citing(
    store: &Store,
    project: ProjectId,
    paths: &[String],
) -> Result<Vec<RecordId>, Error> {
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

/// The indexed texts of a path, line by line, as their chunks give them back: one for each of the
/// project's repositories that has it, the one that changed last first.
pub async fn file_lines(
    store: &Store,
    project: ProjectId,
    path: &str,
) -> Result<Vec<Vec<String>>, Error> {
    let rows = sqlx::query!(
        r#"select f.id as "file_id!", c.line_start as "line_start?", c.line_end as "line_end?",
                  c.overlap_lines as "overlap_lines?", p.text as "text?", d.content as "content?"
           from files f
           left join code_chunks c on c.file_id = f.id
           left join passages p on p.id = c.passage_id
           left join docs d on d.file_id = f.id
           where f.project_id = $1 and f.path = $2
           order by f.updated_at desc, f.id, c.chunk_index"#,
        project.0,
        path
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let mut files: Vec<Joined> = Vec::new();
    for row in rows {
        if files.last().is_none_or(|file| file.id != row.file_id) {
            files.push(Joined { id: row.file_id, lines: Vec::new(), last_line: None });
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(content) = row.content {
            file.lines.extend(content.split('\n').map(str::to_owned));
        } else if let Some(text) = row.text {
            file.add(&text, row.line_start, row.overlap_lines.unwrap_or(0));
            file.last_line = row.line_end;
        }
    }
    Ok(files.into_iter().map(|file| file.lines).collect())
}

/// A file that is put together from its chunks.
struct Joined {
    id: uuid::Uuid,
    lines: Vec<String>,
    /// The number of the last line so far.
    last_line: Option<i32>,
}

impl Joined {
    /// Adds a chunk without the lines that the one before has as well. One that opens on the line
    /// on which the one before ended goes on with that line, which was too long for one chunk.
    fn add(&mut self, text: &str, line_start: Option<i32>, overlap: i32) {
        let overlap = usize::try_from(overlap).unwrap_or(0);
        match self.lines.last_mut() {
            Some(line) if overlap == 0 && line_start == self.last_line => line.push_str(text),
            _ => self.lines.extend(text.split('\n').skip(overlap).map(str::to_owned)),
        }
    }
}

/// Where the project defines a qualified name: at most 100 places, those in the file `path` first,
/// then those whose text has the hash `content_hash`. Every script may have its own `main`.
pub async fn symbol_spans(
    store: &Store,
    project: ProjectId,
    name: &str,
    path: &str,
    content_hash: Option<&[u8]>,
) -> Result<Vec<SymbolSpan>, Error> {
    Ok(sqlx::query_as!(
        SymbolSpan,
        "select f.path, s.line_start, s.line_end, s.span_hash
         from code_symbols s join files f on f.id = s.file_id
         where s.project_id = $1 and s.name = $2
         order by f.path = $3 desc, coalesce(s.span_hash = $4, false) desc, f.path, s.line_start
         limit 100",
        project.0,
        name,
        path,
        content_hash
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Whether the project's code is indexed: it has a repository, and each was read whole at least once.
pub async fn is_indexed(store: &Store, project: ProjectId) -> Result<bool, Error> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(bool_and(indexed_at is not null), false) as "is_indexed!"
           from repositories where project_id = $1"#,
        project.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}

/// Paths of the project that hold the beginning of a file's name, in any case, or stand in a folder; at most `limit`,
/// those of that name first.
pub async fn paths_like(
    store: &Store,
    project: ProjectId,
    folder: &str,
    stem: &str,
    limit: i64,
) -> Result<Vec<String>, Error> {
    Ok(sqlx::query_scalar!(
        "select path from files
         where project_id = $1
             and (position(lower($3) in lower(path)) > 0 or ($2 <> '' and starts_with(path, $2 || '/')))
         order by position(lower($3) in lower(path)) > 0 desc, length(path), path limit $4",
        project.0,
        folder,
        stem,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Qualified names that the project defines which hold `part`, in any case, or stand in the file `path`, each with every
/// file that defines it; at most `limit`, those of the file first.
pub async fn symbols_like(
    store: &Store,
    project: ProjectId,
    part: &str,
    path: &str,
    limit: i64,
) -> Result<Vec<(String, String)>, Error> {
    let rows = sqlx::query!(
        "select s.name, f.path
         from code_symbols s join files f on f.id = s.file_id
         where s.project_id = $1 and (position(lower($2) in lower(s.name)) > 0 or f.path = $3)
         group by s.name, f.path order by f.path = $3 desc, length(s.name), s.name, f.path limit $4",
        project.0,
        part,
        path,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.name, row.path)).collect())
}

struct Row {
    id: uuid::Uuid,
    record_id: uuid::Uuid,
    file_path: String,
    symbol: Option<String>,
    line_start: Option<i32>,
    line_end: Option<i32>,
    commit_sha: Option<String>,
    content_hash: Option<Vec<u8>>,
    verdict: String,
    checked_at: DateTime<Utc>,
    outdated: bool,
}

impl Row {
    fn into_citation(self) -> Result<Citation, Error> {
        Ok(Citation {
            id: self.id.into(),
            record: self.record_id.into(),
            file_path: self.file_path,
            symbol: self.symbol,
            lines: self.line_start.zip(self.line_end),
            commit: self.commit_sha,
            content_hash: self.content_hash,
            verdict: word(&self.verdict)?,
            checked_at: Some(self.checked_at),
            outdated: self.outdated,
        })
    }
}
