//! Background work as rows: asked for, begun, ended, looked at. The rows are those of apalis's queue,
//! reached by the functions of `migrations/0008_jobs.sql`; what takes them off it is `mc-jobs`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::JobState;
use serde::Deserialize;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::raw_sql;

use crate::error::word;
use crate::{Error, Listener, Store, Tx, ingest_runs};

/// The channel on which the queue tells of what was put into it.
const INSERTED: &str = "apalis::job::insert";

/// Work to be done.
#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    /// Which.
    pub kind: &'a str,
    /// What makes it the same as another of its kind, which is then not asked for again as long as that
    /// one is kept.
    pub unique_key: Option<&'a str>,
    /// What it needs to know. For people who look at the queue, too: no secrets.
    pub args: Value,
    /// When it may begin, from now.
    pub delay: Duration,
    /// How often it is begun before it is given up.
    pub max_attempts: i32,
}

/// A job as it is kept.
#[derive(Debug, Clone)]
pub struct JobRow {
    /// Identifier, in the order of asking.
    pub id: String,
    /// What it does.
    pub kind: String,
    /// What it is known by among its kind.
    pub unique_key: Option<String>,
    /// What it was told.
    pub args: Value,
    /// Where it is in its life.
    pub state: JobState,
    /// How often it was begun.
    pub attempts: i32,
    /// How often it is begun at most.
    pub max_attempts: i32,
    /// When it may begin, or might have.
    pub scheduled_at: DateTime<Utc>,
    /// Who has it, or had it last.
    pub worker: Option<String>,
    /// When that one took or began it.
    pub attempted_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub completed_at: Option<DateTime<Utc>>,
    /// Why its last start failed.
    pub last_error: Option<String>,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// In this state.
    pub state: Option<JobState>,
    /// Of this kind.
    pub kind: Option<String>,
    /// Asked for before this one.
    pub cursor: Option<String>,
}

/// What a [`sweep`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceReport {
    /// Jobs that a worker held which is no more.
    pub rescued: i64,
    /// Jobs that were given up: the process had died each time they were begun.
    pub discarded: i64,
    /// Jobs forgotten that had ended long ago.
    pub pruned: i64,
}

/// The start of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobAttempt {
    /// The how-manyth.
    pub number: i32,
    /// Of how many.
    pub max_attempts: i32,
}

/// How a start ended.
#[derive(Debug, Clone, Copy)]
pub enum JobOutcome<'a> {
    /// The work is done.
    Done,
    /// It is not, and is begun again after a while, or given up.
    Failed {
        /// Why, without secrets.
        reason: &'a str,
        /// After how long; never when absent.
        again_in: Option<Duration>,
    },
}

/// Connections of the library that takes jobs off the queue.
pub type ApalisPool = PgPool;

/// So many of them.
const LIBRARY: u32 = 2;

/// Connections to the store's database for the library that takes jobs off the queue, which are nobody else's. Where
/// one of its workers is dropped, sqlx gives its connection back in the transaction that it had begun: whoever had it
/// next would write into that, and hold its locks, for ever.
pub fn queue(store: &Store) -> ApalisPool {
    let options = PgConnectOptions::clone(&store.pool.inner().connect_options());
    PgPoolOptions::new()
        .max_connections(LIBRARY)
        .after_release(|connection, _| {
            Box::pin(async move {
                // Ends what may be open, and complains of nothing where nothing is; fails, and so closes the
                // connection, where what is open has failed.
                raw_sql("begin; rollback").execute(connection).await?;
                Ok(true)
            })
        })
        .connect_lazy_with(options)
}

