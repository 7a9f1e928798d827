//! What projects hear of other systems by asking them: which, how often, and where each stands.

mod data;
mod sync;

use chrono::{DateTime, Utc};
use mc_domain::{Capability, IntegrationId, ProjectId, ProjectKey};

use crate::error::word;
use crate::{Error, Store, Tx};

pub use data::{
    assign_docs_integration, assign_integration, delete_missing_docs, forget, forget_documents,
};
pub use sync::{
    JOB, JOB_STARTS, SYNC_TIME, SyncTarget, advance, count_items, enqueue_due_syncs, finish_sync,
    mark_reconciled, request_sync, request_wiki_syncs, reschedule, start_sync,
};

/// A connection as its project's people see it.
#[derive(Debug, Clone)]
pub struct Integration {
    /// Identifier.
    pub id: IntegrationId,
    /// The operator's name for the system.
    pub connector: String,
    /// What of it.
    pub resource: String,
    /// Which of the things that it may be asked for.
    pub capability: Capability,
    /// How often it is asked.
    pub interval_minutes: i32,
    /// Whether comments are asked for, where the policy lets them in.
    pub include_comments: bool,
    /// Whether it is asked at all.
    pub is_paused: bool,
    /// Who made it, by login; absent where that user is gone.
    pub created_by: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When it is asked next.
    pub next_sync_at: DateTime<Utc>,
    /// When a sync last came to its end.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Why the last one did not; absent where it did.
    pub last_error: Option<String>,
    /// How many have failed since.
    pub consecutive_failures: i32,
    /// Tasks that came by it.
    pub task_count: i64,
    /// Documents that came by it.
    pub document_count: i64,
    /// How far the round of asking is that is not over.
    pub current_run: Option<SyncRun>,
    /// What the last one brought that is.
    pub last_run: Option<SyncRun>,
}

/// All that is asked of a system from the first page to the last one, or to where that fails, over as many jobs as it
/// takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRun {
    /// When it began; of one that is over, when it ended.
    pub at: DateTime<Utc>,
    /// Pages that were read.
    pub pages: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for.
    pub items: i64,
}

/// A connection to make.
#[derive(Debug, Clone)]
pub struct NewIntegration {
    /// Identifier.
    pub id: IntegrationId,
    /// The operator's name for the system.
    pub connector: String,
    /// What of it.
    pub resource: String,
    /// Which of the things that it may be asked for.
    pub capability: Capability,
    /// How often it is asked.
    pub interval_minutes: i32,
    /// Whether comments are asked for.
    pub include_comments: bool,
}

/// What is to be otherwise of a connection; what is absent stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegrationUpdate {
    /// How often it is asked.
    pub interval_minutes: Option<i32>,
    /// Whether comments are asked for.
    pub include_comments: Option<bool>,
    /// Whether it is asked at all.
    pub is_paused: Option<bool>,
}

/// A connection that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedIntegration {
    /// The operator's name for the system.
    pub connector: String,
    /// What of it.
    pub resource: String,
}

/// How those connections are to one system that are known to the asker.
#[derive(Debug, Clone)]
pub struct ConnectorHealth {
    /// The operator's name for the system.
    pub connector: String,
    /// How many there are.
    pub integration_count: i64,
    /// How many of them failed last.
    pub failing_count: i64,
    /// When a sync of any last came to its end.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Why the last did not, of one of those that fail.
    pub last_error: Option<String>,
    /// When the next one of those that are not paused is due.
    pub next_sync_at: Option<DateTime<Utc>>,
}

/// Makes a connection that is due at once.
pub async fn create(tx: &mut Tx, project: ProjectId, new: &NewIntegration) -> Result<(), Error> {
    let creator = tx.1.entry.map(|entry| entry.principal.0);
    sqlx::query!(
        "insert into integrations (id, project_id, connector, resource, capability, interval_minutes, include_comments, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id.0,
        project.0,
        new.connector,
        new.resource,
        new.capability.as_str(),
        new.interval_minutes,
        new.include_comments,
        creator
    )
    .execute(&mut *tx.0)
    .await?;
    request_sync(tx, project, new.id).await?;
    Ok(())
}

