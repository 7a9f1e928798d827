//! Requests of index runs, and their jobs.

use std::time::Duration;

use mc_domain::{AuditAction, IngestRunId, RepositoryId};

use super::{IngestRun, JOB, JOB_ATTEMPTS, fetch};
use crate::audit::{self, Chain, NewEvent};
use crate::jobs::{self, NewJob};
use crate::repositories::{self, Repository};
use crate::{Error, Store, Tx};

/// Requests a run and records the audit event. A queued run of the same repository and ref is
/// returned instead; a running one may have passed the change, so another is queued after it.
pub async fn enqueue(
    tx: &mut Tx,
    repository: &Repository,
    requested_ref: &str,
) -> Result<IngestRun, Error> {
    // Locks the repository, so that two callers can't both find no queued run.
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
    fetch(&mut *tx.0, id.into()).await?.ok_or(Error::DeletedConcurrently)
}

/// Requests another run at [`last_requested_ref`]. Another ref would replace the content of the
/// index, or of the run in progress.
pub async fn enqueue_reindex(tx: &mut Tx, repository: &Repository) -> Result<IngestRun, Error> {
    let last_requested_ref = last_requested_ref(tx, repository).await?;
    enqueue_held(tx, repository, &last_requested_ref).await
}

/// Returns the ref of the newest run that has not failed, queued and running ones included; empty
/// for the default branch. Locks the repository against other requests until the transaction ends.
pub async fn last_requested_ref(tx: &mut Tx, repository: &Repository) -> Result<String, Error> {
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

/// Returns whether the index is at this commit and no queued or running run may change that.
pub async fn has_indexed(
    store: &Store,
    repository: RepositoryId,
    commit: &str,
) -> Result<bool, Error> {
    let has_read = sqlx::query_scalar!(
        r#"select r.source_ref = $2 and not exists (
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

/// Returns whether the newest run at this ref failed at least `ago` ago.
pub async fn has_failed(
    store: &Store,
    repository: RepositoryId,
    requested_ref: &str,
    ago: Duration,
) -> Result<bool, Error> {
    let has_failed = sqlx::query_scalar!(
        r#"select status = 'FAILED' and coalesce(completed_at,
               queued_at) <= now() - make_interval(secs => $3)
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
    enqueue_job(tx, id).await?;
    let actor = tx.principal();
    let event = NewEvent::new(AuditAction::IngestRunRequested, id);
    audit::add(tx, Chain::Project(repository.project_id), actor, &[event]);
    Ok(id)
}

/// Enqueues the job of a run.
pub(super) async fn enqueue_job(tx: &mut Tx, id: uuid::Uuid) -> Result<(), Error> {
    let job = NewJob {
        kind: JOB,
        unique_key: None,
        args: serde_json::json!({ "run": id }),
        delay: Duration::ZERO,
        max_attempts: i32::from(JOB_ATTEMPTS),
    };
    let job = jobs::enqueue(tx, &job).await?;
    sqlx::query!("update ingest_runs set job_id = $2 where id = $1", id, job)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}
