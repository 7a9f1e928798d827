//! What a task's tracker may be told of it: the records and dialogs that belong to it and are everybody's in the
//! project, and the one comment of ours that names them there.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, IntegrationId, Policy, ProjectId, ProjectKey, RecordId, TaskId};
use serde_json::json;

use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of job that writes the comment.
pub const JOB: &str = "post_task_comment";
/// How often it is begun before it is given up.
pub const JOB_STARTS: u16 = 8;
/// How long one may take. No other writes beside it meanwhile.
pub const WRITE_TIME: Duration = Duration::from_mins(2);
/// What is said of one that was given up without anybody living to say why.
const GIVEN_UP: &str = "it was given up; see the service's log, and agree to it again";

/// What belongs to a task, the newest first.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// Some of its records.
    pub records: Vec<LinkedRecord>,
    /// How many there are.
    pub records_in_all: i64,
    /// Some of its dialogs.
    pub dialogs: Vec<LinkedDialog>,
    /// How many there are.
    pub dialogs_in_all: i64,
}

/// A record of the team.
#[derive(Debug, Clone)]
pub struct LinkedRecord {
    /// Identifier.
    pub id: RecordId,
    /// What kind of a note it is.
    pub kind: String,
    /// Title; may be empty.
    pub title: String,
}

/// A dialog that the team finds.
#[derive(Debug, Clone, Copy)]
pub struct LinkedDialog {
    /// Identifier.
    pub id: DialogId,
    /// When it was last sent.
    pub sent_at: DateTime<Utc>,
}

/// Where a task came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOrigin {
    /// The connection.
    pub connection: IntegrationId,
    /// The operator's name for the system.
    pub connector: String,
    /// What of it.
    pub resource: String,
}

/// How it is with the comment.
#[derive(Debug, Clone)]
pub struct TaskComment {
    /// `waiting`, `written` or `failed`: what became of what was agreed to last.
    pub state: String,
    /// Why it was not written, or not yet; empty where there is nothing to say.
    pub reason: String,
    /// The sum of the text that stands there; none where none does.
    pub posted_digest: Option<String>,
    /// When that was written.
    pub posted_at: Option<DateTime<Utc>>,
}

/// What is to be done with what was agreed to.
#[derive(Debug)]
pub enum PostStart {
    /// Nothing: it is done, or something else was agreed to since.
    Over,
    /// It waits: another worker is writing there.
    Busy,
    /// It is to be written now.
    Writing(Box<CommentDraft>),
}

/// A comment that is to be written.
#[derive(Debug, Clone)]
pub struct CommentDraft {
    /// The task's project.
    pub project: ProjectId,
    /// Its key.
    pub key: ProjectKey,
    /// Its policy.
    pub policy: Policy,
    /// The tracker's own id of the task.
    pub external_id: String,
    /// Where the task came from; none where by no connection that is asked.
    pub origin: Option<TaskOrigin>,
    /// The comment that stands there.
    pub comment: Option<String>,
}

