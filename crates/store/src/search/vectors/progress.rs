//! Progress of a project's vectors, and the passages that failed.

use mc_domain::{PassageId, ProjectId, RecordId, SourceKind};

use super::Model;
use super::backlog::FAILING_AFTER;
use crate::error::word;
use crate::row::read;
use crate::{Result, Store};

/// Progress of a project's vectors of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Passages of the project.
    pub passages: i64,
    /// Passages without a current vector of the model.
    pub missing: i64,
    /// Queued passages whose vector is to come.
    pub waiting: i64,
    /// Queued passages that failed repeatedly.
    pub failed_count: i64,
    /// Vectors of other models, which are kept.
    pub of_others: i64,
    /// Whether the project's policy allows the model.
    pub may_embed: bool,
}

/// A passage that failed repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedPassage {
    /// Identifier.
    pub passage: PassageId,
    /// Kind of source that the passage was made from.
    pub source: SourceKind,
    /// File path or URL.
    pub location: String,
    /// The record, if the passage is of one.
    pub record: Option<RecordId>,
    /// Number of failed attempts.
    pub attempts: i32,
    /// The last error of the model.
    pub last_error: Option<String>,
}

/// Returns the progress of a project's vectors; `is_remote` says whether the model runs on another
/// machine.
pub async fn progress(
    store: &Store,
    project: ProjectId,
    model: &Model,
    is_remote: bool,
) -> Result<Progress> {
    Ok(sqlx::query_as!(
        Progress,
        r#"select (select count(*) from passages p where p.project_id = o.id) as "passages!",
                  (select count(*) from passages p
                   where p.project_id = o.id and not exists (
                       select from embeddings e where e.model_id = $2
                           and e.passage_id = p.id and e.text_hash = p.content_hash)) as "missing!",
                  (select count(*) from embedding_queue q
                   where q.model_id = $2 and q.project_id = o.id
                       and q.attempts < $3) as "waiting!",
                  (select count(*) from embedding_queue q
                   where q.model_id = $2 and q.project_id = o.id
                       and q.attempts >= $3) as "failed_count!",
                  (select count(*) from embedding_models m
                   join embeddings e on e.model_id = m.id and e.project_id = o.id
                   where m.id <> $2) as "of_others!",
                  mc.is_embedding_allowed(o.allowed_embedding_models, $4) as "may_embed!"
           from projects o where o.id = $1"#,
        project.0,
        model.id,
        FAILING_AFTER,
        is_remote
    )
    .fetch_optional(&mut *store.read().await?)
    .await?
    .unwrap_or_default())
}

/// Returns the passages of a project that the model failed on most often, except private ones.
pub async fn list_failed(
    store: &Store,
    project: ProjectId,
    model: &Model,
    limit: i64,
) -> Result<Vec<FailedPassage>> {
    let rows = sqlx::query!(
        r#"select q.passage_id, p.source_kind as "source_kind!", p.location, p.record_id,
               q.attempts, q.last_error
           from embedding_queue q join passages p on p.id = q.passage_id
           where q.model_id = $4 and q.project_id = $1 and q.attempts >= $2
               and p.private_to is null
           order by q.attempts desc, q.passage_id limit $3"#,
        project.0,
        FAILING_AFTER,
        limit,
        model.id
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => FailedPassage {
        passage: row.passage_id.into(), source: word(&row.source_kind)?, location,
        record: row.record_id.map(RecordId::from), attempts, last_error
    })
}

/// Makes the passages of a project due on which the model failed repeatedly; returns their number.
/// Those that are claimed or due within a minute stay as they are.
pub async fn retry_failed(store: &Store, project: ProjectId, model: &Model) -> Result<u64> {
    let done = sqlx::query!(
        "update embedding_queue set scheduled_at = now()
         where model_id = $3 and project_id = $1 and attempts >= $2
             and scheduled_at > now() + interval '1 minute'",
        project.0,
        FAILING_AFTER,
        model.id
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}
