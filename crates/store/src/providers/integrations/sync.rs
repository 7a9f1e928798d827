//! Sync runs: requests, start, progress and end.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{Capability, IntegrationId, Policy, ProjectId, ProjectKey};
use serde_json::Value;

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::projects::parse_key;
use crate::row::read;
use crate::{Result, Store, Tx, policies};

/// Kind of the job that executes a sync; its argument is the integration's id.
pub const JOB: &str = "sync_integration";
/// Attempts of the job; few, because the integration is due again soon.
pub const JOB_ATTEMPTS: u16 = 4;
/// Timeout of one job.
pub const SYNC_TIMEOUT: Duration = Duration::from_mins(10);
/// Time without progress after which a started sync is due again.
const STALLED_AFTER: Duration = Duration::from_mins(15);
/// Time between two reconciliations.
const RECONCILE_INTERVAL: Duration = Duration::from_hours(24);
/// Most integrations that one call enqueues, the longest due first.
const DUE_BATCH: i64 = 1_000;

/// An integration as a sync needs it.
#[derive(Debug, Clone)]
pub struct SyncTarget {
    /// Identifier.
    pub id: IntegrationId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The project's key.
    pub key: ProjectKey,
    /// The project's policy.
    pub policy: Policy,
    /// Name of the connector.
    pub connector: String,
    /// Resource of the connector.
    pub resource: String,
    /// Which kind of data it reads.
    pub capability: Capability,
    /// Time between two sync runs.
    pub interval: Duration,
    /// Whether it reads comments.
    pub include_comments: bool,
    /// Position of the last sync, as [`advance`] stored it.
    pub sync_state: Option<Value>,
    /// Whether a reconciliation is due.
    pub is_compared: bool,
    /// Failed sync runs since the last success.
    pub consecutive_failures: u32,
}