/// The records and dialogs of a task that are everybody's in its project, whoever asks: at most so many of either, the
/// newest. Nothing private, nothing that waits for a reviewer, nothing that has expired, and nothing that nobody vouches
/// for.
pub async fn linked(store: &Store, task: TaskId, most: i64) -> Result<Linked, Error> {
    let records = sqlx::query!(
        r#"select id, kind, title, count(*) over () as "in_all!" from memory_records
           where task_id = $1 and visibility = 'team' and private_to is null and trust <> 'untrusted'
               and state in ('active', 'stale') and ttl > now()
           order by id desc limit $2"#,
        task.0,
        most
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let dialogs = sqlx::query!(
        r#"select d.id, d.sent_at, count(*) over () as "in_all!" from dialogs d
           where d.task_id = $1
               and exists (select from passages p where p.dialog_id = d.id and p.private_to is null)
           order by d.id desc limit $2"#,
        task.0,
        most
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(Linked {
        records_in_all: records.first().map_or(0, |row| row.in_all),
        records: records
            .into_iter()
            .map(|row| LinkedRecord { id: row.id.into(), kind: row.kind, title: row.title })
            .collect(),
        dialogs_in_all: dialogs.first().map_or(0, |row| row.in_all),
        dialogs: dialogs
            .into_iter()
            .map(|row| LinkedDialog { id: row.id.into(), sent_at: row.sent_at })
            .collect(),
    })
}

/// By which connection a task of the project that was entered came, for members; `None` where by none that is asked.
pub async fn origin(store: &Store, task: TaskId) -> Result<Option<TaskOrigin>, Error> {
    let row = sqlx::query!(
        r#"select id as "id!", connector as "connector!", resource as "resource!" from mc.find_task_integration($1)"#,
        task.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.map(|row| TaskOrigin {
        connection: row.id.into(),
        connector: row.connector,
        resource: row.resource,
    }))
}

/// How it is with the comment of a task; `None` where nobody ever agreed to one.
pub async fn standing(store: &Store, task: TaskId) -> Result<Option<TaskComment>, Error> {
    let row = sqlx::query!(
        r#"select state, reason, posted_digest, posted_at, mc.is_job_finished(job_id) as "is_over!"
           from task_comments where task_id = $1"#,
        task.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.map(|row| {
        let is_given_up = row.state == "pending" && row.is_over;
        let is_unsaid = is_given_up && row.reason.is_empty();
        TaskComment {
            state: if is_given_up { "failed".to_owned() } else { row.state },
            reason: if is_unsaid { GIVEN_UP.to_owned() } else { row.reason },
            posted_digest: row.posted_digest,
            posted_at: row.posted_at,
        }
    }))
}

/// Has a text written that whoever entered the project has agreed to. What was agreed to before and was not written
/// yet is not any more.
pub async fn ask(tx: &mut Tx, project: ProjectId, task: TaskId, digest: &str) -> Result<(), Error> {
    let requested_at = sqlx::query_scalar!(
        "insert into task_comments (task_id, project_id, digest, approved_by, approved_at)
         values ($1, $2, $3, $4, clock_timestamp())
         on conflict (task_id) do update set digest = excluded.digest, approved_by = excluded.approved_by,
             approved_at = excluded.approved_at, state = 'pending', reason = ''
         returning approved_at",
        task.0,
        project.0,
        digest,
        tx.1.entry.map(|entry| entry.principal.0)
    )
    .fetch_one(&mut *tx.0)
    .await?;
    let key = format!("{task} {digest} {}", requested_at.timestamp_micros());
    let (args, starts) = (json!({ "task": task, "digest": digest }), i32::from(JOB_STARTS));
    let job = NewJob {
        kind: JOB,
        unique_key: Some(&key),
        args,
        delay: Duration::ZERO,
        max_attempts: starts,
    };
    let Some(job) = jobs::enqueue(tx, &job).await? else { return Ok(()) };
    sqlx::query!("update task_comments set job_id = $2 where task_id = $1", task.0, job)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}

/// Begins to write what was agreed to, and keeps others from doing so for as long as that may take.
pub async fn begin(store: &Store, task: TaskId, digest: &str) -> Result<PostStart, Error> {
    let mut tx = store.begin().await?;
    let waiting = sqlx::query_scalar!(
        r#"select started_at > now() - make_interval(secs => $3) is true as "is_busy!" from task_comments
           where task_id = $1 and digest = $2 and state = 'pending' for update"#,
        task.0,
        digest,
        WRITE_TIME.as_secs_f64()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let begun = match waiting {
        None => PostStart::Over,
        Some(true) => PostStart::Busy,
        Some(false) => take(&mut tx, task, digest).await?,
    };
    tx.commit().await?;
    Ok(begun)
}

async fn take(tx: &mut Tx, task: TaskId, digest: &str) -> Result<PostStart, Error> {
    sqlx::query!("update task_comments set started_at = now() where task_id = $1", task.0)
        .execute(&mut *tx.0)
        .await?;
    let writing = read(tx, task, digest).await?;
    Ok(writing.map_or(PostStart::Over, |writing| PostStart::Writing(Box::new(writing))))
}

/// What is being written, as it is by now: policy and connection may be others than when it was begun. `None` where
/// something else was agreed to since, or the task was forgotten.
pub async fn reload(
    store: &Store,
    task: TaskId,
    digest: &str,
) -> Result<Option<CommentDraft>, Error> {
    let mut tx = store.begin().await?;
    let writing = read(&mut tx, task, digest).await?;
    tx.commit().await?;
    Ok(writing)
}

async fn read(tx: &mut Tx, task: TaskId, digest: &str) -> Result<Option<CommentDraft>, Error> {
    let row = sqlx::query!(
        r#"select t.project_id, t.external_id, p.key, p.policy, n.id as "connection?", n.connector as "system?",
               n.resource as "what?", case when c.integration_id = n.id then c.comment_id end as comment
           from task_comments c join tasks t on t.id = c.task_id join projects p on p.id = t.project_id
               left join integrations n on n.id = t.integration_id and n.capability = 'issues' and not n.is_paused
           where c.task_id = $1 and c.digest = $2 and c.state = 'pending'"#,
        task.0,
        digest
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let unreadable = || Error::Unreadable(format!("projects.key: {}", row.key));
    let origin = match (row.connection, row.system, row.what) {
        (Some(id), Some(system), Some(what)) => {
            Some(TaskOrigin { connection: id.into(), connector: system, resource: what })
        }
        _ => None,
    };
    Ok(Some(CommentDraft {
        project: row.project_id.into(),
        key: ProjectKey::parse(&row.key).map_err(|_| unreadable())?,
        policy: policies::read(row.policy)?,
        external_id: row.external_id,
        origin,
        comment: row.comment,
    }))
}

/// Notes that the comment says what was agreed to. What was agreed to meanwhile still waits.
pub async fn written(
    tx: &mut Tx,
    task: TaskId,
    digest: &str,
    connection: IntegrationId,
    comment: &str,
) -> Result<(), Error> {
    sqlx::query!(
        "update task_comments set comment_id = $4, integration_id = $3, posted_digest = $2, posted_at = now(),
             started_at = null, reason = '', state = case when digest = $2 then 'posted' else state end
         where task_id = $1",
        task.0,
        digest,
        connection.0,
        comment
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes why the comment was not written: not yet, or, where it `is_over`, not until somebody agrees to it again.
pub async fn mark_failed(
    store: &Store,
    task: TaskId,
    digest: &str,
    reason: &str,
    is_over: bool,
) -> Result<(), Error> {
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

/// The id of our own comment on a task, as its tracker knows it.
pub async fn own_comment(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
) -> Result<Option<String>, Error> {
    Ok(sqlx::query_scalar!(
        r#"select c.comment_id as "comment_id!" from task_comments c join tasks t on t.id = c.task_id
           where t.project_id = $1 and t.external_id = $2 and c.comment_id is not null"#,
        project.0,
        external_id
    )
    .fetch_optional(&mut *tx.0)
    .await?)
}

/// Forgets what was written of a task at its tracker. The comment itself stays there.
pub(crate) async fn forget(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
) -> Result<(), Error> {
    sqlx::query!(
        "delete from task_comments c using tasks t
         where t.id = c.task_id and t.project_id = $1 and t.external_id = $2",
        project.0,
        external_id
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}
