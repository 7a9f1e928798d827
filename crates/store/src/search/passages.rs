//! Passages: the one shape that search sees, whatever a text came from.

use chrono::{DateTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, DocId, FileId, PassageId, ProjectId, RecordId, RecordKind, RecordState,
    RepositoryId, SourceKind, Trust, UserId,
};
use mc_sanitizer::Sanitized;
use sha2::{Digest, Sha256};

use crate::error::word;
use crate::records::Record;
use crate::{Error, Store, Tx};

/// Which passages a search may return. Empty lists stand for "any".
#[derive(Debug, Clone)]
pub struct PassageFilter {
    /// The project; there is no search across projects.
    pub project: ProjectId,
    /// What the passages were cut from; "any" are those of [`SourceKind::SEARCHED`].
    pub sources: Vec<SourceKind>,
    /// Kinds of memory record.
    pub record_kinds: Vec<RecordKind>,
    /// At least one of these scopes.
    pub scope: Vec<String>,
    /// At least one of these tags.
    pub tags: Vec<String>,
    /// Languages as the indexer names them (`rust`, `ruby`).
    pub languages: Vec<String>,
    /// Regular expression over the whole place, in the dialect that PostgreSQL's `~` and the
    /// keyword index share.
    pub path_regex: Option<String>,
}

impl PassageFilter {
    /// Everything in a project.
    pub fn project(project: ProjectId) -> Self {
        Self {
            project,
            sources: Vec::new(),
            record_kinds: Vec::new(),
            scope: Vec::new(),
            tags: Vec::new(),
            languages: Vec::new(),
            path_regex: None,
        }
    }

    /// What the passages were cut from; never empty.
    pub fn searched_sources(&self) -> &[SourceKind] {
        match self.sources.as_slice() {
            [] => SourceKind::SEARCHED,
            asked => asked,
        }
    }

    /// Whether the project and the kind of source are all that is asked of a passage.
    pub fn is_plain(&self) -> bool {
        self.record_kinds.is_empty()
            && self.scope.is_empty()
            && self.tags.is_empty()
            && self.languages.is_empty()
            && self.path_regex.is_none()
    }
}

/// What the keyword index keeps of a passage.
#[derive(Debug, Clone)]
pub struct IndexedPassage {
    /// Identifier.
    pub id: PassageId,
    /// Project.
    pub project: ProjectId,
    /// Who alone may find it; `None` for everybody in the project.
    pub private_to: Option<UserId>,
    /// What it was cut from.
    pub source: SourceKind,
    /// The record's kind; empty for anything but memory.
    pub record_kind: String,
    /// Record title, heading path or enclosing symbol.
    pub title: String,
    /// File path or URL; of a commit its name, where it is loaded for showing.
    pub location: String,
    /// Qualified names defined in it.
    pub symbols: Vec<String>,
    /// Scopes.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Language.
    pub language: String,
    /// Who said or wrote it; may be empty.
    pub author: String,
    /// What stood before it in a conversation; may be empty.
    pub context: String,
    /// The text.
    pub text: String,
}

/// A passage with what its source adds, as results show it.
#[derive(Debug, Clone)]
pub struct Passage {
    /// What the keyword index keeps of it.
    pub indexed: IndexedPassage,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Set for memory.
    pub record: Option<RecordFacet>,
    /// Set for code.
    pub code: Option<CodeFacet>,
    /// Set for documents.
    pub doc: Option<DocFacet>,
    /// Set for dialogs.
    pub dialog: Option<DialogId>,
    /// Set for commits of a history.
    pub commit: Option<CommitFacet>,
}

