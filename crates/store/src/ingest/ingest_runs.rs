//! Runs of the indexer (seed 002's `repo_rag_index_job`): what people ask for and are told of. Jobs do them; those of
//! one project take turns.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{AuditAction, IngestRunId, IngestStatus, ProjectId, RepositoryId};

use crate::audit::{self, Chain, NewEvent};
use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::repositories::{self, Repository};
use crate::{Error, Store, Tx};

/// The kind of job that does a run; it is told the run's id.
pub const JOB: &str = "index_repository";
/// How often one is begun before it is given up. A run counts its attempts itself, and has fewer.
pub const JOB_STARTS: u16 = 100;

/// A run as stored.
#[derive(Debug, Clone)]
pub struct IngestRun {
    /// Identifier.
    pub id: IngestRunId,
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
    /// Whether an attempt before this one may have changed what is stored; only [`begin`] tells.
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
) -> Result<IngestRun, Error> {
    // One at a time per repository decides, so that two callers can't both find nothing open.
    repositories::lock(tx, repository.id).await?;
    enqueue_held(tx, repository, requested_ref).await
}

async fn enqueue_held(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<IngestRun, Error> {
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
/// ([`last_requested_ref`]); another would take the place of what is in the index, or is about to be.
pub async fn enqueue_reindex(tx: &mut Tx, repository: &Repository) -> Result<IngestRun, Error> {
    let last_requested_ref = last_requested_ref(tx, repository).await?;
    enqueue_held(tx, repository, &last_requested_ref).await
}

/// The ref that was asked for last, empty for the default branch: that of the newest run that has not failed,
/// which may still wait or be at work. Until the transaction ends nobody asks for another.
pub async fn last_requested_ref(tx: &mut Tx, repository: &Repository) -> Result<String, Error> {
    // First, so that a ref that somebody else asks for meanwhile counts.
    repositories::lock(tx, repository.id).await?;
    let last_requested_ref = sqlx::query_scalar!(
        "select requested_ref from ingest_runs where repository_id = $1
         order by status = 'FAILED', queued_at desc limit 1",
        repository.id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(last_requested_ref.unwrap_or_default())
}

/// Whether this commit is what is in the index, and stays: no run is open that may have read another already.
pub async fn has_indexed(
    store: &Store,
    repository: RepositoryId,
    commit: &str,
) -> Result<bool, Error> {
    let has_read = sqlx::query_scalar!(
        r#"select r.source_ref = $2 and not exists (
               select from ingest_runs o where o.repository_id = r.id and o.status in ('QUEUED', 'RUNNING'))
               as "has_read!"
           from repositories r where r.id = $1"#,
        repository.0,
        commit
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    Ok(has_read.unwrap_or_default())
}

/// Whether the newest run at this ref has failed, and so long ago.
pub async fn has_failed(
    store: &Store,
    repository: RepositoryId,
    requested_ref: &str,
    ago: Duration,
) -> Result<bool, Error> {
    let has_failed = sqlx::query_scalar!(
        r#"select status = 'FAILED' and coalesce(completed_at, queued_at) <= now() - make_interval(secs => $3)
               as "has_failed!"
           from ingest_runs where repository_id = $1 and requested_ref = $2
           order by queued_at desc limit 1"#,
        repository.0,
        requested_ref,
        ago.as_secs_f64()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    Ok(has_failed.unwrap_or_default())
}

async fn insert(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<uuid::Uuid, Error> {
    let id = sqlx::query_scalar!(
        "insert into ingest_runs (id, project_id, repository_id, requested_ref)
         values ($1, $2, $3, $4) returning id",
        IngestRunId::generate().0,
        repository.project_id.0,
        repository.id.0,
        requested_ref
    )
    .fetch_one(&mut *tx.0)
    .await?;
    ask(tx, id).await?;
    let actor = tx.1.entry.map(|entry| entry.principal);
    let event = NewEvent::new(AuditAction::IngestRunRequested, id);
    audit::add(tx, Chain::Project(repository.project_id), actor, &[event]);
    Ok(id)
}

/// Has a job do the run.
async fn ask(tx: &mut Tx, id: uuid::Uuid) -> Result<(), Error> {
    let job = NewJob {
        kind: JOB,
        unique_key: None,
        args: serde_json::json!({ "run": id }),
        delay: Duration::ZERO,
        max_attempts: i32::from(JOB_STARTS),
    };
    let job = jobs::enqueue(tx, &job).await?;
    sqlx::query!("update ingest_runs set job_id = $2 where id = $1", id, job)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}

/// What becomes of a run whose job is begun.
#[derive(Debug)]
pub enum StartOutcome {
    /// It is at work now.
    Begun(Box<IngestRun>),
    /// Another run of the project is; this one gets another job when that one ends.
    Later,
    /// There is nothing to do: it has ended, or is gone.
    Over,
}

/// Begins a run, or goes on with it, in the name of `worker`, which nobody else ever had; who had it before has lost
/// it. Runs of one project take turns. One whose attempts are used up fails instead: it ended its process each time.
pub async fn begin(store: &Store, id: IngestRunId, worker: &str) -> Result<StartOutcome, Error> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(StartOutcome::Over) };
    lock_project_queue(&mut tx, project).await?;
    let begun = sqlx::query!(
        r#"with due as (
               select r.id, r.started_at is not null as is_resumed from ingest_runs r
               where r.id = $1 and r.status in ('QUEUED', 'RUNNING') and r.attempt < r.max_attempts
                 and not exists (select from ingest_runs o where o.project_id = r.project_id
                                 and o.id <> r.id and o.status = 'RUNNING'))
           update ingest_runs r set status = 'RUNNING', attempt = attempt + 1, worker = $2,
               started_at = now(), completed_at = null
           from due where r.id = due.id
           returning due.is_resumed as "is_resumed!""#,
        id.0,
        worker
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let turn = match begun {
        Some(begun) => {
            let ingest = fetch(&mut *tx.0, id).await?.ok_or(Error::Gone)?;
            StartOutcome::Begun(Box::new(IngestRun { is_resumed: begun.is_resumed, ..ingest }))
        }
        None => refused(&mut tx, id, project).await?,
    };
    tx.commit().await?;
    Ok(turn)
}

/// Why a run is not begun.
async fn refused(tx: &mut Tx, id: IngestRunId, project: ProjectId) -> Result<StartOutcome, Error> {
    // A process that dies reports nothing, so its last attempt is seen here: a run that ends whoever works on it
    // must not go on for ever.
    let is_used_up = sqlx::query!(
        "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message', format('the process died in attempt %s of %s; its log may tell on which '
                     'file: leave that out with .mcpignore, then ask for the run again',
                     attempt, max_attempts),
                 'at', now(), 'attempt', attempt)
         where id = $1 and status in ('QUEUED', 'RUNNING') and attempt >= max_attempts",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    if is_used_up.rows_affected() == 1 {
        start_next(tx, project).await?;
        return Ok(StartOutcome::Over);
    }
    let waits = sqlx::query!(
        "update ingest_runs set job_id = null where id = $1 and status = 'QUEUED'",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(if waits.rows_affected() == 1 { StartOutcome::Later } else { StartOutcome::Over })
}

async fn project_of(tx: &mut Tx, id: IngestRunId) -> Result<Option<ProjectId>, Error> {
    let project = sqlx::query_scalar!("select project_id from ingest_runs where id = $1", id.0)
        .fetch_optional(&mut *tx.0)
        .await?;
    Ok(project.map(ProjectId::from))
}

/// Until the transaction ends nobody else begins or ends a run of the project.
async fn lock_project_queue(tx: &mut Tx, project: ProjectId) -> Result<(), Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, hashtext('ingest_runs')))",
        project.0.to_string()
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Has the run begun that has waited longest for its turn, unless one of the project is at work.
async fn start_next(tx: &mut Tx, project: ProjectId) -> Result<(), Error> {
    let next = sqlx::query_scalar!(
        "select r.id from ingest_runs r
         where r.project_id = $1 and r.status = 'QUEUED' and r.job_id is null
           and not exists (select from ingest_runs o
                           where o.project_id = $1 and o.status = 'RUNNING')
         order by r.queued_at limit 1",
        project.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if let Some(next) = next {
        ask(tx, next).await?;
    }
    Ok(())
}

/// Looks after runs whose jobs were given up or thrown away, which fail, and those that nobody will give a turn to;
/// answers how many.
pub async fn rescue_orphans(store: &Store) -> Result<u64, Error> {
    let abandoned = sqlx::query!(
        r#"update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
               last_error = jsonb_build_object(
                   'message', 'its job was given up or thrown away (memory-copilot jobs list); ask for the run again',
                   'at', now(), 'attempt', attempt)
           where status in ('QUEUED', 'RUNNING') and job_id is not null and not mc.is_job_active(job_id)
           returning project_id"#
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let waiting = sqlx::query_scalar!(
        "select distinct r.project_id from ingest_runs r
         where r.status = 'QUEUED' and r.job_id is null
           and not exists (select from ingest_runs o
                           where o.project_id = r.project_id and o.status = 'RUNNING')"
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    for project in &waiting {
        let project = ProjectId::from(*project);
        let mut tx = store.begin().await?;
        lock_project_queue(&mut tx, project).await?;
        start_next(&mut tx, project).await?;
        tx.commit().await?;
    }
    Ok((abandoned.len() + waiting.len()) as u64)
}

/// Has a run begin anew whose job is: it had failed when that was given up.
pub(crate) async fn requeue_failed(tx: &mut Tx, job: &str) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'QUEUED', attempt = 0, completed_at = null
         where job_id = $1 and status = 'FAILED'",
        job
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Ends a run whose job is thrown away, so that whoever asks for it from now on gets another.
pub(crate) async fn fail_for_deleted_job(tx: &mut Tx, job: &str) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message', 'its job was thrown away (memory-copilot jobs delete); ask for the run again',
                 'at', now(), 'attempt', attempt)
         where job_id = $1 and status in ('QUEUED', 'RUNNING')",
        job
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Gives a run back whose node stops in good order. The attempt does not count: however often the service is
/// restarted, the run goes on.
pub async fn release(store: &Store, id: IngestRunId, worker: &str) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'QUEUED', worker = null, attempt = greatest(attempt - 1, 0)
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Notes progress; `false` when the run was taken by another.
pub async fn progress(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    counts: &Counts,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update ingest_runs set files_total = $3, files_done = $4, files_changed = $5,
             files_deleted = $6, files_skipped = $7, chunks_written = $8, chunks_reused = $9
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
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run well; the next one of the project has its turn.
pub async fn succeed(store: &Store, id: IngestRunId, worker: &str) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(()) };
    lock_project_queue(&mut tx, project).await?;
    sqlx::query!(
        "update ingest_runs set status = 'SUCCEEDED', completed_at = now(), last_error = null
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker
    )
    .execute(&mut *tx.0)
    .await?;
    start_next(&mut tx, project).await?;
    tx.commit().await
}

/// Ends an attempt badly: the run waits for its job to be begun again, or has failed for good where that `is_final`,
/// or its attempts are used up. Others of the project have their turn. Answers the status it has now.
pub async fn fail(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    message: &str,
    is_final: bool,
) -> Result<IngestStatus, Error> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(IngestStatus::Failed) };
    lock_project_queue(&mut tx, project).await?;
    let status = sqlx::query_scalar!(
        "update ingest_runs set
             status = case when $4 or attempt >= max_attempts then 'FAILED' else 'QUEUED' end,
             completed_at = case when $4 or attempt >= max_attempts then now() end,
             last_error = jsonb_build_object('message', $3::text, 'at', now(), 'attempt', attempt)
         where id = $1 and worker = $2 and status = 'RUNNING'
         returning status",
        id.0,
        worker,
        message,
        is_final
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    start_next(&mut tx, project).await?;
    tx.commit().await?;
    word(status.as_deref().unwrap_or("FAILED"))
}

/// The run with this id.
pub async fn find(store: &Store, id: IngestRunId) -> Result<Option<IngestRun>, Error> {
    fetch(&mut *store.read().await?, id).await
}

async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    id: IngestRunId,
) -> Result<Option<IngestRun>, Error> {
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
) -> Result<Vec<IngestRun>, Error> {
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
    fn into_ingest(self) -> Result<IngestRun, Error> {
        Ok(IngestRun {
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
