//! Tracker issues as the project knows them.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, ProjectId, RecordId, TaskId};
use mc_sanitizer::Sanitized;
use serde::{Deserialize, Serialize};

use crate::{Error, Store, Tx};

/// A link of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLink {
    /// What the link shows; may be empty.
    #[serde(default)]
    pub title: String,
    /// Where it leads.
    pub url: String,
}

/// A task as stored.
#[derive(Debug, Clone)]
pub struct Task {
    /// Identifier.
    pub id: TaskId,
    /// The tracker's own id, such as `CS-214`.
    pub external_id: String,
    /// Title; empty until the tracker is synced.
    pub title: String,
    /// The tracker's word for the state; `unknown` until synced.
    pub status: String,
    /// Who works on it.
    pub assignee: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// Links.
    pub links: Vec<TaskLink>,
    /// Last change here.
    pub updated_at: DateTime<Utc>,
}

/// What a tracker says of a task.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// The tracker's own id.
    pub external_id: String,
    /// Title.
    pub title: Sanitized,
    /// State, in the tracker's words.
    pub status: String,
    /// Who works on it.
    pub assignee: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// Links.
    pub links: Vec<TaskLink>,
}

/// What [`upsert`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upserted {
    /// A new row.
    Created,
    /// An existing row changed.
    Updated,
    /// Nothing to change.
    Unchanged,
}

/// Writes what the tracker says of a task.
pub async fn upsert(tx: &mut Tx, project: ProjectId, task: &NewTask) -> Result<Upserted, Error> {
    let links = to_json(&task.links);
    let row = sqlx::query!(
        r#"insert into tasks (id, project_id, external_id, title, status, assignee, labels, links)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
           on conflict (project_id, external_id) do update set
               title = excluded.title, status = excluded.status, assignee = excluded.assignee,
               labels = excluded.labels, links = excluded.links, updated_at = now()
           where (tasks.title, tasks.status, tasks.assignee, tasks.labels, tasks.links)
               is distinct from (excluded.title, excluded.status, excluded.assignee,
                                 excluded.labels, excluded.links)
           returning (xmax = 0) as "inserted!""#,
        TaskId::generate().0,
        project.0,
        task.external_id,
        task.title.as_str(),
        task.status,
        task.assignee,
        &task.labels,
        links
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(match row {
        Some(row) if row.inserted => Upserted::Created,
        Some(_) => Upserted::Updated,
        None => Upserted::Unchanged,
    })
}

/// The task's id; a task that no tracker has told of yet is created with its id alone.
pub async fn ensure(tx: &mut Tx, project: ProjectId, external_id: &str) -> Result<TaskId, Error> {
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

/// The task with this id of the tracker.
pub async fn find(
    store: &Store,
    project: ProjectId,
    external_id: &str,
) -> Result<Option<Task>, Error> {
    let row = sqlx::query!(
        "select id, external_id, title, status, assignee, labels, links, updated_at
         from tasks where project_id = $1 and external_id = $2",
        project.0,
        external_id
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(|r| {
        Ok(Task {
            id: r.id.into(),
            external_id: r.external_id,
            title: r.title,
            status: r.status,
            assignee: r.assignee,
            labels: r.labels,
            links: serde_json::from_value(r.links)
                .map_err(|e| Error::Unreadable(format!("tasks.links: {e}")))?,
            updated_at: r.updated_at,
        })
    })
    .transpose()
}

/// The dialogs and records that are linked to the task.
pub async fn linked(store: &Store, task: TaskId) -> Result<(Vec<DialogId>, Vec<RecordId>), Error> {
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

/// Links live records of the project to the task; answers those there were.
pub async fn link_records(
    tx: &mut Tx,
    project: ProjectId,
    task: TaskId,
    records: &[RecordId],
) -> Result<Vec<RecordId>, Error> {
    let ids: Vec<_> = records.iter().map(|id| id.0).collect();
    let linked = sqlx::query_scalar!(
        "update memory_records set task_id = $1
         where project_id = $2 and id = any($3) and state in ('active', 'stale')
         returning id",
        task.0,
        project.0,
        &ids
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(linked.into_iter().map(RecordId::from).collect())
}

fn to_json(links: &[TaskLink]) -> serde_json::Value {
    serde_json::to_value(links).expect("links are plain strings")
}