impl Passage {
    /// A record that has no passage, since no search is to find it, in the shape of one. Its number is that of the record:
    /// no passage has it.
    pub fn unsearched(record: Record) -> Self {
        let facet = RecordFacet {
            id: record.id,
            kind: record.kind,
            state: record.state,
            trust: record.access.trust,
            source: None,
            ttl: record.ttl,
            recall_count: record.recall_count,
            use_count: record.use_count,
            open_count: 0,
            cite_count: 0,
            pull_request_count: 0,
            skip_count: 0,
            version: record.version,
            last_used_at: None,
            created_at: record.created_at,
            updated_at: record.updated_at,
            meta: record.meta,
            cites: true,
            ci_status: record.ci_status,
            whole_chars: None,
        };
        Self {
            indexed: IndexedPassage {
                id: PassageId(record.id.0),
                project: record.project,
                private_to: record.access.private_to,
                source: SourceKind::Memory,
                record_kind: record.kind.as_str().to_owned(),
                title: record.title,
                location: String::new(),
                symbols: Vec::new(),
                scope: record.scope,
                tags: record.tags,
                language: String::new(),
                author: String::new(),
                context: String::new(),
                text: record.content,
            },
            updated_at: record.updated_at,
            record: Some(facet),
            code: None,
            doc: None,
            dialog: None,
            commit: None,
        }
    }
}

/// A memory record as ranking needs it.
#[derive(Debug, Clone)]
pub struct RecordFacet {
    /// Identifier.
    pub id: RecordId,
    /// Kind.
    pub kind: RecordKind,
    /// Active or stale; others are never loaded.
    pub state: RecordState,
    /// Who vouches for it.
    pub trust: Trust,
    /// What it was taken from, by the save that made it what it is; `None` for what people just said.
    pub source: Option<String>,
    /// When it expires.
    pub ttl: DateTime<Utc>,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// How often it was opened after a recall.
    pub open_count: i32,
    /// How often a save that followed a recall cited it.
    pub cite_count: i32,
    /// How often a change that was merged after a recall touched what it cites.
    pub pull_request_count: i32,
    /// Recalls of which it is known what was used, and this was not.
    pub skip_count: i32,
    /// How often it was changed, from 1.
    pub version: i32,
    /// When it was last known to be of use.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// What was saved beside the content (`steps`, `patch_ref`, `url`, `patch_sha`).
    pub meta: serde_json::Value,
    /// Whether it cites code.
    pub cites: bool,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// How many characters the text has of which it is the statement; it stands in a document behind the record.
    pub whole_chars: Option<usize>,
}

/// A chunk of code as results show it.
#[derive(Debug, Clone)]
pub struct CodeFacet {
    /// File.
    pub file_id: FileId,
    /// Who vouches for it.
    pub trust: Trust,
    /// Repository.
    pub repository_id: RepositoryId,
    /// Position in the file, from 0.
    pub chunk_index: i32,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Lines at the top that repeat the chunk before.
    pub overlap_lines: i32,
    /// sha256 of the normalised text, in hex.
    pub chunk_hash: String,
    /// sha256 of path, lines and text, in hex.
    pub span_hash: String,
    /// Short description.
    pub summary: String,
    /// Enclosing definition.
    pub parent_symbol: Option<String>,
    /// Commit it was read at.
    pub source_ref: String,
}

/// A document as results show it.
#[derive(Debug, Clone)]
pub struct DocFacet {
    /// Identifier.
    pub id: DocId,
    /// Who vouches for it.
    pub trust: Trust,
    /// Title of the whole document.
    pub title: String,
    /// Where people read it; may be empty.
    pub url: String,
    /// Where it came from.
    pub source: String,
    /// First and last line of the passage, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
}

/// A commit as results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacet {
    /// Full object name, in hex.
    pub sha: String,
    /// Who vouches for it.
    pub trust: Trust,
}

/// What a passage was cut from, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageSource {
    /// A memory record.
    Record(RecordId),
    /// A dialog.
    Dialog(DialogId),
    /// A document.
    Doc(DocId),
    /// A file of code.
    File(FileId),
}

