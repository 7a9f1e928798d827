//! Index runs whose job was discarded, deleted or retried.

use mc_domain::ProjectId;

use super::attempt::{lock_project_queue, start_next};
use crate::{Error, Store, Tx};

/// Fails runs whose job was discarded or deleted, and enqueues waiting runs of projects where none
/// is running. Returns the number of both.
pub async fn rescue_orphans(store: &Store) -> Result<u64, Error> {
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

/// Fails the run of a deleted job, so that the next request gets another run.
pub(crate) async fn fail_for_deleted_job(tx: &mut Tx, job: &str) -> Result<(), Error> {
    sqlx::query!(
        "update ingest_runs set status = 'FAILED', completed_at = now(), worker = null,
             last_error = jsonb_build_object(
                 'message',
                     'the job was deleted (memory-copilot jobs delete); request the run again',
                 'at', now(), 'attempt', attempt)
         where job_id = $1 and status in ('QUEUED', 'RUNNING')",
        job
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}
