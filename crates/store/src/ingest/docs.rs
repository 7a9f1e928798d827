//! Documents: ADRs, wiki pages, Markdown files of indexed repositories.

mod of_record;
mod read;

use chrono::{DateTime, Utc};
use mc_domain::{DocId, FileId, ProjectId, QuarantineItemId, Trust, UserId};
use mc_sanitizer::Sanitized;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::passages::{NewPassage, PassageSource};
use crate::{Result, Tx, Upserted, passages};

pub use of_record::{assign_to_record, id_for_record, newest_of_records, transfer_superseded};
pub use read::{by_id, by_title, by_url, list, titles_like};

/// A document as stored.
#[derive(Debug, Clone)]
pub struct Doc {
    /// Identifier.
    pub id: DocId,
    /// Source (`confluence`, `repo:owner/name`).
    pub source: String,
    /// Id at the source.
    pub doc_id: String,
    /// Title at the source, masked.
    pub title: String,
    /// URL for people; may be empty.
    pub url: String,
    /// The whole text.
    pub content: String,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Trust level.
    pub trust: Trust,
    /// Last change here.
    pub updated_at: DateTime<Utc>,
}

/// The data of a message that the text of its document does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSpan {
    /// Author; may be empty.
    pub author: String,
    /// Time of sending.
    pub sent_at: Option<DateTime<Utc>>,
    /// Number of lines of the text.
    pub lines: usize,
}

/// A document to write.
#[derive(Debug, Clone)]
pub struct NewDoc {
    /// The indexed file, if the document is one.
    pub file: Option<FileId>,
    /// The author; the transaction's principal if absent.
    pub saved_by: Option<UserId>,
    /// Trust level: [`Trust::Imported`] or [`Trust::Untrusted`].
    pub trust: Trust,
    /// Source (`confluence`, `repo:owner/name`).
    pub source: String,
    /// Id at the source.
    pub doc_id: String,
    /// Title at the source.
    pub title: Sanitized,
    /// URL for people; may be empty.
    pub url: Sanitized,
    /// The whole text.
    pub content: Sanitized,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
}

/// Writes a document and replaces its passages.
pub async fn upsert(
    tx: &mut Tx,
    project: ProjectId,
    doc: &NewDoc,
    passages: &[NewPassage],
) -> Result<(DocId, Upserted)> {
    let row = sqlx::query!(
        r#"insert into docs (id, project_id, file_id, source, doc_id, title, url, content, scope,
               tags,
               saved_by, trust)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
           on conflict (project_id, source, doc_id) do update set
               file_id = excluded.file_id, title = excluded.title, url = excluded.url,
               content = excluded.content, scope = excluded.scope, tags = excluded.tags,
               saved_by = excluded.saved_by, trust = excluded.trust, message_spans = null,
                   updated_at = now(),
               sent_at = now()
           where (docs.file_id, docs.title, docs.url, docs.content, docs.scope, docs.tags,
               docs.trust)
               is distinct from (excluded.file_id, excluded.title, excluded.url, excluded.content,
                                 excluded.scope, excluded.tags, excluded.trust)
           returning id, (xmax = 0) as "inserted!""#,
        DocId::generate().0,
        project.0,
        doc.file.map(|f| f.0),
        doc.source,
        doc.doc_id,
        doc.title.as_str(),
        doc.url.as_str(),
        doc.content.as_str(),
        &doc.scope,
        &doc.tags,
        doc.saved_by.or(tx.principal()).map(|user| user.0),
        doc.trust.as_str()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let (id, outcome) = match row {
        Some(row) if row.inserted => (row.id, Upserted::Created),
        Some(row) => (row.id, Upserted::Updated),
        None => {
            let id = sqlx::query_scalar!(
                "update docs set sent_at = now()
                 where project_id = $1 and source = $2 and doc_id = $3 returning id",
                project.0,
                doc.source,
                doc.doc_id
            )
            .fetch_one(&mut *tx.0)
            .await?;
            (id, Upserted::Unchanged)
        }
    };
    // Also for an unchanged document: a newer chunker may cut it differently.
    passages::replace(tx, project, PassageSource::Doc(id.into()), passages).await?;
    Ok((id.into(), outcome))
}

/// Stores the messages of the text that was just written, oldest first, so that it can be cut
/// again.
pub async fn set_message_spans(tx: &mut Tx, id: DocId, spans: &[MessageSpan]) -> Result<()> {
    tx.run(sqlx::query!("update docs set message_spans = $2 where id = $1", id.0, json!(spans)))
        .await
}

/// Deletes a document with its passages; returns `false` if there is none.
pub async fn remove(tx: &mut Tx, project: ProjectId, source: &str, doc_id: &str) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "delete from docs where project_id = $1 and source = $2 and doc_id = $3",
        project.0,
        source,
        doc_id
    ))
    .await
}

/// Deletes a wiki page: the one sent under `source`, and those that integrations imported, whose
/// source is `wiki:` and the wiki's name. Returns `false` if there was neither.
pub async fn remove_page(
    tx: &mut Tx,
    project: ProjectId,
    source: &str,
    doc_id: &str,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "delete from docs where project_id = $1 and doc_id = $3
             and (source = $2 or integration_id is not null and starts_with(source, 'wiki:'))",
        project.0,
        source,
        doc_id
    ))
    .await
}

/// Returns whether the stored document was submitted after a quarantine item was created. Locks the
/// document until the transaction ends.
pub async fn is_newer(
    tx: &mut Tx,
    project: ProjectId,
    doc: &NewDoc,
    than: QuarantineItemId,
) -> Result<bool> {
    let newer = sqlx::query_scalar!(
        r#"select d.sent_at > q.created_at as "is_newer!" from docs d
               join quarantine_items q on q.id = $4
           where d.project_id = $1 and d.source = $2 and d.doc_id = $3 for update of d"#,
        project.0,
        doc.source,
        doc.doc_id,
        than.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(newer.unwrap_or(false))
}

/// Sets the document's submission time to that of the quarantine item that it was released from.
pub async fn copy_sent_at(tx: &mut Tx, id: DocId, item: QuarantineItemId) -> Result<()> {
    tx.run(sqlx::query!(
        "update docs d set sent_at = q.created_at from quarantine_items q where d.id = $1
             and q.id = $2",
        id.0,
        item.0
    ))
    .await
}