/// A passage to write.
#[derive(Debug, Clone, Default)]
pub struct NewPassage {
    /// Kind of memory record; `None` for anything else.
    pub record_kind: Option<RecordKind>,
    /// Record title, heading path or enclosing symbol.
    pub title: String,
    /// File path or URL.
    pub location: String,
    /// Qualified names defined in it.
    pub symbols: Vec<String>,
    /// Scopes.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Language.
    pub language: String,
    /// Who said or wrote it; may be empty.
    pub author: String,
    /// What it can't be understood without: for a message, when it was and what was said before it.
    pub context: Sanitized,
    /// The text.
    pub text: Sanitized,
    /// First and last line in its document, from 1, inclusive; `None` for anything else, code among
    /// it ([`NewChunk`](crate::files::NewChunk) has its lines).
    pub lines: Option<(i32, i32)>,
}

/// The text that stands for a passage in front of an embedding model: where it is, what it is
/// called, what it says. Of a message, what was said before tells more of where it is than its
/// address does. A record is about more than the file that it cites, so its place says nothing here,
/// and its steps come last. A title that the text begins with says nothing besides, and would be half
/// of a short note's time in the model.
pub fn embedding_text(
    source: SourceKind,
    title: &str,
    place: &str,
    context: &str,
    text: &str,
) -> String {
    let title = if text.starts_with(title.trim_end_matches('…')) { "" } else { title };
    let parts = match source {
        SourceKind::Memory => [title, text, context],
        _ if context.is_empty() => [place, title, text],
        _ => [title, context, text],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

impl NewPassage {
    /// Its [`embedding_text`].
    pub fn embedding_text(&self) -> String {
        let source = self.record_kind.map_or(SourceKind::Doc, |_| SourceKind::Memory);
        embedding_text(
            source,
            &self.title,
            &self.location,
            self.context.as_str(),
            self.text.as_str(),
        )
    }
}

pub(crate) fn content_hash(passage: &NewPassage) -> Vec<u8> {
    Sha256::digest(passage.embedding_text()).to_vec()
}

/// What the keyword index needs of these passages; those that are gone are left out.
pub async fn indexed(store: &Store, ids: &[PassageId]) -> Result<Vec<IndexedPassage>, Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select id, project_id, private_to, source_kind as "source_kind!", record_kind, title, location, symbols,
                  scope, tags, language, author, context, text
           from passages where id = any($1)"#,
        &ids
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|r| {
            Ok(IndexedPassage {
                id: r.id.into(),
                project: r.project_id.into(),
                private_to: r.private_to.map(UserId),
                source: word(&r.source_kind)?,
                record_kind: r.record_kind,
                title: r.title,
                location: r.location,
                symbols: r.symbols,
                scope: r.scope,
                tags: r.tags,
                language: r.language,
                author: r.author,
                context: r.context,
                text: r.text,
            })
        })
        .collect()
}

