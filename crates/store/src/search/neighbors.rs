//! Chunks around those that a search found, in their files.

use mc_domain::{FileId, PassageId};

use crate::{Result, Store};

/// A neighboring chunk, and the requested chunk that it is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// Position of the requested chunk in the request.
    pub request_index: usize,
    /// The passage of the neighbor.
    pub passage: PassageId,
}

/// Returns the chunks before and after these chunks of files, up to `radius` positions away, in
/// the order of the request and of the file.
pub async fn adjacent(
    store: &Store,
    chunks: &[(FileId, i32)],
    radius: i32,
) -> Result<Vec<Neighbor>> {
    let files: Vec<_> = chunks.iter().map(|(file, _)| file.0).collect();
    let positions: Vec<_> = chunks.iter().map(|(_, position)| *position).collect();
    let rows = sqlx::query!(
        r#"select w.of as "of!", c.passage_id
           from unnest($1::uuid[], $2::int[]) with ordinality w (file_id, position, of)
           join code_chunks c on c.file_id = w.file_id
               and c.chunk_index between w.position - $3 and w.position + $3
               and c.chunk_index <> w.position
           order by w.of, c.chunk_index"#,
        &files,
        &positions,
        radius
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| neighbor(row.of, row.passage_id)).collect())
}

/// A chunk, and the definition that encloses it.
#[derive(Debug, Clone)]
pub struct EnclosedChunk {
    /// Its file.
    pub file: FileId,
    /// Its position in the file.
    pub position: i32,
    /// Qualified name of the enclosing definition.
    pub symbol: String,
    /// First line of the chunk.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
}

/// Returns the other chunks of the definitions that enclose these chunks, at most `limit` for each,
/// the nearest ones, in the order of the request and of the file.
pub async fn of_definitions(
    store: &Store,
    chunks: &[EnclosedChunk],
    limit: i64,
) -> Result<Vec<Neighbor>> {
    let files: Vec<_> = chunks.iter().map(|chunk| chunk.file.0).collect();
    let positions: Vec<_> = chunks.iter().map(|chunk| chunk.position).collect();
    let symbols: Vec<_> = chunks.iter().map(|chunk| chunk.symbol.clone()).collect();
    let starts: Vec<_> = chunks.iter().map(|chunk| chunk.line_start).collect();
    let ends: Vec<_> = chunks.iter().map(|chunk| chunk.line_end).collect();
    let rows = sqlx::query!(
        r#"select w.of as "of!", near.passage_id as "passage_id!"
           from unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::int[])
               with ordinality w (file_id, position, symbol, line_start, line_end, of)
           -- A file may define a name more than once: the definition that the chunk is in.
           cross join lateral (
               select min(s.line_start) as line_start, max(s.line_end) as line_end
               from code_symbols s
               where s.file_id = w.file_id and s.name = w.symbol
                   and s.line_start <= w.line_end and s.line_end >= w.line_start) definition
           cross join lateral (
               select c.passage_id, c.chunk_index from code_chunks c
               where c.file_id = w.file_id and c.chunk_index <> w.position
                   and c.line_start <= definition.line_end
                   and c.line_end >= definition.line_start
               order by abs(c.chunk_index - w.position) limit $6) near
           order by w.of, near.chunk_index"#,
        &files,
        &positions,
        &symbols,
        &starts,
        &ends,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| neighbor(row.of, row.passage_id)).collect())
}

/// Returns a neighbor of the chunk with this number, from 1.
fn neighbor(number: i64, passage: uuid::Uuid) -> Neighbor {
    let request_index = usize::try_from(number - 1).unwrap_or_default();
    Neighbor { request_index, passage: passage.into() }
}
