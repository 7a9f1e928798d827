//! Files of indexed repositories, with their chunks and definitions.

use std::collections::HashMap;

use mc_domain::{FileId, ProjectId, RepositoryId, Trust};

use crate::passages::{NewPassage, PassageSource};
use crate::repositories::Repository;
use crate::row::{read, uuids};
use crate::{Result, Store, Tx, passages};

/// The values of a stored file that decide whether it is indexed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Identifier.
    pub id: FileId,
    /// sha256 of its bytes.
    pub content_hash: Vec<u8>,
    /// Version of the chunker that made its chunks.
    pub chunker_version: i32,
    /// [`crate::policies::fingerprint`] of the policy that masked it.
    pub masking_fingerprint: i64,
}

/// A file to write.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Path within the repository, with `/`.
    pub path: String,
    /// sha256 of its bytes.
    pub content_hash: Vec<u8>,
    /// Size on disk.
    pub size_bytes: i64,
    /// Language as the indexer names it.
    pub language: String,
    /// Lines of text.
    pub line_count: i32,
    /// Version of the chunker that made its chunks.
    pub chunker_version: i32,
    /// [`crate::policies::fingerprint`] of the policy that masked it.
    pub masking_fingerprint: i64,
}

/// A chunk to write.
#[derive(Debug, Clone)]
pub struct NewChunk {
    /// The searchable passage of the chunk.
    pub passage: NewPassage,
    /// Trust level: [`Trust::Imported`] or [`Trust::Untrusted`].
    pub trust: Trust,
    /// Position in the file, from 0.
    pub chunk_index: i32,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Lines at the top that repeat the chunk before.
    pub overlap_lines: i32,
    /// sha256 of the normalized text.
    pub chunk_hash: Vec<u8>,
    /// sha256 of path, lines and text.
    pub span_hash: Vec<u8>,
    /// Short description.
    pub summary: String,
    /// Enclosing definition.
    pub parent_symbol: Option<String>,
}

/// A definition to write.
#[derive(Debug, Clone)]
pub struct NewSymbol {
    /// Qualified name.
    pub name: String,
    /// `function`, `class`, `method` and so on.
    pub kind: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// sha256 of its lines.
    pub span_hash: Vec<u8>,
}

/// How many chunks of a file are new, and how many stayed with their vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// New chunks.
    pub written: usize,
    /// Unchanged chunks.
    pub reused: usize,
}

/// Returns whether a repository has files.
pub async fn has_any(store: &Store, repository: RepositoryId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from files where repository_id = $1) as "has_any!""#,
        repository.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}

/// Returns the files of a repository, by path.
pub async fn known(store: &Store, repository: RepositoryId) -> Result<HashMap<String, KnownFile>> {
    let rows = sqlx::query!(
        "select path, id, content_hash, chunker_version, masking_fingerprint from files
             where repository_id = $1",
        repository.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let file = rows.into_iter().map(|row| {
        let known = read!(row => KnownFile {
            id: row.id.into(), content_hash, chunker_version, masking_fingerprint
        });
        Ok((row.path, known?))
    });
    file.collect()
}

/// Writes the row of a file that was read at this commit; an existing one keeps its id.
pub async fn put(
    tx: &mut Tx,
    repository: &Repository,
    file: &NewFile,
    source_ref: &str,
) -> Result<FileId> {
    let id = sqlx::query_scalar!(
        "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, language,
             line_count, chunker_version, masking_fingerprint, source_ref)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (repository_id, path) do update set
             content_hash = excluded.content_hash, size_bytes = excluded.size_bytes,
             language = excluded.language, line_count = excluded.line_count,
             chunker_version = excluded.chunker_version,
             masking_fingerprint = excluded.masking_fingerprint, source_ref = excluded.source_ref,
             updated_at = now()
         returning id",
        FileId::generate().0,
        repository.id.0,
        repository.project_id.0,
        file.path,
        file.content_hash,
        file.size_bytes,
        file.language,
        file.line_count,
        file.chunker_version,
        file.masking_fingerprint,
        source_ref
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(id.into())
}

/// Replaces the chunks and definitions of a file.
pub async fn put_code(
    tx: &mut Tx,
    repository: &Repository,
    file: FileId,
    chunks: &[NewChunk],
    symbols: &[NewSymbol],
) -> Result<Written> {
    let project: ProjectId = repository.project_id;
    let new: Vec<NewPassage> = chunks.iter().map(|c| c.passage.clone()).collect();
    let (ids, reused) = passages::replace(tx, project, PassageSource::File(file), &new).await?;
    for (chunk, id) in chunks.iter().zip(&ids) {
        tx.run(sqlx::query!(
            "insert into code_chunks (passage_id, project_id, repository_id, file_id, chunk_index,
                 line_start, line_end, overlap_lines, chunk_hash, span_hash, summary,
                 parent_symbol, trust)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             on conflict (passage_id) do update set
                 chunk_index = excluded.chunk_index, line_start = excluded.line_start,
                 line_end = excluded.line_end, overlap_lines = excluded.overlap_lines,
                 span_hash = excluded.span_hash, summary = excluded.summary,
                 parent_symbol = excluded.parent_symbol, trust = excluded.trust",
            id.0,
            project.0,
            repository.id.0,
            file.0,
            chunk.chunk_index,
            chunk.line_start,
            chunk.line_end,
            chunk.overlap_lines,
            chunk.chunk_hash,
            chunk.span_hash,
            chunk.summary,
            chunk.parent_symbol,
            chunk.trust.as_str()
        ))
        .await?;
    }
    put_symbols(tx, project, file, symbols).await?;
    Ok(Written { written: ids.len() - reused, reused })
}