/// At most `limit` ids of passages of all projects after an id, in order.
pub async fn ids_after(
    store: &Store,
    after: Option<PassageId>,
    limit: i64,
) -> Result<Vec<PassageId>, Error> {
    let ids = sqlx::query_scalar!(
        "select id from passages where id > $1 order by id limit $2",
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(ids.into_iter().map(PassageId::from).collect())
}

/// At most `limit` passages of all projects after an id, in id order, for building a new index.
pub async fn indexed_after(
    store: &Store,
    after: Option<PassageId>,
    limit: i64,
) -> Result<Vec<IndexedPassage>, Error> {
    let ids = ids_after(store, after, limit).await?;
    let mut passages = indexed(store, &ids).await?;
    passages.sort_by_key(|p| p.id);
    Ok(passages)
}

/// Loads passages of one project for showing. Those that are gone, expired, superseded or of
/// another project are left out; the order is not that of `ids`.
#[expect(clippy::too_many_lines, reason = "one statement and its columns")]
pub async fn load(
    store: &Store,
    project: ProjectId,
    ids: &[PassageId],
) -> Result<Vec<Passage>, Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select p.id as "id!", p.project_id as "project_id!", p.private_to, p.source_kind as "source_kind!",
                  p.record_kind as "record_kind!", p.title as "title!", coalesce(h.sha, p.location) as "place!",
                  p.symbols as "symbols!", p.scope as "scope!", p.tags as "tags!", p.language as "language!",
                  p.author as "author!", p.context as "context!", p.text as "text!", p.updated_at as "updated_at!",
                  p.dialog_id, p.line_start as first_line, p.line_end as last_line,
                  r.id as "record_id?", r.kind as "kind?", r.state as "state?", r.ttl as "ttl?",
                  r.trust as "trust?", r.recall_count as "hits?", r.use_count as "used?", r.open_count as "opened?",
                  r.cite_count as "cited?", r.pull_request_count as "merged?", r.skip_count as "passed_over?", r.version as "version?", r.last_used_at,
                  r.created_at as "record_created?", r.updated_at as "record_updated?",
                  r.meta as "meta?",
                  case when r.patch_sha is not null then mc.patch_ci_status(r.project_id, r.patch_sha) end as ci,
                  exists(select from record_citations m where m.record_id = r.id) as "cites!",
                  (select length(w.content) from docs w where w.record_id = r.id
                   order by w.id desc limit 1) as whole_chars,
                  (select s.source from record_contributions s
                   where s.record_id = r.id and s.version = r.version
                   order by s.id limit 1) as "record_source?",
                  c.file_id as "file_id?", c.trust as "code_trust?", c.repository_id as "repository_id?",
                  c.chunk_index as "chunk_index?", c.line_start as "line_start?",
                  c.line_end as "line_end?", c.overlap_lines as "overlap_lines?",
                  c.chunk_hash as "chunk_hash?", c.span_hash as "span_hash?",
                  c.summary as "summary?", c.parent_symbol, c.source_ref as "source_ref?",
                  d.id as "doc_id?", d.title as "doc_title?", d.url as "doc_url?",
                  d.source as "doc_source?", coalesce(b.trust, d.trust) as "doc_trust?",
                  h.sha as "sha?", h.trust as "commit_trust?"
           from passages p
           left join memory_records r on r.id = p.record_id
           left join code_chunks c on c.passage_id = p.id
           left join docs d on d.id = p.doc_id
           -- The record that the document stands behind.
           left join memory_records b on b.id = d.record_id
           left join history_commits h on h.id = p.commit_id
           where p.id = any($1) and p.project_id = $2
             and (r.id is null or (r.state in ('active', 'stale') and r.ttl > now()))
             and (d.record_id is null
                  or (b.state in ('active', 'stale') and b.ttl > now() and b.visibility <> 'proposed'))"#,
        &ids,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|r| {
            let record = match (r.record_id, r.kind, r.state.zip(r.trust), r.ttl) {
                (Some(id), Some(kind), Some((state, trust)), Some(ttl)) => Some(RecordFacet {
                    id: id.into(),
                    kind: word(&kind)?,
                    state: word(&state)?,
                    trust: word(&trust)?,
                    source: r.record_source.filter(|source| !source.is_empty()),
                    ttl,
                    recall_count: r.hits.unwrap_or_default(),
                    use_count: r.used.unwrap_or_default(),
                    open_count: r.opened.unwrap_or_default(),
                    cite_count: r.cited.unwrap_or_default(),
                    pull_request_count: r.merged.unwrap_or_default(),
                    skip_count: r.passed_over.unwrap_or_default(),
                    version: r.version.unwrap_or(1),
                    last_used_at: r.last_used_at,
                    created_at: r.record_created.unwrap_or(r.updated_at),
                    updated_at: r.record_updated.unwrap_or(r.updated_at),
                    meta: r.meta.unwrap_or_default(),
                    cites: r.cites,
                    ci_status: r.ci.as_deref().map(word).transpose()?,
                    whole_chars: r.whole_chars.and_then(|chars| usize::try_from(chars).ok()),
                }),
                _ => None,
            };
            let code = match (r.file_id, r.repository_id, r.code_trust) {
                (Some(file), Some(repository), Some(trust)) => Some(CodeFacet {
                    file_id: file.into(),
                    trust: word(&trust)?,
                    repository_id: repository.into(),
                    chunk_index: r.chunk_index.unwrap_or_default(),
                    line_start: r.line_start.unwrap_or(1),
                    line_end: r.line_end.unwrap_or(1),
                    overlap_lines: r.overlap_lines.unwrap_or_default(),
                    chunk_hash: hex::encode(r.chunk_hash.unwrap_or_default()),
                    span_hash: hex::encode(r.span_hash.unwrap_or_default()),
                    summary: r.summary.unwrap_or_default(),
                    parent_symbol: r.parent_symbol,
                    source_ref: r.source_ref.unwrap_or_default(),
                }),
                _ => None,
            };
            let doc = match r.doc_id.zip(r.doc_trust) {
                Some((id, trust)) => Some(DocFacet {
                    id: id.into(),
                    trust: word(&trust)?,
                    title: r.doc_title.unwrap_or_default(),
                    url: r.doc_url.unwrap_or_default(),
                    source: r.doc_source.unwrap_or_default(),
                    lines: r.first_line.zip(r.last_line),
                }),
                None => None,
            };
            Ok(Passage {
                indexed: IndexedPassage {
                    id: r.id.into(),
                    project: r.project_id.into(),
                    private_to: r.private_to.map(UserId),
                    source: word(&r.source_kind)?,
                    record_kind: r.record_kind,
                    title: r.title,
                    location: r.place,
                    symbols: r.symbols,
                    scope: r.scope,
                    tags: r.tags,
                    language: r.language,
                    author: r.author,
                    context: r.context,
                    text: r.text,
                },
                updated_at: r.updated_at,
                record,
                code,
                doc,
                dialog: r.dialog_id.map(DialogId::from),
                commit: match r.sha.zip(r.commit_trust) {
                    Some((sha, trust)) => Some(CommitFacet { sha, trust: word(&trust)? }),
                    None => None,
                },
            })
        })
        .collect()
}

