//! Task comments: the comment that we post at a task's tracker, with the team's records and dialogs
//! of the task. A person approves it, and a job posts it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, IntegrationId, Policy, ProjectId, ProjectKey, RecordId, TaskId};
use serde_json::json;

use crate::jobs::{self, NewJob};
use crate::projects::parse_key;
use crate::row::read;
use crate::{Result, Store, Tx, policies};

/// Kind of the job that posts a comment.
pub const JOB: &str = "post_task_comment";
/// Attempts after which posting the comment is discarded.
pub const JOB_ATTEMPTS: u16 = 8;
/// Timeout of one post; meanwhile no other worker posts the comment.
pub const POST_TIMEOUT: Duration = Duration::from_mins(2);
/// The reason of a discarded job that left none.
const DISCARDED: &str =
    "the job was discarded; see the service's log, then approve the comment again";

/// The records and dialogs of a task, newest first.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// The newest records.
    pub records: Vec<LinkedRecord>,
    /// Number of all records.
    pub record_count: i64,
    /// The newest dialogs.
    pub dialogs: Vec<LinkedDialog>,
    /// Number of all dialogs.
    pub dialog_count: i64,
}

/// A team record.
#[derive(Debug, Clone)]
pub struct LinkedRecord {
    /// Identifier.
    pub id: RecordId,
    /// Kind of knowledge, as stored.
    pub kind: String,
    /// Title; may be empty.
    pub title: String,
}

/// A dialog that the team can find.
#[derive(Debug, Clone, Copy)]
pub struct LinkedDialog {
    /// Identifier.
    pub id: DialogId,
    /// When it was last submitted.
    pub sent_at: DateTime<Utc>,
}

/// The integration that imported a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOrigin {
    /// Identifier.
    pub connection: IntegrationId,
    /// Name of the connector.
    pub connector: String,
    /// Resource of the connector.
    pub resource: String,
}

/// State of a task's comment.
#[derive(Debug, Clone)]
pub struct TaskComment {
    /// `pending`, `posted` or `failed`: state of the last approved text.
    pub state: String,
    /// Why it was not posted, or not yet; empty if there is no reason.
    pub reason: String,
    /// Digest of the posted text; `None` if there is none.
    pub posted_digest: Option<String>,
    /// When that text was posted.
    pub posted_at: Option<DateTime<Utc>>,
}

/// The result of [`begin`].
#[derive(Debug)]
pub enum PostStart {
    /// It is posted already, or another text was approved since.
    NotPending,
    /// Another worker is posting the comment.
    Busy,
    /// The post was started, with its draft.
    Started(Box<CommentDraft>),
}

/// A comment to post.
#[derive(Debug, Clone)]
pub struct CommentDraft {
    /// The task's project.
    pub project: ProjectId,
    /// The project's key.
    pub key: ProjectKey,
    /// The project's policy.
    pub policy: Policy,
    /// Id of the task at its tracker.
    pub external_id: String,
    /// The integration that imported the task; `None` if there is none, or it is paused.
    pub origin: Option<TaskOrigin>,
    /// Id of our comment at the tracker, if there is one.
    pub comment: Option<String>,
}

