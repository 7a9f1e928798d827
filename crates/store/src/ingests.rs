//! Runs of the indexer, as a queue that survives the process (seed 002's `repo_rag_index_job`).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_domain::{Act, IngestId, IngestStatus, ProjectId, RepositoryId};

use crate::audit::{self, Chain, NewEvent};
use crate::error::word;
use crate::repositories::{self, Repository};
use crate::{Error, Store, Tx};

/// A run as stored.
#[derive(Debug, Clone)]
pub struct Ingest {
    /// Identifier.
    pub id: IngestId,
    /// Project.
    pub project: ProjectId,
    /// Repository.
    pub repository: RepositoryId,
    /// Where it is in its life.
    pub status: IngestStatus,
    /// Attempts so far.
    pub attempt: i32,
    /// Attempts after which it fails for good.
    pub max_attempts: i32,
    /// Whether an attempt before this one may have changed what is stored; only [`claim`] tells.
    pub is_resumed: bool,
    /// Ref to index; empty for what is checked out, or the default branch.
    pub requested_ref: String,
    /// What it has done.
    pub counts: Counts,
    /// Why the last attempt failed (`message`, `at`).
    pub last_error: Option<serde_json::Value>,
    /// When it was asked for.
    pub queued_at: DateTime<Utc>,
    /// When the last attempt began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub completed_at: Option<DateTime<Utc>>,
}

/// What a run has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that are to be looked at.
    pub files_total: i32,
    /// Files that were looked at.
    pub files_done: i32,
    /// Files that were written.
    pub files_changed: i32,
    /// Files that were removed.
    pub files_deleted: i32,
    /// Files that were passed over, by reason.
    pub files_skipped: BTreeMap<String, i32>,
    /// New chunks.
    pub chunks_written: i32,
    /// Chunks kept with their vectors.
    pub chunks_reused: i32,
}

