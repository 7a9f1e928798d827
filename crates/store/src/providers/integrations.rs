//! What projects hear of other systems by asking them: which, how often, and where each stands.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{Capability, DocId, IntegrationId, Policy, ProjectId, ProjectKey};
use serde_json::Value;

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of job that asks a system; it is told the connection's id.
pub const JOB: &str = "sync_integration";
/// How often one is begun before it is given up: the connection is due again soon.
pub const JOB_STARTS: u16 = 4;
/// How long one may take; then it has failed.
pub const SYNC_TIME: Duration = Duration::from_mins(10);
/// Of a sync that was begun nothing is heard for so long; then the connection is due again.
const HEARD_WITHIN: Duration = Duration::from_mins(15);
/// After so long what is known is compared with all that is there.
const COMPARED_EVERY: Duration = Duration::from_hours(24);
/// So many are asked for in one look, the longest due first.
const DUE_AT_ONCE: i64 = 1_000;

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

/// A connection as what asks the system needs it.
#[derive(Debug, Clone)]
pub struct SyncTarget {
    /// Identifier.
    pub id: IntegrationId,
    /// The project that hears of it.
    pub project: ProjectId,
    /// That project's key.
    pub key: ProjectKey,
    /// Its policy.
    pub policy: Policy,
    /// The operator's name for the system.
    pub connector: String,
    /// What of it.
    pub resource: String,
    /// Which of the things that it may be asked for.
    pub capability: Capability,
    /// How often it is asked.
    pub interval: Duration,
    /// Whether comments are asked for.
    pub include_comments: bool,
    /// Where the last sync stood, as [`advance`] was told.
    pub sync_state: Option<Value>,
    /// Whether it is time to compare what is known with all that is there.
    pub is_compared: bool,
    /// How many syncs have failed since one came to its end.
    pub consecutive_failures: u32,
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

/// Has a system asked now; `false` where there is no such connection, or it is paused. However often that is asked,
/// one sync waits: it begins after this transaction, and finds all that there is by then.
pub async fn request_sync(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
) -> Result<bool, Error> {
    // Held first: of two who ask at once, the second then sees the job of the first.
    let held = sqlx::query_scalar!(
        "select job_id from integrations where project_id = $1 and id = $2 and not is_paused for update",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(job) = held else { return Ok(false) };
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

/// Has each wiki asked now that a project is connected to; answers how many that are, but for those that are paused.
pub async fn request_wiki_syncs(tx: &mut Tx, project: ProjectId) -> Result<u32, Error> {
    // In one order everywhere: each is held until the transaction ends.
    let wikis = sqlx::query_scalar!(
        "select id from integrations where project_id = $1 and capability = $2 and not is_paused order by id",
        project.0,
        Capability::Pages.as_str()
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let mut asked = 0;
    for id in wikis {
        asked += u32::from(request_sync(tx, project, id.into()).await?);
    }
    Ok(asked)
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

/// Forgets what came by a connection: its documents, and what was told of its tasks, which stay for what is
/// linked to them; what their tracker says next counts, however old. Answers how many there were of either.
pub async fn forget(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
) -> Result<(u64, u64), Error> {
    let tasks = sqlx::query!(
        "update tasks set title = '', status = 'unknown', assignee = null, labels = '{}', links = '[]',
             updated_at = now(), source_updated_at = null, integration_id = null
         where project_id = $1 and integration_id = $2",
        project.0,
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok((tasks.rows_affected(), forget_documents(tx, project, id).await?))
}

/// Forgets the documents that came by a connection; answers how many there were.
pub async fn forget_documents(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from docs where project_id = $1 and integration_id = $2",
        project.0,
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}

/// Forgets those documents that have one of these ids at their source; answers how many there were.
pub async fn delete_missing_docs(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    doc_ids: &[String],
) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from docs where project_id = $1 and integration_id = $2 and doc_id = any($3)",
        project.0,
        id.0,
        doc_ids
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
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

/// Asks for a sync of each connection of any project that is due. However often that is asked, and by however many
/// nodes, there is one for each time that it is due. Answers how many are new.
pub async fn enqueue_due_syncs(store: &Store) -> Result<u64, Error> {
    let due = sqlx::query!(
        "select id, next_sync_at from integrations where not is_paused and next_sync_at <= now()
         order by next_sync_at limit $1",
        DUE_AT_ONCE
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let mut asked = 0;
    for one in due {
        let mut tx = store.begin().await?;
        asked += u64::from(enqueue(&mut tx, one.id.into(), one.next_sync_at).await?);
        tx.commit().await?;
    }
    Ok(asked)
}

async fn enqueue(tx: &mut Tx, id: IntegrationId, due: DateTime<Utc>) -> Result<bool, Error> {
    let key = format!("{id} {}", due.timestamp_micros());
    let args = serde_json::json!({ "id": id });
    let starts = i32::from(JOB_STARTS);
    let job = NewJob {
        kind: JOB,
        unique_key: Some(&key),
        args,
        delay: Duration::ZERO,
        max_attempts: starts,
    };
    let Some(job) = jobs::enqueue(tx, &job).await? else { return Ok(false) };
    sqlx::query!("update integrations set job_id = $2 where id = $1", id.0, job)
        .execute(&mut *tx.0)
        .await?;
    Ok(true)
}

/// The connection with this id of any project, for whoever asks the system now; `None` where it is gone, or paused.
/// It is due again later, whatever becomes of that.
pub async fn start_sync(store: &Store, id: IntegrationId) -> Result<Option<SyncTarget>, Error> {
    let row = sqlx::query!(
        r#"update integrations c set next_sync_at = greatest(c.next_sync_at, now() + make_interval(secs => $3)),
               run_started_at = coalesce(c.run_started_at, now()),
               run_pages = case when c.run_started_at is null then 0 else c.run_pages end,
               run_items = case when c.run_started_at is null then 0 else c.run_items end
           from projects p where c.id = $1 and not c.is_paused and p.id = c.project_id
           returning c.project_id, p.key, p.policy, c.connector, c.resource, c.capability, c.interval_minutes, c.include_comments,
               c.sync_state, c.consecutive_failures,
               c.reconciled_at < now() - make_interval(secs => $2) as "is_compared!""#,
        id.0,
        COMPARED_EVERY.as_secs_f64(),
        HEARD_WITHIN.as_secs_f64()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        Ok(SyncTarget {
            id,
            project: row.project_id.into(),
            key: project_key(&row.key)?,
            policy: policies::read(row.policy)?,
            connector: row.connector,
            resource: row.resource,
            capability: word(&row.capability)?,
            interval: Duration::from_mins(row.interval_minutes.unsigned_abs().into()),
            include_comments: row.include_comments,
            sync_state: row.sync_state,
            is_compared: row.is_compared,
            consecutive_failures: row.consecutive_failures.unsigned_abs(),
        })
    })
    .transpose()
}

/// Says where a sync stands from now on, in the transaction of what brought it there; `false` where it does not
/// stand at `from`, since somebody else went on meanwhile, or the connection is gone or paused. Nobody else goes
/// on until the transaction ends.
pub async fn advance(
    tx: &mut Tx,
    id: IntegrationId,
    from: Option<&Value>,
    to: &Value,
) -> Result<bool, Error> {
    let moved = sqlx::query!(
        "update integrations set sync_state = $3
         where id = $1 and sync_state is not distinct from $2 and not is_paused",
        id.0,
        from,
        to
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// Counts a page that was read, and how much of it was taken in, in the transaction that does that.
pub async fn count_items(tx: &mut Tx, id: IntegrationId, things: i64) -> Result<(), Error> {
    sqlx::query!(
        "update integrations set run_pages = run_pages + 1, run_items = run_items + $2 where id = $1",
        id.0,
        things
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes by which connection tasks and documents came, so that it is known when they are gone there.
pub async fn assign_integration(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    tasks: &[String],
    documents: &[DocId],
) -> Result<(), Error> {
    let documents: Vec<_> = documents.iter().map(|id| id.0).collect();
    sqlx::query!(
        "update tasks set integration_id = $2
         where project_id = $1 and external_id = any($3) and integration_id is distinct from $2",
        project.0,
        id.0,
        tasks
    )
    .execute(&mut *tx.0)
    .await?;
    sqlx::query!(
        "update docs set integration_id = (select c.id from integrations c where c.project_id = $1 and c.id = $2)
         where project_id = $1 and id = any($3) and integration_id is distinct from $2",
        project.0,
        id.0,
        &documents
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes that those documents of a source came by a connection that have one of these ids there.
pub async fn assign_docs_integration(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    source: &str,
    doc_ids: &[String],
) -> Result<(), Error> {
    sqlx::query!(
        "update docs set integration_id = $2
         where project_id = $1 and source = $3 and doc_id = any($4) and integration_id is distinct from $2",
        project.0,
        id.0,
        source,
        doc_ids
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes that what is known was compared with all that is there.
pub async fn mark_reconciled(tx: &mut Tx, id: IntegrationId) -> Result<(), Error> {
    sqlx::query!("update integrations set reconciled_at = now() where id = $1", id.0)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}

/// Notes that a sync came to its end, and when the next one is due.
pub async fn finish_sync(
    store: &Store,
    id: IntegrationId,
    again_in: Duration,
) -> Result<(), Error> {
    sqlx::query!(
        "update integrations set last_success_at = now(), last_error = null, consecutive_failures = 0,
             next_sync_at = now() + make_interval(secs => $2), run_started_at = null, last_run_completed_at = now(),
             last_run_pages = run_pages, last_run_items = run_items
         where id = $1",
        id.0,
        again_in.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Notes that a sync is not over, why, and when it goes on. Without a `failure` it was merely put off, and its round is
/// not over either.
pub async fn reschedule(
    store: &Store,
    id: IntegrationId,
    failure: Option<&str>,
    again_in: Duration,
) -> Result<(), Error> {
    sqlx::query!(
        "update integrations set next_sync_at = now() + make_interval(secs => $3), last_error = coalesce($2, last_error),
             consecutive_failures = consecutive_failures + case when $2::text is null then 0 else 1 end,
             run_started_at = case when $2::text is null then run_started_at end,
             last_run_completed_at = case when $2::text is null then last_run_completed_at else now() end,
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