async fn put_symbols(
    tx: &mut Tx,
    project: ProjectId,
    file: FileId,
    symbols: &[NewSymbol],
) -> Result<()> {
    tx.run(sqlx::query!("delete from code_symbols where file_id = $1", file.0)).await?;
    let names: Vec<_> = symbols.iter().map(|s| s.name.clone()).collect();
    let kinds: Vec<_> = symbols.iter().map(|s| s.kind.clone()).collect();
    let starts: Vec<_> = symbols.iter().map(|s| s.line_start).collect();
    let ends: Vec<_> = symbols.iter().map(|s| s.line_end).collect();
    let hashes: Vec<_> = symbols.iter().map(|s| s.span_hash.clone()).collect();
    tx.run(sqlx::query!(
        "insert into code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)
         select $1, $2, s.* from unnest($3::text[], $4::text[], $5::int[], $6::int[], $7::bytea[]) s
         on conflict do nothing",
        file.0,
        project.0,
        &names,
        &kinds,
        &starts,
        &ends,
        &hashes
    ))
    .await
}

/// A definition of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Id of the file.
    pub file: FileId,
    /// Qualified name.
    pub name: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
}

/// Returns the definitions of these names in these files, by line; a file may define a name more
/// than once.
pub async fn definitions(store: &Store, wanted: &[(FileId, &str)]) -> Result<Vec<Definition>> {
    let files: Vec<_> = wanted.iter().map(|(file, _)| file.0).collect();
    let names: Vec<_> = wanted.iter().map(|(_, name)| (*name).to_owned()).collect();
    let rows = sqlx::query!(
        "select s.file_id, s.name, s.line_start, s.line_end from code_symbols s
         join (select distinct * from unnest($1::uuid[], $2::text[]) w (file_id, name)) w
             on s.file_id = w.file_id and s.name = w.name
         order by s.file_id, s.line_start",
        &files,
        &names
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Definition { file: row.file_id.into(), name, line_start, line_end })
}

/// Returns the first of `paths` that is an indexed file of the project, or else the first that is a
/// directory of one.
pub async fn first_indexed(
    store: &Store,
    project: ProjectId,
    paths: &[String],
) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!(
        r#"with given as (select * from unnest($2::text[]) with ordinality as t (path, place))
           select g.path as "path!" from given g
           cross join lateral (
               select 0 as rank where exists (
                   select from files f where f.project_id = $1 and f.path = g.path)
               union all
               select 1 where exists (
                   select from files f where f.project_id = $1
                       and starts_with(f.path, g.path || '/'))
           ) found
           order by found.rank, g.place limit 1"#,
        project.0,
        paths
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}

/// Deletes files with their passages, chunks and definitions.
pub async fn delete(tx: &mut Tx, files: &[FileId]) -> Result<()> {
    tx.run(sqlx::query!("delete from files where id = any($1)", &uuids(files))).await
}
