//! Writes of a source's passages.

mod insert_many;

use std::collections::{HashMap, VecDeque};

use mc_domain::{DialogId, DocId, FileId, PassageId, ProjectId, RecordId, RecordKind, UserId};

use super::{NewPassage, content_hash};
use crate::{Result, Tx};
use insert_many::{NewRow, insert_many};

/// The row that a passage is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageSource {
    /// A memory record.
    Record(RecordId),
    /// A dialog, by its id.
    Dialog(DialogId),
    /// A document.
    Doc(DocId),
    /// A file of code.
    File(FileId),
}

/// Replaces the passages of a source. Those with the same text and location stay, with their
/// vectors; the others are deleted or inserted. Returns the ids in the given order, and how many
/// stayed.
pub async fn replace(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passages: &[NewPassage],
) -> Result<(Vec<PassageId>, usize)> {
    let mut existing = PassagesByHash::default();
    for old in of_source(tx, source).await? {
        existing.entry(old.content_hash.clone()).or_default().push_back(old);
    }
    let mut ids = Vec::with_capacity(passages.len());
    let mut new = Vec::new();
    for (ordinal, passage) in passages.iter().enumerate() {
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let hash = content_hash(passage);
        if let Some(old) = take_same(&mut existing, &hash, passage) {
            let is_in_place =
                old.ordinal == ordinal && old.line_start.zip(old.line_end) == passage.lines;
            if !(is_in_place && old.has_names_of(passage)) {
                update(tx, old.id, ordinal, passage).await?;
            }
            ids.push(old.id);
        } else {
            let id = PassageId::generate();
            new.push(NewRow::of(id, ordinal, passage, &hash));
            ids.push(id);
        }
    }
    insert_many(tx, project, source, &new).await?;
    let obsolete: Vec<_> = existing.values().flatten().map(|old| old.id.0).collect();
    if !obsolete.is_empty() {
        tx.run(sqlx::query!("delete from passages where id = any($1)", &obsolete)).await?;
    }
    Ok((ids, passages.len() - new.len()))
}

/// Existing passages by the hash of their text, in their order.
type PassagesByHash = HashMap<Vec<u8>, VecDeque<Existing>>;

/// Removes and returns the first existing passage with the same text, if possible one with the same
/// names.
fn take_same(existing: &mut PassagesByHash, hash: &[u8], passage: &NewPassage) -> Option<Existing> {
    let same_text = existing.get_mut(hash)?;
    let same = same_text.iter().position(|old| old.has_names_of(passage));
    same_text.remove(same.unwrap_or(0))
}

/// Updates the position of a passage in its source, and the fields that are not embedded.
async fn update(tx: &mut Tx, id: PassageId, ordinal: i32, passage: &NewPassage) -> Result<()> {
    tx.run(sqlx::query!(
        "with updated as (
             update passages set ordinal = $2, line_start = $3, line_end = $4, symbols = $5,
                 scope = $6, tags = $7, author = $8,
                 repository_id = mc.repository_of(doc_id, file_id)
             where id = $1
             returning id, repository_id)
         update embeddings e set repository_id = u.repository_id from updated u
         where e.passage_id = u.id and e.repository_id is distinct from u.repository_id",
        id.0,
        ordinal,
        passage.lines.map(|lines| lines.0),
        passage.lines.map(|lines| lines.1),
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.author.as_str()
    ))
    .await
}

/// Writes the only passage of a record or a dialog; an existing one keeps its id.
pub async fn put_only(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passage: &NewPassage,
) -> Result<PassageId> {
    put_only_for(tx, project, source, passage, None).await
}

/// Like [`put_only`], but a new passage is private to a user; an existing one keeps its audience.
pub async fn put_only_for(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    passage: &NewPassage,
    private_to: Option<UserId>,
) -> Result<PassageId> {
    let hash = content_hash(passage);
    let Some(old) = of_source(tx, source).await?.into_iter().next() else {
        return insert(tx, project, source, 0, passage, &hash, private_to).await;
    };
    tx.run(sqlx::query!(
        "update passages set record_kind = $2, title = $3, location = $4, symbols = $5, scope = $6,
             tags = $7, language = $8, author = $9, context = $10, text = $11, content_hash = $12,
             updated_at = now()
         where id = $1",
        old.id.0,
        passage.record_kind.map_or("", RecordKind::as_str),
        passage.title.as_str(),
        passage.location.as_str(),
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.language,
        passage.author.as_str(),
        passage.context.as_str(),
        passage.text.as_str(),
        hash
    ))
    .await?;
    Ok(old.id)
}

/// Deletes the passages of a source.
pub async fn remove(tx: &mut Tx, source: PassageSource) -> Result<()> {
    let (record, dialog, doc, file) = columns(source);
    tx.run(sqlx::query!(
        "delete from passages where record_id = $1 or dialog_id = $2 or doc_id = $3
             or file_id = $4",
        record,
        dialog,
        doc,
        file
    ))
    .await
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

impl Existing {
    /// Whether a passage with the same text has the same names, labels and author.
    fn has_names_of(&self, passage: &NewPassage) -> bool {
        self.symbols == passage.symbols
            && self.scope == passage.scope
            && self.tags == passage.tags
            && self.author == passage.author.as_str()
    }
}

async fn of_source(tx: &mut Tx, source: PassageSource) -> Result<Vec<Existing>> {
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
) -> Result<PassageId> {
    let id = PassageId::generate();
    let (record, dialog, doc, file) = columns(source);
    tx.run(sqlx::query!(
        "insert into passages (id, project_id, record_id, dialog_id, doc_id, file_id, ordinal,
             record_kind, title, location, symbols, scope, tags, language, author, context, text,
             content_hash, line_start, line_end, private_to, repository_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19, $20, $21, mc.repository_of($5, $6))",
        id.0,
        project.0,
        record,
        dialog,
        doc,
        file,
        ordinal,
        passage.record_kind.map_or("", RecordKind::as_str),
        passage.title.as_str(),
        passage.location.as_str(),
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.language,
        passage.author.as_str(),
        passage.context.as_str(),
        passage.text.as_str(),
        hash,
        passage.lines.map(|lines| lines.0),
        passage.lines.map(|lines| lines.1),
        private_to.map(|user| user.0)
    ))
    .await?;
    Ok(id)
}

type SourceColumns =
    (Option<uuid::Uuid>, Option<uuid::Uuid>, Option<uuid::Uuid>, Option<uuid::Uuid>);

/// Returns the foreign key of the source, in the order record, dialog, document, file.
fn columns(source: PassageSource) -> SourceColumns {
    match source {
        PassageSource::Record(id) => (Some(id.0), None, None, None),
        PassageSource::Dialog(id) => (None, Some(id.0), None, None),
        PassageSource::Doc(id) => (None, None, Some(id.0), None),
        PassageSource::File(id) => (None, None, None, Some(id.0)),
    }
}
