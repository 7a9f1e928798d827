//! The embedding queue: passages without a current vector.

use mc_domain::{PassageId, ProjectId, SourceKind};
use mc_sanitizer::Sanitized;
use uuid::Uuid;

use super::Model;
use crate::error::{retry_on_deadlock, word};
use crate::history::EMBEDDING_PRIORITY;
use crate::passages::embedding_text;
use crate::row::uuids;
use crate::{Listener, Result, Store};

/// Failed attempts after which no reader waits for a passage's vector.
pub(super) const FAILING_AFTER: i32 = 3;

/// Passages queued per statement, which locks them against deletion for a fraction of a second.
const QUEUED_AT_ONCE: usize = 5_000;

/// A passage that needs a vector.
#[derive(Debug, Clone)]
pub struct Backlog {
    /// Id of the passage.
    pub passage: PassageId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Kind of source that the passage was made from.
    pub source: SourceKind,
    /// The text to embed.
    pub text: Sanitized,
    /// Hash of that text; a vector of an older text is not stored.
    pub text_hash: Vec<u8>,
}

/// Queues all passages that have no current vector of the model; returns how many are new in its
/// queue. Passages deleted meanwhile are skipped.
pub async fn enqueue_missing(store: &Store, model: &Model) -> Result<u64> {
    let missing = sqlx::query_scalar!(
        "select p.id from passages p
         where not exists (select 1 from embeddings e where e.model_id = $1
             and e.passage_id = p.id and e.text_hash = p.content_hash)",
        model.id
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    enqueue_parts(store, model, &missing).await
}

/// Like [`enqueue_missing`], for one project.
pub async fn enqueue_missing_in(store: &Store, project: ProjectId, model: &Model) -> Result<u64> {
    let missing = sqlx::query_scalar!(
        "select p.id from passages p
         where p.project_id = $2 and not exists (select 1 from embeddings e where e.model_id = $1
             and e.passage_id = p.id and e.text_hash = p.content_hash)",
        model.id,
        project.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    enqueue_parts(store, model, &missing).await
}

async fn enqueue_parts(store: &Store, model: &Model, passages: &[Uuid]) -> Result<u64> {
    let mut queued = 0;
    for part in passages.chunks(QUEUED_AT_ONCE) {
        queued += enqueue_all(store, model, part).await?;
    }
    Ok(queued)
}

/// Queues those of the passages that are not deleted. A deletion may be rolled back, so it waits
/// for the deleting transaction, without locks of its own, which that transaction may need.
async fn enqueue_all(store: &Store, model: &Model, passages: &[Uuid]) -> Result<u64> {
    let mut queued = 0;
    loop {
        queued += retry_on_deadlock(|| enqueue_free(store, model, passages)).await?;
        let Some(locked) = unqueued(store, model, passages).await? else { return Ok(queued) };
        sqlx::query!("select from passages where id = $1 for key share", locked)
            .execute(&mut *store.plain().await?)
            .await?;
    }
}

/// Queues those of the passages that no transaction is deleting, and locks them until they are
/// queued. It locks in one order, because nodes that start together queue the same passages. A
/// transaction that has queued one by a change and deletes another can still deadlock with this
/// statement.
async fn enqueue_free(store: &Store, model: &Model, passages: &[Uuid]) -> Result<u64> {
    let done = sqlx::query!(
        "insert into embedding_queue (passage_id, model_id, project_id, private_to, priority)
         select p.id, $1, p.project_id, p.private_to, case when p.commit_id is null then 0
             else $3::smallint end
         from passages p
         where p.id = any($2) and not exists (select 1 from embeddings e where e.model_id = $1
             and e.passage_id = p.id and e.text_hash = p.content_hash)
         order by p.id
         for key share of p skip locked
         on conflict do nothing",
        model.id,
        passages,
        EMBEDDING_PRIORITY
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}

/// Returns one of the passages that has no current vector of the model and is not queued.
async fn unqueued(store: &Store, model: &Model, passages: &[Uuid]) -> Result<Option<Uuid>> {
    Ok(sqlx::query_scalar!(
        "select p.id from passages p
         where p.id = any($2)
             and not exists (select 1 from embeddings e where e.model_id = $1
                             and e.passage_id = p.id and e.text_hash = p.content_hash)
             and not exists (select 1 from embedding_queue q where q.model_id = $1
                             and q.passage_id = p.id)
         limit 1",
        model.id,
        passages
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Number of passages without a current vector of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingBacklog {
    /// Passages whose vector is to come.
    pub pending: i64,
    /// Passages that failed so often that no reader waits for them. They are retried from time
    /// to time, and keyword search finds them.
    pub failed_count: i64,
}

/// Counts the passages without a current vector of the model, of one project or of all; for a user
/// only those that they may find. Passages that the policy hides from the model are left out;
/// `is_remote` says whether the model runs on another machine.
pub async fn queue(
    store: &Store,
    project: Option<ProjectId>,
    model: &Model,
    is_remote: bool,
) -> Result<EmbeddingBacklog> {
    Ok(sqlx::query_as!(
        EmbeddingBacklog,
        r#"select count(*) filter (where q.attempts < $2) as "pending!",
                  count(*) filter (where q.attempts >= $2) as "failed_count!"
           from embedding_queue q join projects p on p.id = q.project_id
           where q.model_id = $4 and ($1::uuid is null or q.project_id = $1)
               and mc.is_embedding_allowed(p.allowed_embedding_models, $3)"#,
        project.map(|project| project.0),
        FAILING_AFTER,
        is_remote,
        model.id
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}

/// Listens for queued passages of any node.
pub async fn listen(store: &Store) -> Result<Listener> {
    Listener::to(store, "embedding_queue").await
}

/// Returns [`EmbeddingBacklog::pending`].
pub async fn queue_length(
    store: &Store,
    project: Option<ProjectId>,
    model: &Model,
    is_remote: bool,
) -> Result<i64> {
    Ok(queue(store, project, model, is_remote).await?.pending)
}

/// Claims the next passages that the model embeds for one minute, so that two nodes don't embed the
/// same ones.
/// Commits come after all other sources, then the longest queued first. Passages that the policy
/// hides from the model (`is_remote`: on another machine) are rescheduled by an hour, up to a
/// thousand per call; a change of the policy makes them due.
pub async fn take_backlog(
    store: &Store,
    model: &Model,
    limit: i64,
    is_remote: bool,
) -> Result<Vec<Backlog>> {
    let rows = sqlx::query!(
        r#"with put_off as (
               select q.passage_id from embedding_queue q
               where q.model_id = $3 and q.scheduled_at <= now() and q.project_id in (
                   select p.id from projects p
                       where not mc.is_embedding_allowed(p.allowed_embedding_models, $2))
               limit 1000 for update skip locked),
           later as (
               update embedding_queue q set scheduled_at = now() + interval '1 hour'
               where q.model_id = $3
                   and q.passage_id = any(array(select passage_id from put_off))),
           due as (
               select q.passage_id from embedding_queue q
               where q.model_id = $3 and q.scheduled_at <= now() and exists (
                   select from projects p
                   where p.id = q.project_id and
                       mc.is_embedding_allowed(p.allowed_embedding_models, $2))
               order by q.priority, q.scheduled_at, q.passage_id limit $1
               for update skip locked),
           claimed as (
               update embedding_queue q set scheduled_at = now() + interval '1 minute'
               where q.model_id = $3 and q.passage_id = any(array(select passage_id from due))
               returning q.passage_id)
           select p.id, p.project_id, p.source_kind as "source_kind!", p.title, p.location,
                  p.context, p.text, p.content_hash
           from claimed c join passages p on p.id = c.passage_id"#,
        limit,
        is_remote,
        model.id
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|r| {
            let source = word(&r.source_kind)?;
            let text = embedding_text(source, &r.title, &r.location, &r.context, &r.text);
            Ok(Backlog {
                passage: r.id.into(),
                project: r.project_id.into(),
                source,
                text: Sanitized::stored(text),
                text_hash: r.content_hash,
            })
        })
        .collect()
}

/// Returns whether the policies of all these projects still allow the model. A deleted project has
/// no texts to hide.
pub async fn may_embed(store: &Store, projects: &[ProjectId], is_remote: bool) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select not exists (
               select from unnest($1::uuid[]) as asked (id) left join projects p using (id)
               where coalesce(not mc.is_embedding_allowed(p.allowed_embedding_models, $2),
                   true)) as "all!""#,
        &uuids(projects),
        is_remote
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Reschedules passages after a failure, with the reason and exponential backoff up to an hour.
pub async fn backlog_failed(
    store: &Store,
    model: &Model,
    passages: &[PassageId],
    reason: &str,
) -> Result<()> {
    sqlx::query!(
        "update embedding_queue set attempts = attempts + 1, last_error = $2,
             scheduled_at = now() + least(interval '1 hour',
                 interval '1 second' * 2 ^ least(attempts, 12))
         where passage_id = any($1) and model_id = $3",
        &uuids(passages),
        reason,
        model.id
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Returns claimed passages to the queue without counting an attempt: the provider is down, or the
/// service stops.
pub async fn release_backlog(store: &Store, model: &Model, passages: &[PassageId]) -> Result<()> {
    sqlx::query!(
        "update embedding_queue set scheduled_at = now()
         where passage_id = any($1) and model_id = $2",
        &uuids(passages),
        model.id
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
