//! How far a project is with the vectors of a model, and what of it can't get one.

use mc_domain::{PassageId, ProjectId, RecordId, SourceKind};

use super::Model;
use super::backlog::FAILING_AFTER;
use crate::error::word;
use crate::{Error, Store};

/// How far a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// All its passages.
    pub passages: i64,
    /// Those that have no current vector of the model.
    pub missing: i64,
    /// Those in the queue whose vector is to come.
    pub waiting: i64,
    /// Those in the queue that failed again and again.
    pub failed_count: i64,
    /// Vectors of other models, which are kept.
    pub of_others: i64,
    /// Whether the project's policy lets the model see its texts.
    pub may_embed: bool,
}

/// A passage that failed again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedPassage {
    /// Which passage.
    pub passage: PassageId,
    /// What it was cut from.
    pub source: SourceKind,
    /// Where that is.
    pub location: String,
    /// The record, where it is one's.
    pub record: Option<RecordId>,
    /// How often it failed.
    pub attempts: i32,
    /// What the model said last.
    pub last_error: Option<String>,
}

/// How far a project is with the vectors of a model (on another machine: `is_remote`).
pub async fn progress(
    store: &Store,
    project: ProjectId,
    model: &Model,
    is_remote: bool,
) -> Result<Progress, Error> {
    Ok(sqlx::query_as!(
        Progress,
        r#"select (select count(*) from passages p where p.project_id = o.id) as "passages!",
                  (select count(*) from passages p
                   where p.project_id = o.id and not exists (
                       select from embeddings e where e.model_id = $2
                           and e.passage_id = p.id and e.text_hash = p.content_hash)) as "missing!",
                  (select count(*) from embedding_queue q
                   where q.project_id = o.id and q.attempts < $3) as "waiting!",
                  (select count(*) from embedding_queue q
                   where q.project_id = o.id and q.attempts >= $3) as "failed_count!",
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

/// The passages of a project that failed most often, of nobody's alone.
pub async fn failing(
    store: &Store,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<FailedPassage>, Error> {
    let rows = sqlx::query!(
        r#"select q.passage_id, p.source_kind as "source_kind!", p.location, p.record_id, q.attempts, q.last_error
           from embedding_queue q join passages p on p.id = q.passage_id
           where q.project_id = $1 and q.attempts >= $2 and p.private_to is null
           order by q.attempts desc, q.passage_id limit $3"#,
        project.0,
        FAILING_AFTER,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(FailedPassage {
                passage: row.passage_id.into(),
                source: word(&row.source_kind)?,
                location: row.location,
                record: row.record_id.map(RecordId::from),
                attempts: row.attempts,
                last_error: row.last_error,
            })
        })
        .collect()
}

/// Makes the passages of a project due that failed again and again; answers how many. Those that somebody has in hand,
/// or that are due within the minute, are left alone.
pub async fn retry_failed(store: &Store, project: ProjectId) -> Result<u64, Error> {
    let done = sqlx::query!(
        "update embedding_queue set scheduled_at = now()
         where project_id = $1 and attempts >= $2 and scheduled_at > now() + interval '1 minute'",
        project.0,
        FAILING_AFTER
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}
