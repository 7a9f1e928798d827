//! Requests of index runs, and their jobs, which may be discarded, deleted or retried.

use std::time::Duration;

use mc_domain::{AuditAction, IngestRunId, ProjectId, RepositoryId};

use super::attempt::{lock_project_queue, start_next};
use super::{IngestRun, JOB, JOB_ATTEMPTS, fetch};
use crate::audit::{self, Chain, NewEvent};
use crate::jobs::{self, NewJob};
use crate::repositories::{self, Repository};
use crate::{Error, Result, Store, Tx};

/// Requests a run and records the audit event. A queued run of the same repository and ref is
/// returned instead; a running one may have passed the change, so another is queued after it.
pub async fn enqueue(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<IngestRun> {
    // Locks the repository, so that two callers can't both find no queued run.
    repositories::lock(tx, repository.id).await?;
    enqueue_held(tx, repository, requested_ref).await
}

async fn enqueue_held(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<IngestRun> {
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
    fetch(&mut *tx.0, id.into()).await?.ok_or(Error::DeletedConcurrently)
}

/// Requests another run at [`last_requested_ref`]. Another ref would replace the content of the
/// index, or of the run in progress.
pub async fn enqueue_reindex(tx: &mut Tx, repository: &Repository) -> Result<IngestRun> {
    let last_requested_ref = last_requested_ref(tx, repository).await?;
    enqueue_held(tx, repository, &last_requested_ref).await
}

/// Returns the ref of the newest run that has not failed, queued and running ones included; empty
/// for the default branch. Locks the repository against other requests until the transaction ends.
pub async fn last_requested_ref(tx: &mut Tx, repository: &Repository) -> Result<String> {
    // Locked first, so that a concurrent request counts.
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

/// Returns whether the whole index is at this commit and no queued or running run may change that.
pub async fn has_indexed(store: &Store, repository: RepositoryId, commit: &str) -> Result<bool> {
    let has_read = sqlx::query_scalar!(
        r#"select r.source_ref = $2 and not r.is_partial and not exists (
               select from ingest_runs o where o.repository_id = r.id and o.status in ('QUEUED',
                   'RUNNING'))
               as "has_read!"
           from repositories r where r.id = $1"#,
        repository.0,
        commit
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    Ok(has_read.unwrap_or_default())
}

/// Returns whether the run that ended last has failed, at least `ago` ago. A run of any ref may
/// have left the index partial.
pub async fn has_failed(store: &Store, repository: RepositoryId, ago: Duration) -> Result<bool> {
    let has_failed = sqlx::query_scalar!(
        r#"select status = 'FAILED' and coalesce(completed_at,
               queued_at) <= now() - make_interval(secs => $2)
               as "has_failed!"
           from ingest_runs where repository_id = $1
           order by coalesce(completed_at, queued_at) desc, queued_at desc limit 1"#,
        repository.0,
        ago.as_secs_f64()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    Ok(has_failed.unwrap_or_default())
}

async fn insert(tx: &mut Tx, repository: &Repository, requested_ref: &str) -> Result<uuid::Uuid> {
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
    enqueue_job(tx, id).await?;
    let actor = tx.principal();
    let event = NewEvent::new(AuditAction::IngestRunRequested, id);
    audit::add(tx, Chain::Project(repository.project_id), actor, &[event]);
    Ok(id)
}

/// Enqueues the job of a run.
pub(super) async fn enqueue_job(tx: &mut Tx, id: uuid::Uuid) -> Result<()> {
    let job = NewJob::now(JOB, serde_json::json!({ "run": id }), JOB_ATTEMPTS);
    let job = jobs::enqueue(tx, &job).await?;
    tx.run(sqlx::query!("update ingest_runs set job_id = $2 where id = $1", id, job)).await
}

/// Fails runs whose job was discarded or deleted, and enqueues waiting runs of projects where none
/// is running. Returns the number of both.
pub async fn rescue_orphans(store: &Store) -> Result<u64> {
    let abandoned = sqlx::query!(
        r#"update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
               last_error = jsonb_build_object(
                   'message', 'the job was discarded or deleted; request the run again',
                   'at', now(), 'attempt', attempt)
           where status in ('QUEUED', 'RUNNING') and job_id is not null
               and not mc.is_job_active(job_id)
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

/// Queues the failed run of a retried job again.
pub(crate) async fn requeue_failed(tx: &mut Tx, job: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "update ingest_runs set status = 'QUEUED', attempt = 0, completed_at = null
         where job_id = $1 and status = 'FAILED'",
        job
    ))
    .await
}

/// Fails the run of a deleted job, so that the next request gets another run.
pub(crate) async fn fail_for_deleted_job(tx: &mut Tx, job: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message',
                     'the job was deleted (memory-copilot jobs delete); request the run again',
                 'at', now(), 'attempt', attempt)
         where job_id = $1 and status in ('QUEUED', 'RUNNING')",
        job
    ))
    .await
}