/// Returns the newest `limit` records and dialogs of a task that everyone in its project may see.
/// Private, proposed, expired and untrusted records are left out.
pub async fn linked(store: &Store, task: TaskId, limit: i64) -> Result<Linked> {
    let records = sqlx::query!(
        r#"select id, kind, title, count(*) over () as "in_all!" from memory_records
           where task_id = $1 and visibility = 'team' and private_to is null
               and trust <> 'untrusted'
               and state in ('active', 'stale') and ttl > now()
           order by id desc limit $2"#,
        task.0,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let dialogs = sqlx::query!(
        r#"select d.id, d.sent_at, count(*) over () as "in_all!" from dialogs d
           where d.task_id = $1
               and exists (select from passages p where p.dialog_id = d.id and p.private_to is null)
           order by d.id desc limit $2"#,
        task.0,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(Linked {
        record_count: records.first().map_or(0, |row| row.in_all),
        records: records
            .into_iter()
            .map(|row| LinkedRecord { id: row.id.into(), kind: row.kind, title: row.title })
            .collect(),
        dialog_count: dialogs.first().map_or(0, |row| row.in_all),
        dialogs: dialogs
            .into_iter()
            .map(|row| LinkedDialog { id: row.id.into(), sent_at: row.sent_at })
            .collect(),
    })
}

/// Returns the integration that imported a task, for members; `None` if there is none, or it is
/// paused.
pub async fn origin(store: &Store, task: TaskId) -> Result<Option<TaskOrigin>> {
    let row = sqlx::query!(
        r#"select id as "id!", connector as "connector!", resource as "resource!"
               from mc.find_task_integration($1)"#,
        task.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    read!(optional row => TaskOrigin { connection: row.id.into(), connector, resource })
}

/// Returns the state of a task's comment; `None` if none was ever approved.
pub async fn find(store: &Store, task: TaskId) -> Result<Option<TaskComment>> {
    let row = sqlx::query!(
        r#"select state, reason, posted_digest, posted_at, mc.is_job_finished(job_id) as "is_over!"
           from task_comments where task_id = $1"#,
        task.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.map(|row| {
        let is_discarded = row.state == "pending" && row.is_over;
        let has_no_reason = is_discarded && row.reason.is_empty();
        TaskComment {
            state: if is_discarded { "failed".to_owned() } else { row.state },
            reason: if has_no_reason { DISCARDED.to_owned() } else { row.reason },
            posted_digest: row.posted_digest,
            posted_at: row.posted_at,
        }
    }))
}

/// Approves a text for the store's principal and enqueues the job that posts it. It replaces an
/// approved text that is not posted yet.
pub async fn approve(tx: &mut Tx, project: ProjectId, task: TaskId, digest: &str) -> Result<()> {
    let requested_at = sqlx::query_scalar!(
        "insert into task_comments (task_id, project_id, digest, approved_by, approved_at)
         values ($1, $2, $3, $4, clock_timestamp())
         on conflict (task_id) do update set digest = excluded.digest,
             approved_by = excluded.approved_by,
             approved_at = excluded.approved_at, state = 'pending', reason = ''
         returning approved_at",
        task.0,
        project.0,
        digest,
        tx.principal().map(|user| user.0)
    )
    .fetch_one(&mut *tx.0)
    .await?;
    let key = format!("{task} {digest} {}", requested_at.timestamp_micros());
    let job = NewJob::now(JOB, json!({ "task": task, "digest": digest }), JOB_ATTEMPTS);
    let job = NewJob { unique_key: Some(&key), ..job };
    let Some(job) = jobs::enqueue(tx, &job).await? else { return Ok(()) };
    tx.run(sqlx::query!("update task_comments set job_id = $2 where task_id = $1", task.0, job))
        .await
}

/// Starts to post an approved text and keeps other workers from doing so for [`POST_TIMEOUT`].
pub async fn begin(store: &Store, task: TaskId, digest: &str) -> Result<PostStart> {
    let mut tx = store.begin().await?;
    let is_busy = sqlx::query_scalar!(
        r#"select started_at > now() - make_interval(secs => $3) is true as "is_busy!"
               from task_comments
           where task_id = $1 and digest = $2 and state = 'pending' for update"#,
        task.0,
        digest,
        POST_TIMEOUT.as_secs_f64()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let start = match is_busy {
        None => PostStart::NotPending,
        Some(true) => PostStart::Busy,
        Some(false) => take(&mut tx, task, digest).await?,
    };
    tx.commit().await?;
    Ok(start)
}

async fn take(tx: &mut Tx, task: TaskId, digest: &str) -> Result<PostStart> {
    tx.run(sqlx::query!("update task_comments set started_at = now() where task_id = $1", task.0))
        .await?;
    let draft = read(tx, task, digest).await?;
    Ok(draft.map_or(PostStart::NotPending, |draft| PostStart::Started(Box::new(draft))))
}

/// Returns the comment with the present policy and integration. `None` if another text was approved
/// since, or the task was erased.
pub async fn reload(store: &Store, task: TaskId, digest: &str) -> Result<Option<CommentDraft>> {
    let mut tx = store.begin().await?;
    let draft = read(&mut tx, task, digest).await?;
    tx.commit().await?;
    Ok(draft)
}

async fn read(tx: &mut Tx, task: TaskId, digest: &str) -> Result<Option<CommentDraft>> {
    let row = sqlx::query!(
        r#"select t.project_id, t.external_id, p.key, p.policy, n.id as "connection?",
               n.connector as "system?",
               n.resource as "what?", case when c.integration_id = n.id then c.comment_id
                   end as comment
           from task_comments c join tasks t on t.id = c.task_id
               join projects p on p.id = t.project_id
               left join integrations n on n.id = t.integration_id and n.capability = 'issues'
                   and not n.is_paused
           where c.task_id = $1 and c.digest = $2 and c.state = 'pending'"#,
        task.0,
        digest
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let imported_by =
        row.connection.zip(row.system).zip(row.what).map(|((id, connector), resource)| {
            TaskOrigin { connection: id.into(), connector, resource }
        });
    let draft = read!(row => CommentDraft {
        project: row.project_id.into(), key: parse_key(&row.key)?,
        policy: policies::read(row.policy)?, external_id, origin: imported_by, comment
    });
    draft.map(Some)
}

/// Marks a text as posted. A text approved meanwhile stays pending.
pub async fn mark_posted(
    tx: &mut Tx,
    task: TaskId,
    digest: &str,
    connection: IntegrationId,
    comment: &str,
) -> Result<()> {
    tx.run(sqlx::query!(
        "update task_comments set comment_id = $4, integration_id = $3, posted_digest = $2,
             posted_at = now(),
             started_at = null, reason = '', state = case when digest = $2 then 'posted' else state
                 end
         where task_id = $1",
        task.0,
        digest,
        connection.0,
        comment
    ))
    .await
}

/// Stores why a comment was not posted. With `is_over` it has failed until a person approves it
/// again.
pub async fn mark_failed(
    store: &Store,
    task: TaskId,
    digest: &str,
    reason: &str,
    is_over: bool,
) -> Result<()> {
    sqlx::query!(
        "update task_comments set started_at = null,
             reason = case when digest = $2 then $3 else reason end,
             state = case when digest = $2 and $4 then 'failed' else state end
         where task_id = $1",
        task.0,
        digest,
        reason,
        is_over
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Returns the id of our comment on a task at its tracker.
pub async fn own_comment(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!(
        r#"select c.comment_id as "comment_id!" from task_comments c
               join tasks t on t.id = c.task_id
           where t.project_id = $1 and t.external_id = $2 and c.comment_id is not null"#,
        project.0,
        external_id
    )
    .fetch_optional(&mut *tx.0)
    .await?)
}

/// Deletes the state of a task's comment. The comment at the tracker stays.
pub(crate) async fn delete(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "delete from task_comments c using tasks t
         where t.id = c.task_id and t.project_id = $1 and t.external_id = $2",
        project.0,
        external_id
    ))
    .await
}
