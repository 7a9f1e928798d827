//! Tasks: issues of trackers.

use chrono::{DateTime, Utc};
use mc_contract::operations::task::Task;
use mc_domain::{DialogId, IntegrationId, ProjectId, RecordId, TaskId};
use mc_sanitizer::Sanitized;
use serde::Serialize;

use crate::error::from_json;
use crate::row::{read, uuids};
use crate::{Result, Store, Tx, Upserted, task_comments};

/// A link of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskLink {
    /// Text of the link; may be empty.
    pub title: String,
    /// Address of the page.
    pub url: String,
}

/// A task as its tracker reports it.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Id at the tracker.
    pub external_id: String,
    /// Title at the tracker.
    pub title: Sanitized,
    /// State in the tracker's words.
    pub status: Option<String>,
    /// Name of the assignee, if there is one.
    pub assignee: Option<String>,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Links to pages about the task.
    pub links: Vec<TaskLink>,
    /// When it was opened; an absent time keeps the stored one.
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed.
    pub closed_at: Option<DateTime<Utc>>,
    /// Whether these are all fields. If not, absent ones keep their value.
    pub is_whole: bool,
    /// The tracker's time of this state; now if absent.
    pub source_updated_at: Option<DateTime<Utc>>,
}

/// Stores a task, unless a newer state is stored.
pub async fn upsert(tx: &mut Tx, project: ProjectId, task: &NewTask) -> Result<Upserted> {
    let links = serde_json::json!(task.links);
    // An unchanged state still updates its time: older states may arrive later.
    let row = sqlx::query!(
        r#"insert into tasks as t (id, project_id, external_id, title, status, assignee, labels,
               links, source_updated_at, opened_at, closed_at)
           values ($1, $2, $3, $4, coalesce($5, 'unknown'), $6, $7, $8, coalesce($9, now()), $11,
               $12)
           on conflict (project_id, external_id) do update set
               (title, status, assignee, labels, links, opened_at, closed_at, source_updated_at,
                updated_at) = (
                   select n.title, n.status, n.assignee, n.labels, n.links, n.opened_at,
                       n.closed_at,
                       excluded.source_updated_at,
                       case when n is distinct from
                           row (t.title, t.status, t.assignee, t.labels, t.links, t.opened_at,
                               t.closed_at)
                       then statement_timestamp() else t.updated_at end
                   from (select excluded.title,
                       case when $10 or $5 is not null then excluded.status else t.status
                           end as status,
                       case when $10 or $6 is not null then excluded.assignee else t.assignee
                           end as assignee,
                       case when $10 or cardinality($7::text[]) > 0 then excluded.labels
                           else t.labels end as labels,
                       case when $10 or $8 <> '[]' then excluded.links else t.links end as links,
                       coalesce($11, t.opened_at) as opened_at,
                       case when $10 or $12 is not null then excluded.closed_at
                           else t.closed_at end as closed_at) n)
           where (excluded.source_updated_at >= t.source_updated_at) is not false
           returning (xmax = 0) as "inserted!", updated_at = statement_timestamp() as "changed!""#,
        TaskId::generate().0,
        project.0,
        task.external_id,
        task.title.as_str(),
        task.status,
        task.assignee,
        &task.labels,
        links,
        task.source_updated_at,
        task.is_whole,
        task.opened_at,
        task.closed_at
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(match row {
        Some(row) if row.inserted => Upserted::Created,
        Some(row) if row.changed => Upserted::Updated,
        _ => Upserted::Unchanged,
    })
}

