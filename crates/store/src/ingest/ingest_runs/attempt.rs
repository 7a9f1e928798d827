//! Attempts of index runs: start, progress and end.

use mc_domain::{AuditAction, IngestRunId, IngestStatus, ProjectId, RepositoryId};

use super::request::enqueue_job;
use super::{Counts, IngestRun, fetch};
use crate::audit::{self, NewEvent};
use crate::error::word;
use crate::{Error, Result, Store, Tx, repositories};

/// The result of [`begin`].
#[derive(Debug)]
pub enum StartOutcome {
    /// The run is running.
    Started(Box<IngestRun>),
    /// Another run of the project is running; this one is enqueued again when that one ends.
    Waiting,
    /// The run has ended or was deleted.
    Ended,
}

/// Starts or resumes a run for `worker`, a name used once; a former worker loses the run. Runs of
/// one project run one at a time. A run without attempts left fails: its process died in each of
/// them.
pub async fn begin(store: &Store, id: IngestRunId, worker: &str) -> Result<StartOutcome> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(StartOutcome::Ended) };
    lock_project_queue(&mut tx, project).await?;
    let started = sqlx::query!(
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
    let outcome = match started {
        Some(started) => {
            let ingest = fetch(&mut *tx.0, id).await?.ok_or(Error::DeletedConcurrently)?;
            StartOutcome::Started(Box::new(IngestRun { is_resumed: started.is_resumed, ..ingest }))
        }
        None => reject(&mut tx, id, project).await?,
    };
    tx.commit().await?;
    Ok(outcome)
}

/// Returns why a run can't start, and fails one without attempts left.
async fn reject(tx: &mut Tx, id: IngestRunId, project: ProjectId) -> Result<StartOutcome> {
    // A process that dies reports nothing, so its last attempt is detected here: a run that kills
    // its workers must not go on forever.
    let is_used_up = tx
        .has_changed(sqlx::query!(
            "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message',
                     format('the process died in attempt %s of %s; find the file in its '
                     'log, exclude it with .mcpignore, then request the run again',
                     attempt, max_attempts),
                 'at', now(), 'attempt', attempt)
         where id = $1 and status in ('QUEUED', 'RUNNING') and attempt >= max_attempts",
            id.0
        ))
        .await?;
    if is_used_up {
        start_next(tx, project).await?;
        return Ok(StartOutcome::Ended);
    }
    let waits = tx
        .has_changed(sqlx::query!(
            "update ingest_runs set job_id = null where id = $1 and status = 'QUEUED'",
            id.0
        ))
        .await?;
    Ok(if waits { StartOutcome::Waiting } else { StartOutcome::Ended })
}

async fn project_of(tx: &mut Tx, id: IngestRunId) -> Result<Option<ProjectId>> {
    let project = sqlx::query_scalar!("select project_id from ingest_runs where id = $1", id.0)
        .fetch_optional(&mut *tx.0)
        .await?;
    Ok(project.map(ProjectId::from))
}

/// Locks the runs of a project against other starts and ends until the transaction ends.
pub(super) async fn lock_project_queue(tx: &mut Tx, project: ProjectId) -> Result<()> {
    tx.run(sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, hashtext('ingest_runs')))",
        project.0.to_string()
    ))
    .await
}

/// Enqueues the longest waiting run of the project, unless one is running.
pub(super) async fn start_next(tx: &mut Tx, project: ProjectId) -> Result<()> {
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
        enqueue_job(tx, next).await?;
    }
    Ok(())
}

