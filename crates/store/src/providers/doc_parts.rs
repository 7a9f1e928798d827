//! Doc parts: comments, descriptions and release notes of which documents are assembled. Each is
//! stored by itself, so that events may change and delete them in any order.

use chrono::{DateTime, Utc};
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;

use crate::{Result, Tx};

/// Days that a deleted part is remembered: longer than earlier events about it can be delayed.
const DELETED_DAYS: i32 = 30;

/// The document of a part.
#[derive(Debug, Clone, Copy)]
pub struct DocKey<'a> {
    /// Source (`tracker:github`).
    pub source: &'a str,
    /// Id at the source.
    pub doc_id: &'a str,
}

/// A part as an event or a listing reports it.
#[derive(Debug, Clone)]
pub struct NewDocPart {
    /// Id within the document.
    pub part_id: String,
    /// Author; may be empty.
    pub author: String,
    /// Text; `None` if the part was deleted.
    pub text: Option<Sanitized>,
    /// Time of writing.
    pub sent_at: Option<DateTime<Utc>>,
    /// The provider's time of this state.
    pub source_updated_at: DateTime<Utc>,
}

/// A stored part.
#[derive(Debug, Clone)]
pub struct DocPart {
    /// Author; may be empty.
    pub author: String,
    /// Text, masked by the policy of its time of receipt.
    pub text: String,
    /// Time of writing.
    pub sent_at: Option<DateTime<Utc>>,
}

/// Locks the parts of a document until the transaction ends.
pub async fn lock(tx: &mut Tx, project: ProjectId, doc: DocKey<'_>) -> Result<()> {
    tx.run(sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'told', $1::text, $2::text,
             $3::text), 0))",
        project.0.to_string(),
        doc.source,
        doc.doc_id
    ))
    .await
}

/// Stores a part, unless a newer state is stored; returns whether it changed. Of two states with
/// the same time, the deletion wins. A deleted part is restored if a listing at a later time
/// (`listed_at`) has it.
pub async fn put(
    tx: &mut Tx,
    project: ProjectId,
    doc: DocKey<'_>,
    new: &NewDocPart,
    listed_at: Option<DateTime<Utc>>,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "insert into doc_parts as t (project_id, source, doc_id, part_id, author, text, sent_at,
             is_deleted, source_updated_at)
         values ($1, $2, $3, $4, $5, coalesce($6, ''), $7, $6 is null, $8)
         on conflict (project_id, source, doc_id, part_id) do update set
             author = excluded.author, text = excluded.text, sent_at = coalesce(excluded.sent_at,
                 t.sent_at),
             is_deleted = excluded.is_deleted, source_updated_at = excluded.source_updated_at
         where ((excluded.source_updated_at, excluded.is_deleted) >= (t.source_updated_at,
             t.is_deleted)
                 or t.is_deleted and $9::timestamptz > t.source_updated_at)
             and (t.author, t.text, t.is_deleted, t.source_updated_at)
                 is distinct from (excluded.author, excluded.text, excluded.is_deleted,
                     excluded.source_updated_at)",
        project.0,
        doc.source,
        doc.doc_id,
        new.part_id,
        new.author,
        new.text.as_ref().map(Sanitized::as_str),
        new.sent_at,
        new.source_updated_at,
        listed_at
    ))
    .await
}

/// Marks all parts of a document as deleted except `parts`, unless an event reported them after the
/// listing; returns whether there were any.
pub async fn delete_others(
    tx: &mut Tx,
    project: ProjectId,
    doc: DocKey<'_>,
    parts: &[String],
    listed_at: DateTime<Utc>,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update doc_parts set author = '', text = '', is_deleted = true, source_updated_at = $5
         where project_id = $1 and source = $2 and doc_id = $3 and not part_id = any($4)
             and not is_deleted and source_updated_at <= $5",
        project.0,
        doc.source,
        doc.doc_id,
        parts,
        listed_at
    ))
    .await
}

/// Returns the newest `limit` parts of a document that are not deleted, oldest first.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    doc: DocKey<'_>,
    limit: i64,
) -> Result<Vec<DocPart>> {
    let mut parts = sqlx::query_as!(
        DocPart,
        "select author, text, sent_at from doc_parts
         where project_id = $1 and source = $2 and doc_id = $3 and not is_deleted
         order by sent_at desc nulls last, part_id desc limit $4",
        project.0,
        doc.source,
        doc.doc_id,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    parts.reverse();
    Ok(parts)
}

/// Deletes parts of a project that were marked as deleted long ago.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from doc_parts
         where project_id = $1 and is_deleted
             and source_updated_at < now() - make_interval(days => $2)",
        project.0,
        DELETED_DAYS
    ))
    .await
}
