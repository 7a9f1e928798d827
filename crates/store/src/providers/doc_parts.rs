//! Texts that documents are made of as other systems tell of them: the comments of an issue, the notes of a release.
//! Each is kept by itself, so that it may be changed and taken away by itself, and in any order.

use chrono::{DateTime, Utc};
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;

use crate::{Error, Tx};

/// Days that a text is known to be gone: longer than what was said of it before can still come.
const GONE_DAYS: i32 = 30;

/// The document that texts belong to.
#[derive(Debug, Clone, Copy)]
pub struct DocKey<'a> {
    /// Where it came from (`tracker:github`).
    pub source: &'a str,
    /// Its id there.
    pub doc_id: &'a str,
}

/// What is said of a text.
#[derive(Debug, Clone)]
pub struct NewDocPart {
    /// Its id among those of its document.
    pub part_id: String,
    /// Who wrote it; may be empty.
    pub author: String,
    /// What it says; `None` where it is gone.
    pub text: Option<Sanitized>,
    /// When it was written.
    pub sent_at: Option<DateTime<Utc>>,
    /// When that was said of it.
    pub source_updated_at: DateTime<Utc>,
}

/// A text as stored.
#[derive(Debug, Clone)]
pub struct DocPart {
    /// Who wrote it; may be empty.
    pub author: String,
    /// What it says, masked when it came.
    pub text: String,
    /// When it was written.
    pub sent_at: Option<DateTime<Utc>>,
}

/// Until the transaction ends nobody else writes texts of this document.
pub async fn lock(tx: &mut Tx, project: ProjectId, whole: DocKey<'_>) -> Result<(), Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'told', $1::text, $2::text, $3::text), 0))",
        project.0.to_string(),
        whole.source,
        whole.doc_id
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Writes what is said of a text, unless something else was said since; answers whether it is another now. Of two
/// words of one moment it is the last that counts that it is gone. One that was gone is there again where its system,
/// asked later (`listed_at`), lists it.
pub async fn put(
    tx: &mut Tx,
    project: ProjectId,
    whole: DocKey<'_>,
    new: &NewDocPart,
    listed_at: Option<DateTime<Utc>>,
) -> Result<bool, Error> {
    let told = sqlx::query!(
        "insert into doc_parts as t (project_id, source, doc_id, part_id, author, text, sent_at, is_deleted, source_updated_at)
         values ($1, $2, $3, $4, $5, coalesce($6, ''), $7, $6 is null, $8)
         on conflict (project_id, source, doc_id, part_id) do update set
             author = excluded.author, text = excluded.text, sent_at = coalesce(excluded.sent_at, t.sent_at),
             is_deleted = excluded.is_deleted, source_updated_at = excluded.source_updated_at
         where ((excluded.source_updated_at, excluded.is_deleted) >= (t.source_updated_at, t.is_deleted)
                 or t.is_deleted and $9::timestamptz > t.source_updated_at)
             and (t.author, t.text, t.is_deleted, t.source_updated_at)
                 is distinct from (excluded.author, excluded.text, excluded.is_deleted, excluded.source_updated_at)",
        project.0,
        whole.source,
        whole.doc_id,
        new.part_id,
        new.author,
        new.text.as_ref().map(Sanitized::as_str),
        new.sent_at,
        new.source_updated_at,
        listed_at
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(told.rows_affected() == 1)
}

/// Notes that all texts of a document but these parts are gone, of which nothing was said since its system listed them;
/// answers whether any was there.
pub async fn delete_others(
    tx: &mut Tx,
    project: ProjectId,
    whole: DocKey<'_>,
    parts: &[String],
    listed_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let gone = sqlx::query!(
        "update doc_parts set author = '', text = '', is_deleted = true, source_updated_at = $5
         where project_id = $1 and source = $2 and doc_id = $3 and not part_id = any($4)
             and not is_deleted and source_updated_at <= $5",
        project.0,
        whole.source,
        whole.doc_id,
        parts,
        listed_at
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected() > 0)
}

/// The texts of a document that are not gone, the newest so many, oldest first.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    whole: DocKey<'_>,
    most: i64,
) -> Result<Vec<DocPart>, Error> {
    let mut texts = sqlx::query_as!(
        DocPart,
        "select author, text, sent_at from doc_parts
         where project_id = $1 and source = $2 and doc_id = $3 and not is_deleted
         order by sent_at desc nulls last, part_id desc limit $4",
        project.0,
        whole.source,
        whole.doc_id,
        most
    )
    .fetch_all(&mut *tx.0)
    .await?;
    texts.reverse();
    Ok(texts)
}

/// Forgets texts of a project that have long been gone.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from doc_parts
         where project_id = $1 and is_deleted and source_updated_at < now() - make_interval(days => $2)",
        project.0,
        GONE_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}
