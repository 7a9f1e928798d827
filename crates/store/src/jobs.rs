//! Background jobs as rows of the apalis queue, through the functions of
//! `migrations/0008_jobs.sql`. `mc-jobs` has the workers.

use std::time::Duration;

use mc_contract::operations::job::Job;
use mc_domain::JobState;
use serde::Deserialize;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::raw_sql;

use crate::error::word;
use crate::row::read;
use crate::{Listener, Result, Store, Tx, ingest_runs};

/// The channel on which the queue announces new jobs.
const INSERT_CHANNEL: &str = "apalis::job::insert";

/// A job to enqueue.
#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    /// Name of the job kind.
    pub kind: &'a str,
    /// Key that is unique among the kept jobs of the kind: a second job with the same key is not
    /// enqueued.
    pub unique_key: Option<&'a str>,
    /// Arguments; visible to administrators, so without secrets.
    pub args: Value,
    /// Delay until it may start.
    pub delay: Duration,
    /// Attempts after which it is discarded.
    pub max_attempts: i32,
}

impl<'a> NewJob<'a> {
    /// Returns a job that may start at once.
    pub(crate) fn now(kind: &'a str, args: Value, max_attempts: u16) -> Self {
        let (delay, max_attempts) = (Duration::ZERO, max_attempts.into());
        Self { kind, unique_key: None, args, delay, max_attempts }
    }
}

/// A filter of jobs.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// Only jobs of this kind.
    pub kind: Option<String>,
    /// No jobs of these kinds.
    pub hidden_kinds: Vec<String>,
    /// Only jobs enqueued before this one.
    pub cursor: Option<String>,
}

/// The result of [`maintain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceReport {
    /// Jobs rescued from dead workers.
    pub rescued: i64,
    /// Jobs discarded because the process died in each attempt.
    pub discarded: i64,
    /// Completed jobs deleted.
    pub pruned: i64,
}

/// The number of jobs of a kind in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// Name of the job kind.
    pub kind: String,
    /// The state.
    pub state: JobState,
    /// All.
    pub jobs: i64,
    /// Those that may start now.
    pub due: i64,
}

/// A started attempt of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobAttempt {
    /// Number of the attempt, counted from 1.
    pub number: i32,
    /// Attempts after which the job is discarded.
    pub max_attempts: i32,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy)]
pub enum JobOutcome<'a> {
    /// The job is completed.
    Done,
    /// The attempt failed; the job is retried or discarded.
    Failed {
        /// Error message, without secrets.
        reason: &'a str,
        /// Delay until the next attempt; `None` discards the job.
        again_in: Option<Duration>,
    },
}

/// Connections for apalis.
pub type ApalisPool = PgPool;

/// Number of these connections.
const APALIS_CONNECTIONS: u32 = 2;

/// Returns a pool for apalis alone. When one of its workers is dropped, sqlx returns the connection
/// with an open transaction: the next user would write into it and hold its locks forever.
pub fn queue(store: &Store) -> ApalisPool {
    let options = PgConnectOptions::clone(&store.pool.inner().connect_options());
    PgPoolOptions::new()
        .max_connections(APALIS_CONNECTIONS)
        .after_release(|connection, _| {
            Box::pin(async move {
                // Ends a transaction that may be open; `begin` first avoids a warning if none is.
                // If the open one has failed, this fails and closes the connection.
                raw_sql("begin; rollback").execute(connection).await?;
                Ok(true)
            })
        })
        .connect_lazy_with(options)
}

/// Counts the stored jobs by kind and state.
pub async fn count(store: &Store) -> Result<Vec<JobCount>> {
    let rows = sqlx::query!(
        r#"select kind as "kind!", state as "state!", jobs as "jobs!", due_jobs as "due!"
           from mc.count_jobs()"#
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => JobCount { kind, state: word(&row.state)?, jobs, due })
}