/// Changes a connection; `false` where there is none. One that goes on after a pause is due as it was.
pub async fn change(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    change: &IntegrationUpdate,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update integrations set interval_minutes = coalesce($3, interval_minutes),
             include_comments = coalesce($4, include_comments), is_paused = coalesce($5, is_paused),
             run_started_at = case when coalesce($5, is_paused) then null else run_started_at end,
             next_sync_at = least(next_sync_at, now() + make_interval(mins => coalesce($3, interval_minutes)))
         where project_id = $1 and id = $2",
        project.0,
        id.0,
        change.interval_minutes,
        change.include_comments,
        change.is_paused
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes a connection; `None` where there is none. What came by it stays, as what nobody brings up to date.
pub async fn remove(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
) -> Result<Option<DeletedIntegration>, Error> {
    Ok(sqlx::query_as!(
        DeletedIntegration,
        "delete from integrations where project_id = $1 and id = $2 returning connector, resource",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?)
}

/// A project's connections, in the order they were made.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Integration>, Error> {
    select(store, project, None).await
}

/// One of them.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: IntegrationId,
) -> Result<Option<Integration>, Error> {
    Ok(select(store, project, Some(id)).await?.pop())
}

async fn select(
    store: &Store,
    project: ProjectId,
    only: Option<IntegrationId>,
) -> Result<Vec<Integration>, Error> {
    let rows = sqlx::query!(
        r#"select c.id, c.connector, c.resource, c.capability, c.interval_minutes, c.include_comments, c.is_paused,
               u.login as "created_by?", c.created_at, c.next_sync_at, c.last_success_at, c.last_error, c.consecutive_failures,
               c.run_started_at, c.run_pages, c.run_items, c.last_run_completed_at, c.last_run_pages, c.last_run_items,
               (select count(*) from tasks t where t.integration_id = c.id) as "tasks!",
               (select count(*) from docs d where d.integration_id = c.id) as "documents!"
           from integrations c left join users u on u.id = c.created_by
           where c.project_id = $1 and ($2::uuid is null or c.id = $2) order by c.id"#,
        project.0,
        only.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Integration {
                id: row.id.into(),
                connector: row.connector,
                resource: row.resource,
                capability: word(&row.capability)?,
                interval_minutes: row.interval_minutes,
                include_comments: row.include_comments,
                is_paused: row.is_paused,
                created_by: row.created_by,
                created_at: row.created_at,
                next_sync_at: row.next_sync_at,
                last_success_at: row.last_success_at,
                last_error: row.last_error,
                consecutive_failures: row.consecutive_failures,
                task_count: row.tasks,
                document_count: row.documents,
                current_run: round(row.run_started_at, row.run_pages, row.run_items),
                last_run: round(row.last_run_completed_at, row.last_run_pages, row.last_run_items),
            })
        })
        .collect()
}

fn round(at: Option<DateTime<Utc>>, pages: i64, things: i64) -> Option<SyncRun> {
    at.map(|at| SyncRun { at, pages, items: things })
}

/// The key of the project that a connection is of, for the background.
pub async fn project_of(store: &Store, id: IntegrationId) -> Result<Option<ProjectKey>, Error> {
    let key = sqlx::query_scalar!(
        "select p.key from integrations c join projects p on p.id = c.project_id where c.id = $1",
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    key.map(|key| project_key(&key)).transpose()
}

fn project_key(key: &str) -> Result<ProjectKey, Error> {
    ProjectKey::parse(key).map_err(|_| Error::Unreadable(format!("projects.key: {key}")))
}

/// How the connections are, by system: those of the project, or of all for the background.
pub async fn health(
    store: &Store,
    project: Option<ProjectId>,
) -> Result<Vec<ConnectorHealth>, Error> {
    Ok(sqlx::query_as!(
        ConnectorHealth,
        r#"select connector, count(*) as "integration_count!", count(*) filter (where consecutive_failures > 0) as "failing_count!",
               max(last_success_at) as last_success_at, max(last_error) as last_error,
               min(next_sync_at) filter (where not is_paused) as next_sync_at
           from integrations where $1::uuid is null or project_id = $1 group by connector"#,
        project.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}