/// Asks for a run, and notes that in the audit; one of the same repository and ref that still waits is
/// returned instead. One that is at work may have passed what changed, so another is queued behind it.
pub async fn enqueue(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<Ingest, Error> {
    // One at a time per repository decides, so that two callers can't both find nothing open.
    repositories::lock(tx, repository.id).await?;
    enqueue_held(tx, repository, requested_ref).await
}

async fn enqueue_held(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<Ingest, Error> {
    let open = sqlx::query_scalar!(
        "select id from ingest_runs
         where repository_id = $1 and requested_ref = $2 and status = 'QUEUED'
         order by queued_at limit 1",
        repository.id.0,
        requested_ref
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let id = match open {
        Some(id) => id,
        None => insert(tx, repository, requested_ref).await?,
    };
    fetch(&mut *tx.0, id.into()).await?.ok_or(Error::Gone)
}

/// Asks for the repository to be read again, as [`enqueue`] does: at the ref that was asked for last
/// ([`asked_for`]); another would take the place of what is in the index, or is about to be.
pub async fn read_again(tx: &mut Tx, repository: &Repository) -> Result<Ingest, Error> {
    let asked_for = asked_for(tx, repository).await?;
    enqueue_held(tx, repository, &asked_for).await
}

/// The ref that was asked for last, empty for the default branch: that of the newest run that has not failed,
/// which may still wait or be at work. Until the transaction ends nobody asks for another.
pub async fn asked_for(tx: &mut Tx, repository: &Repository) -> Result<String, Error> {
    // First, so that a ref that somebody else asks for meanwhile counts.
    repositories::lock(tx, repository.id).await?;
    let asked_for = sqlx::query_scalar!(
        "select requested_ref from ingest_runs where repository_id = $1
         order by status = 'FAILED', queued_at desc limit 1",
        repository.id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(asked_for.unwrap_or_default())
}

async fn insert(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<uuid::Uuid, Error> {
    let id = sqlx::query_scalar!(
        "insert into ingest_runs (id, project_id, repository_id, requested_ref)
         values ($1, $2, $3, $4) returning id",
        IngestId::generate().0,
        repository.project_id.0,
        repository.id.0,
        requested_ref
    )
    .fetch_one(&mut *tx.0)
    .await?;
    let actor = tx.1.entry.map(|entry| entry.principal);
    let event = NewEvent::new(Act::IngestStarted, id);
    audit::add(tx, Chain::Project(repository.project_id), actor, &[event]).await?;
    Ok(id)
}

/// Takes the next run that is due, or one whose worker has not been heard of for
/// `silent_seconds`; never two runs of one repository at a time. A run whose last attempt ended
/// with its process fails instead.
pub async fn claim(
    store: &Store,
    worker: &str,
    silent_seconds: f64,
) -> Result<Option<Ingest>, Error> {
    let mut tx = store.begin().await?;
    // Claims are rare; one at a time keeps "one run a repository" simple to see.
    sqlx::query!("select pg_advisory_xact_lock(hashtext('ingest_runs.claim'))")
        .execute(&mut *tx.0)
        .await?;
    fail_used_up(&mut tx, silent_seconds).await?;
    let claimed = sqlx::query!(
        r#"with due as (
               select r.id, r.started_at is not null as is_resumed from ingest_runs r
               where ((r.status = 'QUEUED' and r.run_at <= now())
                      or (r.status = 'RUNNING'
                          and r.heartbeat_at < now() - make_interval(secs => $2)))
                 and not exists (
                     select 1 from ingest_runs o
                     where o.repository_id = r.repository_id and o.id <> r.id
                       and o.status = 'RUNNING'
                       and o.heartbeat_at >= now() - make_interval(secs => $2))
               order by r.run_at limit 1)
           update ingest_runs r set status = 'RUNNING', attempt = attempt + 1, worker = $1,
               heartbeat_at = now(), started_at = now(), completed_at = null
           from due where r.id = due.id
           returning r.id, due.is_resumed as "is_resumed!""#,
        worker,
        silent_seconds
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    tx.commit().await?;
    let Some(claimed) = claimed else { return Ok(None) };
    let ingest = find(store, claimed.id.into()).await?;
    Ok(ingest.map(|ingest| Ingest { is_resumed: claimed.is_resumed, ..ingest }))
}

/// A process that dies reports nothing, so its last attempt is seen here: a run that kills whoever
/// works on it must not go on for ever.
async fn fail_used_up(tx: &mut Tx, silent_seconds: f64) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message', format('the process died in attempt %s of %s; its log may tell on which '
                     'file: leave that out with .mcpignore, then ask for the run again',
                     attempt, max_attempts),
                 'at', now(), 'attempt', attempt)
         where attempt >= max_attempts
           and (status = 'QUEUED'
                or (status = 'RUNNING' and heartbeat_at < now() - make_interval(secs => $1)))",
        silent_seconds
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Gives back what a worker of this name held when it died; called before it begins. The attempt
/// counts.
pub async fn recover(store: &Store, worker: &str) -> Result<u64, Error> {
    let done = sqlx::query!(
        "update ingest_runs set status = 'QUEUED', run_at = now(), worker = null
         where status = 'RUNNING' and worker = $1",
        worker
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}

/// Gives back what a worker holds that stops in good order. The attempt does not count: however
/// often the service is restarted, the run goes on.
pub async fn release(store: &Store, worker: &str) -> Result<u64, Error> {
    let done = sqlx::query!(
        "update ingest_runs set status = 'QUEUED', run_at = now(), worker = null,
             attempt = greatest(attempt - 1, 0)
         where status = 'RUNNING' and worker = $1",
        worker
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}

/// Notes progress and that the worker lives; `false` when the run was taken by another.
pub async fn progress(
    store: &Store,
    id: IngestId,
    worker: &str,
    counts: &Counts,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update ingest_runs set heartbeat_at = now(), files_total = $3, files_done = $4,
             files_changed = $5, files_deleted = $6, files_skipped = $7, chunks_written = $8,
             chunks_reused = $9
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker,
        counts.files_total,
        counts.files_done,
        counts.files_changed,
        counts.files_deleted,
        serde_json::json!(counts.files_skipped),
        counts.chunks_written,
        counts.chunks_reused
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run well.
pub async fn succeed(store: &Store, id: IngestId, worker: &str) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'SUCCEEDED', completed_at = now(), last_error = null
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker
    )
    .execute(&store.pool)
    .await?;
    Ok(())
}

/// Ends an attempt badly: the run is queued again after `retry_in_seconds`, or fails for good when
/// that is `None` or its attempts are used up. Answers the status it has now.
pub async fn fail(
    store: &Store,
    id: IngestId,
    worker: &str,
    message: &str,
    retry_in_seconds: Option<f64>,
) -> Result<IngestStatus, Error> {
    let status = sqlx::query_scalar!(
        "update ingest_runs set
             status = case when $4::float8 is null or attempt >= max_attempts
                           then 'FAILED' else 'QUEUED' end,
             run_at = now() + make_interval(secs => coalesce($4, 0)),
             completed_at = case when $4::float8 is null or attempt >= max_attempts
                                 then now() end,
             last_error = jsonb_build_object('message', $3::text, 'at', now(), 'attempt', attempt)
         where id = $1 and worker = $2 and status = 'RUNNING'
         returning status",
        id.0,
        worker,
        message,
        retry_in_seconds
    )
    .fetch_optional(&store.pool)
    .await?;
    word(status.as_deref().unwrap_or("FAILED"))
}

/// The run with this id.
pub async fn find(store: &Store, id: IngestId) -> Result<Option<Ingest>, Error> {
    fetch(&mut *store.read().await?, id).await
}

async fn fetch(executor: impl sqlx::PgExecutor<'_>, id: IngestId) -> Result<Option<Ingest>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, project_id, repository_id, status, attempt, max_attempts, requested_ref,
             files_total, files_done, files_changed, files_deleted, files_skipped, chunks_written,
             chunks_reused, last_error, queued_at, started_at, completed_at
         from ingest_runs where id = $1",
        id.0
    )
    .fetch_optional(executor)
    .await?;
    row.map(Row::into_ingest).transpose()
}

/// The newest runs of a repository, newest first.
pub async fn of_repository(
    store: &Store,
    repository: RepositoryId,
    limit: i64,
) -> Result<Vec<Ingest>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, project_id, repository_id, status, attempt, max_attempts, requested_ref,
             files_total, files_done, files_changed, files_deleted, files_skipped, chunks_written,
             chunks_reused, last_error, queued_at, started_at, completed_at
         from ingest_runs where repository_id = $1 order by queued_at desc limit $2",
        repository.0,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_ingest).collect()
}

struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    repository_id: uuid::Uuid,
    status: String,
    attempt: i32,
    max_attempts: i32,
    requested_ref: String,
    files_total: i32,
    files_done: i32,
    files_changed: i32,
    files_deleted: i32,
    files_skipped: serde_json::Value,
    chunks_written: i32,
    chunks_reused: i32,
    last_error: Option<serde_json::Value>,
    queued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
}

impl Row {
    fn into_ingest(self) -> Result<Ingest, Error> {
        Ok(Ingest {
            id: self.id.into(),
            project: self.project_id.into(),
            repository: self.repository_id.into(),
            status: word(&self.status)?,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            is_resumed: false,
            requested_ref: self.requested_ref,
            counts: Counts {
                files_total: self.files_total,
                files_done: self.files_done,
                files_changed: self.files_changed,
                files_deleted: self.files_deleted,
                files_skipped: serde_json::from_value(self.files_skipped)
                    .map_err(|e| Error::Unreadable(format!("ingest_runs.files_skipped: {e}")))?,
                chunks_written: self.chunks_written,
                chunks_reused: self.chunks_reused,
            },
            last_error: self.last_error,
            queued_at: self.queued_at,
            started_at: self.started_at,
            completed_at: self.completed_at,
        })
    }
}