/// Enqueues a job with the transaction; returns its id, or `None` if a job with the same unique key
/// is kept.
pub async fn enqueue(tx: &mut Tx, job: &NewJob<'_>) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!(
        "select mc.enqueue_job($1, $2, $3, now() + make_interval(secs => $4), $5)",
        job.kind,
        job.unique_key,
        job.args,
        job.delay.as_secs_f64(),
        job.max_attempts
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Returns whether a job is due and not started; `false` for a deleted one.
pub(crate) async fn is_due(tx: &mut Tx, id: Option<&str>) -> Result<bool> {
    let Some(id) = id else { return Ok(false) };
    Ok(sqlx::query_scalar!(r#"select mc.is_job_due($1) as "is_due!""#, id)
        .fetch_one(&mut *tx.0)
        .await?)
}

/// Starts an attempt of a job that `worker` has claimed; `None` if another worker has it.
pub async fn start(store: &Store, id: &str, worker: &str) -> Result<Option<JobAttempt>> {
    Ok(sqlx::query_as!(
        JobAttempt,
        r#"select attempt as "number!", max_attempts as "max_attempts!"
               from mc.start_job_attempt($1, $2)"#,
        id,
        worker
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Ends an attempt of a job; returns `false` if the worker no longer has it.
pub async fn end(
    store: &Store,
    id: &str,
    worker: &str,
    start: JobAttempt,
    end: &JobOutcome<'_>,
) -> Result<bool> {
    let (reason, delay) = match end {
        JobOutcome::Done => (None, None),
        JobOutcome::Failed { reason, again_in } => {
            (Some(*reason), again_in.map(|delay| delay.as_secs_f64()))
        }
    };
    Ok(sqlx::query_scalar!(
        r#"select mc.finish_job($1, $2, $3, $4, $5) as "is_ended!""#,
        id,
        worker,
        start.number,
        reason,
        delay
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Returns all jobs of a stopped worker to the queue; started attempts don't count.
pub async fn release(store: &Store, worker: &str) -> Result<()> {
    sqlx::query!("select mc.release_jobs($1)::text", worker)
        .fetch_one(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Marks workers whose names start with `node` as dead, because their processes have ended: the
/// next [`maintain`] rescues their jobs.
pub async fn expire_workers(store: &Store, node: &str) -> Result<()> {
    sqlx::query!("select mc.expire_workers($1)::text", node)
        .fetch_one(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Claims the idempotency key of an effect, in the transaction of the effect; returns `false` if it
/// was claimed before.
pub async fn claim_idempotency_key(tx: &mut Tx, kind: &str, key: &str) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "insert into idempotency_keys (kind, key) values ($1, $2) on conflict do nothing",
        kind,
        key
    ))
    .await
}

/// Returns jobs, newest first.
pub async fn list(store: &Store, filter: &JobFilter, limit: i64) -> Result<Vec<Job>> {
    select(store, None, filter, limit).await
}

/// Returns one job.
pub async fn find(store: &Store, id: &str) -> Result<Option<Job>> {
    Ok(select(store, Some(id), &JobFilter::default(), 1).await?.pop())
}

async fn select(
    store: &Store,
    only: Option<&str>,
    filter: &JobFilter,
    limit: i64,
) -> Result<Vec<Job>> {
    let rows = sqlx::query!(
        r#"select id as "id!", kind as "kind!", unique_key, args as "args!", state as "state!",
                  attempts as "attempts!", max_attempts as "max_attempts!",
                  scheduled_at as "scheduled_at!", worker, attempted_at, completed_at,
                  last_result ->> 'Err' as last_error
           from mc.list_jobs($1, $2, $3, $4, $5, $6)"#,
        only,
        filter.state.map(JobState::as_str),
        filter.kind.as_deref(),
        &filter.hidden_kinds,
        filter.cursor.as_deref(),
        limit
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => Job {
        id, kind, unique_key, args, state: word(&row.state)?, attempts, max_attempts, scheduled_at,
        worker, attempted_at, completed_at, last_error, progress_url: None
    })
}

/// Retries a discarded job with all its attempts; returns `false` if it is not discarded.
pub async fn retry(tx: &mut Tx, id: &str) -> Result<bool> {
    let done = sqlx::query_scalar!(r#"select mc.retry_job($1) as "done!""#, id)
        .fetch_one(&mut *tx.0)
        .await?;
    if done {
        ingest_runs::requeue_failed(tx, id).await?;
    }
    Ok(done)
}

/// Deletes a job that is pending or discarded; returns `false` if there is none.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool> {
    let done = sqlx::query_scalar!(r#"select mc.delete_job($1) as "done!""#, id)
        .fetch_one(&mut *tx.0)
        .await?;
    if done {
        ingest_runs::fail_for_deleted_job(tx, id).await?;
    }
    Ok(done)
}

/// Rescues jobs of workers without a heartbeat for `silence`, with `apart` between running ones;
/// discards jobs that kill their process; deletes jobs that ended `retention_days` ago.
pub async fn maintain(
    store: &Store,
    silence: Duration,
    apart: Duration,
    retention_days: i32,
) -> Result<MaintenanceReport> {
    Ok(sqlx::query_as!(
        MaintenanceReport,
        r#"select rescued as "rescued!", discarded as "discarded!", pruned as "pruned!"
           from mc.maintain_jobs($1, $2, $3)"#,
        silence.as_secs_f64(),
        apart.as_secs_f64(),
        retention_days
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Listens for new jobs of any node.
#[derive(Debug)]
pub struct JobListener(Listener);

/// The queue's announcement of a new job.
#[derive(Debug, Deserialize)]
struct Announcement {
    job_type: String,
}

/// Starts to listen on a connection of its own.
pub async fn listen(store: &Store) -> Result<JobListener> {
    Ok(JobListener(Listener::to(store, INSERT_CHANNEL).await?))
}

impl JobListener {
    /// Returns the kind of the next new job; `None` if the connection was lost and announcements
    /// may be missing.
    pub async fn next(&mut self) -> Result<Option<String>> {
        let announcement = self.0.next().await?;
        let announcement = announcement
            .and_then(|announcement| serde_json::from_str::<Announcement>(&announcement).ok());
        Ok(announcement.map(|announcement| announcement.job_type))
    }
}
