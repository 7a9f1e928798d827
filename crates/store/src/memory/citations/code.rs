//! The indexed code that citations are checked against.

use mc_domain::ProjectId;

use crate::{Result, Store};

/// A definition in the indexed code.
#[derive(Debug, Clone)]
pub struct SymbolSpan {
    /// Path of its file.
    pub path: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// sha256 of its lines.
    pub span_hash: Vec<u8>,
}

/// Returns the definitions of a qualified name, at most 100, because every script may have its own
/// `main`. Those in the file `path` come first, then those with the hash `content_hash`.
pub async fn symbol_spans(
    store: &Store,
    project: ProjectId,
    name: &str,
    path: &str,
    content_hash: Option<&[u8]>,
) -> Result<Vec<SymbolSpan>> {
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

/// Returns whether the project has a repository and each of its repositories was indexed at least
/// once.
pub async fn is_indexed(store: &Store, project: ProjectId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(bool_and(indexed_at is not null), false) as "is_indexed!"
           from repositories where project_id = $1"#,
        project.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}

/// Returns the lines of a path, reassembled from its chunks: one entry for each repository of the
/// project that has the path, the last changed first.
pub async fn file_lines(store: &Store, project: ProjectId, path: &str) -> Result<Vec<Vec<String>>> {
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

/// A file reassembled from its chunks.
struct Joined {
    id: uuid::Uuid,
    lines: Vec<String>,
    /// Number of the last line so far.
    last_line: Option<i32>,
}

impl Joined {
    /// Appends a chunk without its overlap. A chunk that starts on the last line of the one before
    /// continues that line, which was too long for one chunk.
    fn add(&mut self, text: &str, line_start: Option<i32>, overlap: i32) {
        let overlap = usize::try_from(overlap).unwrap_or(0);
        match self.lines.last_mut() {
            Some(line) if overlap == 0 && line_start == self.last_line => line.push_str(text),
            _ => self.lines.extend(text.split('\n').skip(overlap).map(str::to_owned)),
        }
    }
}

/// Returns at most `limit` paths that contain `stem`, in any case, or are in `directory`; those
/// with `stem` first.
pub async fn paths_like(
    store: &Store,
    project: ProjectId,
    directory: &str,
    stem: &str,
    limit: i64,
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select path from files
         where project_id = $1
             and (position(lower($3) in lower(path)) > 0 or ($2 <> ''
                 and starts_with(path, $2 || '/')))
         order by position(lower($3) in lower(path)) > 0 desc, length(path), path limit $4",
        project.0,
        directory,
        stem,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Returns at most `limit` pairs of a qualified name and a file that defines it. The name contains
/// `part`, in any case, or the file is `path`; definitions in `path` come first.
pub async fn symbols_like(
    store: &Store,
    project: ProjectId,
    part: &str,
    path: &str,
    limit: i64,
) -> Result<Vec<(String, String)>> {
    let rows = sqlx::query!(
        "select s.name, f.path
         from code_symbols s join files f on f.id = s.file_id
         where s.project_id = $1 and (position(lower($2) in lower(s.name)) > 0 or f.path = $3)
         group by s.name, f.path order by f.path = $3 desc, length(s.name), s.name, f.path
             limit $4",
        project.0,
        part,
        path,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.name, row.path)).collect())
}