/// Makes `passages` all that a source has: existing ones with the same text, place and names are
/// kept (with their vectors), the rest is deleted or added. Answers the ids in the order given,
/// and how many were kept.
pub async fn replace(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passages: &[NewPassage],
) -> Result<(Vec<PassageId>, usize), Error> {
    let mut existing = of_source(tx, source).await?;
    let mut ids = Vec::with_capacity(passages.len());
    let mut kept = 0;
    for (ordinal, passage) in passages.iter().enumerate() {
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let hash = content_hash(passage);
        let same = existing.iter().position(|e| {
            e.content_hash == hash
                && e.symbols == passage.symbols
                && e.scope == passage.scope
                && e.tags == passage.tags
                && e.author == passage.author
        });
        if let Some(at) = same {
            let old = existing.swap_remove(at);
            if old.ordinal != ordinal || old.line_start.zip(old.line_end) != passage.lines {
                move_to(tx, old.id, ordinal, passage.lines).await?;
            }
            kept += 1;
            ids.push(old.id);
        } else {
            ids.push(insert(tx, project, source, ordinal, passage, &hash, None).await?);
        }
    }
    let gone: Vec<_> = existing.iter().map(|e| e.id.0).collect();
    if !gone.is_empty() {
        sqlx::query!("delete from passages where id = any($1)", &gone).execute(&mut *tx.0).await?;
    }
    Ok((ids, kept))
}