/// Asks for work within a transaction, with which it is done or not; answers the job's id, or `None` where the same
/// was asked for already.
pub async fn enqueue(tx: &mut Tx, job: &NewJob<'_>) -> Result<Option<String>, Error> {
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

/// Whether a job could be begun by now and is not; one that is not there is not.
pub(crate) async fn is_due(tx: &mut Tx, id: Option<&str>) -> Result<bool, Error> {
    let Some(id) = id else { return Ok(false) };
    Ok(sqlx::query_scalar!(r#"select mc.is_job_due($1) as "is_due!""#, id)
        .fetch_one(&mut *tx.0)
        .await?)
}

/// Begins a job that `worker` took; `None` where another has it by now.
pub async fn start(store: &Store, id: &str, worker: &str) -> Result<Option<JobAttempt>, Error> {
    Ok(sqlx::query_as!(
        JobAttempt,
        r#"select attempt as "number!", max_attempts as "max_attempts!" from mc.start_job_attempt($1, $2)"#,
        id,
        worker
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Writes down how the start of a job ended; `false` where it is not under way any more.
pub async fn end(
    store: &Store,
    id: &str,
    worker: &str,
    start: JobAttempt,
    end: &JobOutcome<'_>,
) -> Result<bool, Error> {
    let (reason, pause) = match end {
        JobOutcome::Done => (None, None),
        JobOutcome::Failed { reason, again_in } => {
            (Some(*reason), again_in.map(|pause| pause.as_secs_f64()))
        }
    };
    Ok(sqlx::query_scalar!(
        r#"select mc.finish_job($1, $2, $3, $4, $5) as "is_ended!""#,
        id,
        worker,
        start.number,
        reason,
        pause
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Gives back all that a worker holds that works no more; what it had begun is as if it had not been.
pub async fn release(store: &Store, worker: &str) -> Result<(), Error> {
    sqlx::query!("select mc.release_jobs($1)::text", worker)
        .fetch_one(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Has what the workers held whose names begin with `node` be taken for left at the next [`sweep`]: their processes are
/// known to have ended.
pub async fn expire_workers(store: &Store, node: &str) -> Result<(), Error> {
    sqlx::query!("select mc.expire_workers($1)::text", node)
        .fetch_one(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Takes the one effect of some work: `false` where it was taken before. To be called in the transaction of
/// the effect.
pub async fn claim_idempotency_key(tx: &mut Tx, kind: &str, key: &str) -> Result<bool, Error> {
    let taken = sqlx::query!(
        "insert into idempotency_keys (kind, key) values ($1, $2) on conflict do nothing",
        kind,
        key
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Jobs, the newest first.
pub async fn list(store: &Store, filter: &JobFilter, limit: i64) -> Result<Vec<JobRow>, Error> {
    select(store, None, filter, limit).await
}

/// One job.
pub async fn find(store: &Store, id: &str) -> Result<Option<JobRow>, Error> {
    let found = select(store, Some(id), &JobFilter::default(), 1).await?;
    Ok(found.into_iter().next())
}

async fn select(
    store: &Store,
    only: Option<&str>,
    filter: &JobFilter,
    limit: i64,
) -> Result<Vec<JobRow>, Error> {
    let rows = sqlx::query!(
        r#"select id as "id!", kind as "kind!", unique_key, args as "args!", state as "state!",
                  attempts as "attempts!", max_attempts as "max_attempts!",
                  scheduled_at as "scheduled_at!", worker, attempted_at, completed_at,
                  last_result ->> 'Err' as last_error
           from mc.list_jobs($1, $2, $3, $4, $5)"#,
        only,
        filter.state.map(JobState::as_str),
        filter.kind.as_deref(),
        filter.cursor.as_deref(),
        limit
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(JobRow {
                id: row.id,
                kind: row.kind,
                unique_key: row.unique_key,
                args: row.args,
                state: word(&row.state)?,
                attempts: row.attempts,
                max_attempts: row.max_attempts,
                scheduled_at: row.scheduled_at,
                worker: row.worker,
                attempted_at: row.attempted_at,
                completed_at: row.completed_at,
                last_error: row.last_error,
            })
        })
        .collect()
}

/// Has a job that is dead begin anew, with what it was to do; `false` where it is not dead.
pub async fn retry(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    let done = sqlx::query_scalar!(r#"select mc.retry_job($1) as "done!""#, id)
        .fetch_one(&mut *tx.0)
        .await?;
    if done {
        ingest_runs::requeue_failed(tx, id).await?;
    }
    Ok(done)
}

/// Throws a job away that is dead or has not begun; `false` where there is none.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    let done = sqlx::query_scalar!(r#"select mc.delete_job($1) as "done!""#, id)
        .fetch_one(&mut *tx.0)
        .await?;
    if done {
        ingest_runs::fail_for_deleted_job(tx, id).await?;
    }
    Ok(done)
}

/// Frees what workers held that were silent for so long, those that were at work a little `apart` from each
/// other; gives up what ends the process of whoever begins it; and forgets what ended so many days ago.
pub async fn maintain(
    store: &Store,
    silence: Duration,
    apart: Duration,
    kept_days: i32,
) -> Result<MaintenanceReport, Error> {
    Ok(sqlx::query_as!(
        MaintenanceReport,
        r#"select rescued as "rescued!", discarded as "discarded!", pruned as "pruned!"
           from mc.maintain_jobs($1, $2, $3)"#,
        silence.as_secs_f64(),
        apart.as_secs_f64(),
        kept_days
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Tells of jobs as they are asked for, on any node.
#[derive(Debug)]
pub struct JobListener(Listener);

/// What the queue says of a new job.
#[derive(Debug, Deserialize)]
struct Told {
    job_type: String,
}

/// Begins to listen, on a connection of its own.
pub async fn listen(store: &Store) -> Result<JobListener, Error> {
    Ok(JobListener(Listener::to(store, INSERTED).await?))
}

impl JobListener {
    /// The kind of the next new job; `None` where some may have come unseen, since the connection was lost
    /// and made again.
    pub async fn next(&mut self) -> Result<Option<String>, Error> {
        let told = self.0.heard().await?;
        let told = told.and_then(|told| serde_json::from_str::<Told>(&told).ok());
        Ok(told.map(|told| told.job_type))
    }
}