/// Returns whether a task is marked as deleted: deleted at its tracker, or no longer visible.
pub async fn is_deleted(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<bool> {
    let status = sqlx::query_scalar!(
        "select status from tasks where project_id = $1 and external_id = $2",
        project.0,
        external_id
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(status.as_deref() == Some("deleted"))
}

/// Clears the content of a task that was deleted at its tracker; returns `false` if a newer state
/// is stored. The row stays for the items linked to it, and so that a delayed older state does not
/// restore the task.
pub async fn mark_deleted(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
    deleted_at: DateTime<Utc>,
) -> Result<bool> {
    let is_deleted = tx
        .has_changed(sqlx::query!(
            "insert into tasks (id, project_id, external_id, status, source_updated_at)
         values ($1, $2, $3, 'deleted', $4)
         on conflict (project_id, external_id) do update set
             title = '', status = excluded.status, assignee = null, labels = '{}', links = '[]',
             opened_at = null, closed_at = null, updated_at = now(),
             source_updated_at = excluded.source_updated_at
         where (excluded.source_updated_at >= tasks.source_updated_at) is not false",
            TaskId::generate().0,
            project.0,
            external_id,
            deleted_at
        ))
        .await?;
    if is_deleted {
        delete_comments(tx, project, external_id).await?;
    }
    Ok(is_deleted)
}

/// Clears the content of a task that a full listing of an integration did not show. The task may be
/// hidden rather than deleted, so the time of its last state is kept: the same state restores it.
/// Returns `false` if there is no such task, a newer state is stored, or another integration, which
/// may see more, has imported it.
pub async fn mark_missing_deleted(
    tx: &mut Tx,
    project: ProjectId,
    integration: IntegrationId,
    external_id: &str,
    requested_at: DateTime<Utc>,
) -> Result<bool> {
    let is_deleted = tx
        .has_changed(sqlx::query!(
            "update tasks set title = '', status = 'deleted', assignee = null, labels = '{}',
             links = '[]', opened_at = null, closed_at = null, updated_at = now()
         where project_id = $1 and external_id = $2 and (source_updated_at <= $3) is not false
             and integration_id = $4",
            project.0,
            external_id,
            requested_at,
            integration.0
        ))
        .await?;
    if is_deleted {
        delete_comments(tx, project, external_id).await?;
    }
    Ok(is_deleted)
}

/// Deletes the documents of a task's comments, and the state of our own comment.
async fn delete_comments(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<()> {
    task_comments::delete(tx, project, external_id).await?;
    tx.run(sqlx::query!(
        "delete from docs where project_id = $1 and doc_id = $2 and source like 'tracker:%'",
        project.0,
        external_id
    ))
    .await
}

/// Clears the content of a task and of its comments, from any source; returns `None` if there is
/// none. The row stays for the items linked to it, and so that a delayed older state does not
/// restore the task.
pub async fn erase(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<Option<TaskId>> {
    let id = sqlx::query_scalar!(
        "update tasks set title = '', status = 'unknown', assignee = null, labels = '{}',
             links = '[]', opened_at = null, closed_at = null, updated_at = now(),
             source_updated_at = greatest(source_updated_at, now())
         where project_id = $1 and external_id = $2 returning id",
        project.0,
        external_id
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if id.is_some() {
        delete_comments(tx, project, external_id).await?;
    }
    Ok(id.map(TaskId::from))
}

/// Returns the task's id; an unknown task is created with its external id alone.
pub async fn ensure(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<TaskId> {
    let row = sqlx::query!(
        "insert into tasks (id, project_id, external_id) values ($1, $2, $3)
         on conflict (project_id, external_id) do update set external_id = excluded.external_id
         returning id",
        TaskId::generate().0,
        project.0,
        external_id
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(row.id.into())
}

/// Returns the task with this id at its tracker.
pub async fn find(store: &Store, project: ProjectId, external_id: &str) -> Result<Option<Task>> {
    let row = sqlx::query!(
        "select id, external_id, title, status, assignee, labels, links, opened_at, closed_at,
             updated_at
         from tasks where project_id = $1 and external_id = $2",
        project.0,
        external_id
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    read!(optional row => Task {
        id: row.id.into(), external_id, title, status, assignee, labels,
        links: from_json("tasks.links", row.links)?, opened_at, closed_at, updated_at
    })
}

/// Returns the ids of the project's tasks with this number in any repository (`owner/name#12`), at
/// most four.
pub async fn with_number(store: &Store, project: ProjectId, number: &str) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select external_id from tasks
         where project_id = $1 and split_part(external_id, '#', 2) = $2
             and external_id like '_%#%'
         order by external_id limit 4",
        project.0,
        number
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Returns the dialogs and live records that are linked to the task.
pub async fn linked(store: &Store, task: TaskId) -> Result<(Vec<DialogId>, Vec<RecordId>)> {
    let dialogs =
        sqlx::query_scalar!("select id from dialogs where task_id = $1 order by id", task.0)
            .fetch_all(&mut *store.read().await?)
            .await?;
    let records = sqlx::query_scalar!(
        "select id from memory_records where task_id = $1 and state in ('active', 'stale')
         order by id",
        task.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok((
        dialogs.into_iter().map(DialogId::from).collect(),
        records.into_iter().map(RecordId::from).collect(),
    ))
}

/// Links live records of the project to the task; returns those that exist.
pub async fn link_records(
    tx: &mut Tx,
    project: ProjectId,
    task: TaskId,
    records: &[RecordId],
) -> Result<Vec<RecordId>> {
    let linked = sqlx::query_scalar!(
        "update memory_records set task_id = $1
         where project_id = $2 and id = any($3) and state in ('active', 'stale')
         returning id",
        task.0,
        project.0,
        &uuids(records)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(linked.into_iter().map(RecordId::from).collect())
}