/// Notes where in its source a passage stands now.
async fn move_to(
    tx: &mut Tx,
    id: PassageId,
    ordinal: i32,
    lines: Option<(i32, i32)>,
) -> Result<(), Error> {
    sqlx::query!(
        "update passages set ordinal = $2, line_start = $3, line_end = $4 where id = $1",
        id.0,
        ordinal,
        lines.map(|lines| lines.0),
        lines.map(|lines| lines.1)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Writes the one passage of a record or a dialog, keeping its id across changes.
pub async fn put_only(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passage: &NewPassage,
) -> Result<PassageId, Error> {
    put_only_for(tx, project, source, passage, None).await
}

/// The same for one reader alone, where it is new; one that is there keeps its readers.
pub async fn put_only_for(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passage: &NewPassage,
    private_to: Option<UserId>,
) -> Result<PassageId, Error> {
    let hash = content_hash(passage);
    let Some(old) = of_source(tx, source).await?.into_iter().next() else {
        return insert(tx, project, source, 0, passage, &hash, private_to).await;
    };
    sqlx::query!(
        "update passages set record_kind = $2, title = $3, location = $4, symbols = $5, scope = $6,
             tags = $7, language = $8, author = $9, context = $10, text = $11, content_hash = $12,
             updated_at = now()
         where id = $1",
        old.id.0,
        passage.record_kind.map_or("", RecordKind::as_str),
        passage.title,
        passage.location,
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.language,
        passage.author,
        passage.context.as_str(),
        passage.text.as_str(),
        hash
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(old.id)
}

/// Takes everything of a source out of search.
pub async fn remove(tx: &mut Tx, source: PassageSource) -> Result<(), Error> {
    let (record, dialog, doc, file) = columns(source);
    sqlx::query!(
        "delete from passages where record_id = $1 or dialog_id = $2 or doc_id = $3 or file_id = $4",
        record,
        dialog,
        doc,
        file
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

struct Existing {
    id: PassageId,
    ordinal: i32,
    line_start: Option<i32>,
    line_end: Option<i32>,
    content_hash: Vec<u8>,
    symbols: Vec<String>,
    scope: Vec<String>,
    tags: Vec<String>,
    author: String,
}

async fn of_source(tx: &mut Tx, source: PassageSource) -> Result<Vec<Existing>, Error> {
    let (record, dialog, doc, file) = columns(source);
    let rows = sqlx::query_as!(
        Existing,
        "select id, ordinal, line_start, line_end, content_hash, symbols, scope, tags, author
         from passages
         where record_id = $1 or dialog_id = $2 or doc_id = $3 or file_id = $4
         order by ordinal",
        record,
        dialog,
        doc,
        file
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(rows)
}

async fn insert(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    ordinal: i32,
    passage: &NewPassage,
    hash: &[u8],
    private_to: Option<UserId>,
) -> Result<PassageId, Error> {
    let id = PassageId::generate();
    let (record, dialog, doc, file) = columns(source);
    sqlx::query!(
        "insert into passages (id, project_id, record_id, dialog_id, doc_id, file_id, ordinal,
             record_kind, title, location, symbols, scope, tags, language, author, context, text,
             content_hash, line_start, line_end, private_to)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19, $20, $21)",
        id.0,
        project.0,
        record,
        dialog,
        doc,
        file,
        ordinal,
        passage.record_kind.map_or("", RecordKind::as_str),
        passage.title,
        passage.location,
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.language,
        passage.author,
        passage.context.as_str(),
        passage.text.as_str(),
        hash,
        passage.lines.map(|lines| lines.0),
        passage.lines.map(|lines| lines.1),
        private_to.map(|user| user.0)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(id)
}

type SourceColumns =
    (Option<uuid::Uuid>, Option<uuid::Uuid>, Option<uuid::Uuid>, Option<uuid::Uuid>);

/// The one foreign key that is set, in the order record, dialog, document, file.
fn columns(source: PassageSource) -> SourceColumns {
    match source {
        PassageSource::Record(id) => (Some(id.0), None, None, None),
        PassageSource::Dialog(id) => (None, Some(id.0), None, None),
        PassageSource::Doc(id) => (None, None, Some(id.0), None),
        PassageSource::File(id) => (None, None, None, Some(id.0)),
    }
}
