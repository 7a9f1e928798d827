//! Insertion of many passages. Triggers run once for each statement, so the passages of a document
//! are inserted in batches.

use mc_domain::{PassageId, ProjectId, RecordKind};
use serde::Serialize;
use sqlx::types::Json;
use uuid::Uuid;

use super::{NewPassage, PassageSource, columns};
use crate::row::bytea;
use crate::{Result, Tx};

/// Maximum number of passages in one statement, which then has at most some megabytes.
const BATCH_SIZE: usize = 256;

/// A new passage. The fields have the names of the columns.
#[derive(Debug, Serialize)]
pub(super) struct NewRow<'a> {
    id: Uuid,
    ordinal: i32,
    record_kind: &'static str,
    title: &'a str,
    location: &'a str,
    symbols: &'a [String],
    scope: &'a [String],
    tags: &'a [String],
    language: &'a str,
    author: &'a str,
    context: &'a str,
    text: &'a str,
    content_hash: String,
    line_start: Option<i32>,
    line_end: Option<i32>,
}

impl<'a> NewRow<'a> {
    pub(super) fn of(id: PassageId, ordinal: i32, passage: &'a NewPassage, hash: &[u8]) -> Self {
        Self {
            id: id.0,
            ordinal,
            record_kind: passage.record_kind.map_or("", RecordKind::as_str),
            title: passage.title.as_str(),
            location: passage.location.as_str(),
            symbols: &passage.symbols,
            scope: &passage.scope,
            tags: &passage.tags,
            language: &passage.language,
            author: passage.author.as_str(),
            context: passage.context.as_str(),
            text: passage.text.as_str(),
            content_hash: bytea(hash),
            line_start: passage.lines.map(|lines| lines.0),
            line_end: passage.lines.map(|lines| lines.1),
        }
    }
}

/// Inserts passages that everyone in the project may see.
pub(super) async fn insert_many(
    tx: &mut Tx,
    project: ProjectId,
    source: PassageSource,
    new: &[NewRow<'_>],
) -> Result<()> {
    let (record, dialog, doc, file) = columns(source);
    for batch in new.chunks(BATCH_SIZE) {
        tx.run(sqlx::query!(
            "insert into passages (id, project_id, record_id, dialog_id, doc_id, file_id, ordinal,
                 record_kind, title, location, symbols, scope, tags, language, author, context,
                 text, content_hash, line_start, line_end, repository_id)
             select id, $1, $2, $3, $4, $5, ordinal, record_kind, title, location, symbols, scope,
                 tags, language, author, context, text, content_hash, line_start, line_end,
                 (select mc.repository_of($4, $5))
             from jsonb_to_recordset($6) as new (
                 id uuid, ordinal int, record_kind text, title text, location text,
                 symbols text[], scope text[], tags text[], language text, author text,
                 context text, text text, content_hash bytea, line_start int, line_end int)",
            project.0,
            record,
            dialog,
            doc,
            file,
            Json(batch) as Json<&[NewRow<'_>]>
        ))
        .await?;
    }
    Ok(())
}