/// Enqueues a sync; returns `false` if there is no such integration, or it is paused. Repeated
/// calls leave one waiting job: it starts after this transaction and so reads everything that
/// exists by then.
pub async fn request_sync(tx: &mut Tx, project: ProjectId, id: IntegrationId) -> Result<bool> {
    // Locked first: of two concurrent requests, the second sees the job of the first.
    let job_id = sqlx::query_scalar!(
        "select job_id from integrations where project_id = $1 and id = $2 and not is_paused
             for update",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(job) = job_id else { return Ok(false) };
    if jobs::is_due(tx, job.as_deref()).await? {
        return Ok(true);
    }
    let due = sqlx::query_scalar!(
        "update integrations set next_sync_at = clock_timestamp()
         where project_id = $1 and id = $2 returning next_sync_at",
        project.0,
        id.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    enqueue(tx, id, due).await?;
    Ok(true)
}

/// Enqueues a sync of each wiki integration of a project that is not paused; returns their number.
pub async fn request_wiki_syncs(tx: &mut Tx, project: ProjectId) -> Result<u32> {
    // Locked in one order everywhere until the transaction ends.
    let wikis = sqlx::query_scalar!(
        "select id from integrations where project_id = $1 and capability = $2 and not is_paused
             order by id",
        project.0,
        Capability::Pages.as_str()
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let mut enqueued = 0;
    for id in wikis {
        enqueued += u32::from(request_sync(tx, project, id.into()).await?);
    }
    Ok(enqueued)
}

/// Enqueues a sync of each due integration of any project; returns how many are new. There is one
/// job for each due time, however many nodes call this.
pub async fn enqueue_due_syncs(store: &Store) -> Result<u64> {
    let due = sqlx::query!(
        "select id, next_sync_at from integrations where not is_paused and next_sync_at <= now()
         order by next_sync_at limit $1",
        DUE_BATCH
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let mut enqueued = 0;
    for integration in due {
        let mut tx = store.begin().await?;
        enqueued +=
            u64::from(enqueue(&mut tx, integration.id.into(), integration.next_sync_at).await?);
        tx.commit().await?;
    }
    Ok(enqueued)
}

async fn enqueue(tx: &mut Tx, id: IntegrationId, due: DateTime<Utc>) -> Result<bool> {
    let key = format!("{id} {}", due.timestamp_micros());
    let job = NewJob::now(JOB, serde_json::json!({ "id": id }), JOB_ATTEMPTS);
    let job = NewJob { unique_key: Some(&key), ..job };
    let Some(job) = jobs::enqueue(tx, &job).await? else { return Ok(false) };
    tx.run(sqlx::query!("update integrations set job_id = $2 where id = $1", id.0, job)).await?;
    Ok(true)
}

/// Starts a sync of an integration of any project; `None` if it is deleted or paused. The
/// integration is due again later, even if the sync dies.
pub async fn start_sync(store: &Store, integration: IntegrationId) -> Result<Option<SyncTarget>> {
    let row = sqlx::query!(
        r#"update integrations c set next_sync_at = greatest(c.next_sync_at,
               now() + make_interval(secs => $3)),
               run_started_at = coalesce(c.run_started_at, now()),
               run_pages = case when c.run_started_at is null then 0 else c.run_pages end,
               run_items = case when c.run_started_at is null then 0 else c.run_items end
           from projects p where c.id = $1 and not c.is_paused and p.id = c.project_id
           returning c.project_id, p.key, p.policy, c.connector, c.resource, c.capability,
               c.interval_minutes, c.include_comments,
               c.sync_state, c.consecutive_failures,
               c.reconciled_at < now() - make_interval(secs => $2) as "is_compared!""#,
        integration.0,
        RECONCILE_INTERVAL.as_secs_f64(),
        STALLED_AFTER.as_secs_f64()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    read!(optional row => SyncTarget {
        id: integration, project: row.project_id.into(), key: parse_key(&row.key)?,
        policy: policies::read(row.policy)?, connector, resource,
        capability: word(&row.capability)?,
        interval: Duration::from_mins(row.interval_minutes.unsigned_abs().into()), include_comments,
        sync_state, is_compared, consecutive_failures: row.consecutive_failures.unsigned_abs()
    })
}

/// Moves the position of a sync, in the transaction that stores the items read. Returns `false`
/// if the position is not `from`, because another worker has moved it, or if the integration is
/// deleted or paused. Locks the position until the transaction ends.
pub async fn advance(
    tx: &mut Tx,
    id: IntegrationId,
    from: Option<&Value>,
    to: &Value,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update integrations set sync_state = $3
         where id = $1 and sync_state is not distinct from $2 and not is_paused",
        id.0,
        from,
        to
    ))
    .await
}

/// Counts a page and its imported items, in the transaction that imports them.
pub async fn count_items(tx: &mut Tx, id: IntegrationId, items: i64) -> Result<()> {
    tx.run(sqlx::query!(
        "update integrations set run_pages = run_pages + 1, run_items = run_items + $2
             where id = $1",
        id.0,
        items
    ))
    .await
}

/// Stores the time of a completed reconciliation.
pub async fn mark_reconciled(tx: &mut Tx, id: IntegrationId) -> Result<()> {
    tx.run(sqlx::query!("update integrations set reconciled_at = now() where id = $1", id.0)).await
}

/// Ends a sync run successfully and schedules the next one after the interval that the integration
/// has by now.
pub async fn finish_sync(store: &Store, id: IntegrationId) -> Result<()> {
    sqlx::query!(
        "update integrations set last_success_at = now(), last_error = null,
             consecutive_failures = 0,
             next_sync_at = now() + make_interval(mins => interval_minutes), run_started_at = null,
                 last_run_completed_at = now(),
             last_run_pages = run_pages, last_run_items = run_items
         where id = $1",
        id.0
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Schedules the next job of a sync. With a `failure`, the run has failed; without one it
/// continues.
pub async fn reschedule(
    store: &Store,
    id: IntegrationId,
    failure: Option<&str>,
    again_in: Duration,
) -> Result<()> {
    sqlx::query!(
        "update integrations set next_sync_at = now() + make_interval(secs => $3),
             last_error = coalesce($2, last_error),
             consecutive_failures = consecutive_failures + case when $2::text is null then 0 else 1
                 end,
             run_started_at = case when $2::text is null then run_started_at end,
             last_run_completed_at = case when $2::text is null then last_run_completed_at
                 else now() end,
             last_run_pages = case when $2::text is null then last_run_pages else run_pages end,
             last_run_items = case when $2::text is null then last_run_items else run_items end
         where id = $1",
        id.0,
        failure,
        again_in.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