/// Stores the counts of a run; returns `false` if another worker has taken it.
pub async fn progress(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    counts: &Counts,
) -> Result<bool> {
    let done = sqlx::query!(
        "update ingest_runs set files_total = $3, files_done = $4, files_changed = $5,
             files_deleted = $6, files_skipped = $7, chunks_written = $8, chunks_reused = $9,
             failed_files = $10, file_errors = $11
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker,
        counts.files_total,
        counts.files_done,
        counts.files_changed,
        counts.files_deleted,
        serde_json::json!(counts.files_skipped),
        counts.chunks_written,
        counts.chunks_reused,
        counts.failed_files,
        serde_json::json!(counts.file_errors)
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps a run with its worker until the transaction ends: others can neither take it over nor end
/// it meanwhile. Returns `false` if they already have, so that a worker that was presumed dead
/// can't write files of its commit into an index that seems complete.
pub async fn hold(
    tx: &mut Tx,
    repository: RepositoryId,
    id: IngestRunId,
    worker: &str,
) -> Result<bool> {
    // In the order in which `cancel` locks both, so that neither waits for the other. A write of
    // the repository's rows needs the first lock anyway.
    sqlx::query_scalar!("select id from repositories where id = $1 for key share", repository.0)
        .fetch_optional(&mut *tx.0)
        .await?;
    let held = sqlx::query_scalar!(
        "select id from ingest_runs where id = $1 and worker = $2 and status = 'RUNNING' for share",
        id.0,
        worker
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(held.is_some())
}

/// Returns a run to the queue because its node stops. The attempt is not counted: restarts of the
/// service don't use up the attempts.
pub async fn release(store: &Store, id: IngestRunId, worker: &str) -> Result<()> {
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

/// Ends a run successfully and enqueues the next one of the project.
pub async fn succeed(store: &Store, id: IngestRunId, worker: &str) -> Result<()> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(()) };
    lock_project_queue(&mut tx, project).await?;
    tx.run(sqlx::query!(
        "update ingest_runs set status = 'SUCCEEDED', completed_at = now(), last_error = null
         where id = $1 and worker = $2 and status = 'RUNNING'",
        id.0,
        worker
    ))
    .await?;
    start_next(&mut tx, project).await?;
    tx.commit().await
}

/// Ends a queued or running run on behalf of a user and enqueues the next one of the project; its
/// worker stops at its next step. A repository that no run has indexed is deleted with it, as by
/// [`fail`]. Returns `false` if the run has ended before.
pub async fn cancel(store: &Store, id: IngestRunId, cancelled_by: &str) -> Result<bool> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(false) };
    lock_project_queue(&mut tx, project).await?;
    let repository = repositories::lock_of_run(&mut tx, id).await?;
    let is_cancelled = tx
        .has_changed(sqlx::query!(
            "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message', format('cancelled by %s; request the run again to complete it',
                                   $2::text),
                 'at', now(), 'attempt', attempt)
         where id = $1 and status in ('QUEUED', 'RUNNING')",
            id.0,
            cancelled_by
        ))
        .await?;
    if is_cancelled {
        if let Some(repository) = repository {
            repositories::delete_never_indexed(&mut tx, repository).await?;
        }
        start_next(&mut tx, project).await?;
        let event = NewEvent::new(AuditAction::IngestRunCancelled, id);
        audit::record(&mut tx, event);
        tx.commit().await?;
    }
    Ok(is_cancelled)
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The error.
    pub message: &'a str,
    /// Its causes, the nearest one first.
    pub causes: &'a [String],
    /// Whether no attempt can succeed.
    pub is_final: bool,
}

/// Ends an attempt with an error. The run waits for the next attempt of its job, or fails if the
/// failure is final or if no attempts are left; the next run of the project is enqueued. A
/// repository that no run has indexed is deleted with its last run: its URL may be misspelt, and
/// would keep the name from the right one. Returns the new status.
pub async fn fail(
    store: &Store,
    id: IngestRunId,
    worker: &str,
    failure: Failure<'_>,
) -> Result<IngestStatus> {
    let mut tx = store.begin().await?;
    let Some(project) = project_of(&mut tx, id).await? else { return Ok(IngestStatus::Failed) };
    lock_project_queue(&mut tx, project).await?;
    let repository = repositories::lock_of_run(&mut tx, id).await?;
    let status = sqlx::query_scalar!(
        "update ingest_runs set
             status = case when $4 or attempt >= max_attempts then 'FAILED' else 'QUEUED' end,
             completed_at = case when $4 or attempt >= max_attempts then now() end,
             last_error = jsonb_build_object('message', $3::text, 'causes', $5::jsonb, 'at', now(),
                                             'attempt', attempt)
         where id = $1 and worker = $2 and status = 'RUNNING'
         returning status",
        id.0,
        worker,
        failure.message,
        failure.is_final,
        serde_json::json!(failure.causes)
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let status = status.as_deref().map(word).transpose()?;
    // Without a status, the run was cancelled, or has another worker.
    if let Some(repository) = repository.filter(|_| status == Some(IngestStatus::Failed)) {
        repositories::delete_never_indexed(&mut tx, repository).await?;
    }
    start_next(&mut tx, project).await?;
    tx.commit().await?;
    Ok(status.unwrap_or(IngestStatus::Failed))
}
