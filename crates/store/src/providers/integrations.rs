//! Integrations: a project's subscriptions to resources of connectors, with their schedule and
//! state.

mod data;
mod sync;

use chrono::{DateTime, Utc};
use mc_contract::operations::integration::{Integration, LastSyncRun, SyncRun};
use mc_domain::{Capability, IntegrationId, ProjectId, ProjectKey};

use crate::error::word;
use crate::projects::parse_key;
use crate::row::read;
use crate::{Result, Store, Tx};

pub use data::{
    assign_docs_integration, assign_integration, delete_missing_docs, purge, purge_documents,
};
pub use sync::{
    JOB, JOB_ATTEMPTS, SYNC_TIMEOUT, SyncTarget, advance, count_items, enqueue_due_syncs,
    finish_sync, mark_reconciled, request_sync, request_wiki_syncs, reschedule, start_sync,
};

/// An integration to create.
#[derive(Debug, Clone)]
pub struct NewIntegration {
    /// Identifier.
    pub id: IntegrationId,
    /// Name of the connector.
    pub connector: String,
    /// Resource of the connector.
    pub resource: String,
    /// Which kind of data it reads.
    pub capability: Capability,
    /// Minutes between two sync runs.
    pub interval_minutes: i32,
    /// Whether it reads comments.
    pub include_comments: bool,
}

/// An update of an integration; `None` keeps a value.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegrationUpdate {
    /// Minutes between two sync runs.
    pub interval_minutes: Option<i32>,
    /// Whether it reads comments.
    pub include_comments: Option<bool>,
    /// Whether it is paused.
    pub is_paused: Option<bool>,
}

/// Names of an integration that was deleted, for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedIntegration {
    /// Name of the connector.
    pub connector: String,
    /// Resource of the connector.
    pub resource: String,
}

/// State of the integrations with one connector.
#[derive(Debug, Clone)]
pub struct ConnectorHealth {
    /// Name of the connector.
    pub connector: String,
    /// Number of integrations.
    pub integration_count: i64,
    /// Number of integrations whose last sync run failed.
    pub failing_count: i64,
    /// Last successful sync run of any of them.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Error of one of those that failed.
    pub last_error: Option<String>,
    /// Next sync run of any that is not paused.
    pub next_sync_at: Option<DateTime<Utc>>,
}

/// Creates an integration and enqueues its first sync.
pub async fn create(tx: &mut Tx, project: ProjectId, new: &NewIntegration) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into integrations (id, project_id, connector, resource, capability,
             interval_minutes, include_comments, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id.0,
        project.0,
        new.connector,
        new.resource,
        new.capability.as_str(),
        new.interval_minutes,
        new.include_comments,
        tx.principal().map(|user| user.0)
    ))
    .await?;
    request_sync(tx, project, new.id).await?;
    Ok(())
}

/// Updates an integration; returns `false` if there is none. Only a shorter interval changes the
/// due time: it is then at most that interval from now. During a sync run the due time stays: it
/// may be the end of a wait that the provider demands, and the end of the run sets the next one. A
/// paused run does not end, so a pause does not cut that wait either.
pub async fn update(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    update: &IntegrationUpdate,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update integrations set interval_minutes = coalesce($3, interval_minutes),
             include_comments = coalesce($4, include_comments), is_paused = coalesce($5, is_paused),
             next_sync_at = case when $3 < interval_minutes and run_started_at is null
                 then least(next_sync_at, now() + make_interval(mins => $3)) else next_sync_at end
         where project_id = $1 and id = $2",
        project.0,
        id.0,
        update.interval_minutes,
        update.include_comments,
        update.is_paused
    ))
    .await
}

/// Deletes an integration; returns `None` if there is none. Imported data stays and is no longer
/// updated.
pub async fn delete(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
) -> Result<Option<DeletedIntegration>> {
    Ok(sqlx::query_as!(
        DeletedIntegration,
        "delete from integrations where project_id = $1 and id = $2 returning connector, resource",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?)
}

/// Returns the integrations of a project, in the order of creation.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Integration>> {
    select(store, project, None).await
}

/// Returns one integration of a project.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: IntegrationId,
) -> Result<Option<Integration>> {
    Ok(select(store, project, Some(id)).await?.pop())
}

async fn select(
    store: &Store,
    project: ProjectId,
    only: Option<IntegrationId>,
) -> Result<Vec<Integration>> {
    let rows = sqlx::query!(
        r#"select i.id, i.connector, i.resource, i.capability, i.interval_minutes,
               i.include_comments, i.is_paused,
               u.login as "created_by?", i.created_at, i.next_sync_at, i.last_success_at,
                   i.last_error, i.consecutive_failures,
               i.run_started_at, i.run_pages, i.run_items, i.last_run_completed_at,
                   i.last_run_pages, i.last_run_items,
               (select count(*) from tasks t where t.integration_id = i.id) as "tasks!",
               (select count(*) from docs d where d.integration_id = i.id) as "documents!"
           from integrations i left join users u on u.id = i.created_by
           where i.project_id = $1 and ($2::uuid is null or i.id = $2) order by i.id"#,
        project.0,
        only.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Integration {
        id: row.id.into(), connector, resource, capability: word(&row.capability)?,
        interval_minutes, include_comments, is_paused, created_by, created_at, next_sync_at,
        last_success_at, last_error, consecutive_failures, task_count: row.tasks,
        document_count: row.documents,
        current_run: row.run_started_at.filter(|_| !row.is_paused).map(|started_at| SyncRun {
            started_at,
            pages_fetched: row.run_pages,
            items_synced: row.run_items,
        }),
        last_run: row.last_run_completed_at.map(|completed_at| LastSyncRun {
            completed_at,
            has_failed: row.consecutive_failures > 0,
            pages_fetched: row.last_run_pages,
            items_synced: row.last_run_items,
        })
    })
}

/// Returns the key of an integration's project, for background jobs.
pub async fn project_of(store: &Store, id: IntegrationId) -> Result<Option<ProjectKey>> {
    let key = sqlx::query_scalar!(
        "select p.key from integrations i join projects p on p.id = i.project_id where i.id = $1",
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    key.as_deref().map(parse_key).transpose()
}

/// Returns the state of integrations by connector: of a project, or of all projects for background
/// jobs.
pub async fn health(store: &Store, project: Option<ProjectId>) -> Result<Vec<ConnectorHealth>> {
    Ok(sqlx::query_as!(
        ConnectorHealth,
        r#"select connector, count(*) as "integration_count!",
               count(*) filter (where consecutive_failures > 0) as "failing_count!",
               max(last_success_at) as last_success_at, max(last_error) as last_error,
               min(next_sync_at) filter (where not is_paused) as next_sync_at
           from integrations where $1::uuid is null or project_id = $1 group by connector"#,
        project.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}
