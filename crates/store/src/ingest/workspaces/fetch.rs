//! Attempts to fetch a workspace.

use mc_domain::{IngestRunId, NodeId, RepositoryId, WorkspaceId};

use crate::repositories::{self, Repository};
use crate::{Result, Store, Tx};

/// What to fetch.
#[derive(Debug)]
pub struct FetchTarget {
    /// The repository.
    pub repository: Repository,
    /// Branch, tag or commit; empty for the default branch.
    pub requested_ref: String,
    /// Whether only the newest commit is fetched.
    pub is_shallow: bool,
}

/// The result of a fetch.
#[derive(Debug, Clone, Copy)]
pub struct Fetch<'a> {
    /// Fetched ref; empty if the host names no default branch.
    pub git_ref: &'a str,
    /// Fetched commit; empty for an empty repository.
    pub commit: &'a str,
    /// Bytes on the disk.
    pub size_bytes: i64,
    /// The index run of the commit.
    pub ingest_run: IngestRunId,
}

/// Starts an attempt to fetch a workspace to a node. `attempt` is a name used once; a former
/// attempt loses the workspace. Returns `None` if there is nothing to fetch: it was deleted, has
/// its files, or its repository is gone.
pub async fn begin(
    store: &Store,
    id: WorkspaceId,
    node: NodeId,
    attempt: &str,
) -> Result<Option<FetchTarget>> {
    let row = sqlx::query!(
        "update workspaces set state = 'fetching', node_id = $2, attempt = $3,
             fetch_started_at = now()
         where id = $1 and kind = 'clone' and state in ('queued', 'fetching')
             and repository_id is not null
         returning repository_id, requested_ref, is_shallow",
        id.0,
        node.0,
        attempt
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(repository) = row.repository_id else { return Ok(None) };
    let repository = repositories::by_id(store, repository.into()).await?;
    Ok(repository.map(|repository| FetchTarget {
        repository,
        requested_ref: row.requested_ref,
        is_shallow: row.is_shallow,
    }))
}

/// Stores that an attempt has fetched the files. Returns `false` if another attempt has the
/// workspace, or if it was deleted.
pub async fn succeed(
    tx: &mut Tx,
    id: WorkspaceId,
    attempt: &str,
    fetch: Fetch<'_>,
) -> Result<bool> {
    tx.run(sqlx::query!(
        "update ingest_runs r set fetch_started_at = w.fetch_started_at
         from workspaces w where r.id = $3 and w.id = $1 and w.attempt = $2",
        id.0,
        attempt,
        fetch.ingest_run.0
    ))
    .await?;
    tx.has_changed(sqlx::query!(
        "update workspaces set state = 'ready', attempt = null, git_ref = $3, commit_id = $4,
             size_bytes = $5, ingest_run_id = $6, last_error = null, fetched_at = now(),
             used_at = now()
         where id = $1 and attempt = $2 and state = 'fetching'",
        id.0,
        attempt,
        fetch.git_ref,
        fetch.commit,
        fetch.size_bytes,
        fetch.ingest_run.0
    ))
    .await
}

/// Returns the workspace with the commit of an index run, if its files are on this node, and the
/// commit.
pub async fn of_run(
    store: &Store,
    run: IngestRunId,
    node: NodeId,
) -> Result<Option<(WorkspaceId, String)>> {
    let row = sqlx::query!(
        "select id, commit_id from workspaces
         where ingest_run_id = $1 and node_id = $2 and state = 'ready' and commit_id <> ''
         order by fetched_at desc limit 1",
        run.0,
        node.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    Ok(row.map(|row| (row.id.into(), row.commit_id)))
}

/// Stores the error of an attempt, masked. The workspace waits for the next attempt of its job, or
/// fails if `is_final`. If the job has no attempt left, [`fail_abandoned`] fails it.
pub async fn fail(
    store: &Store,
    id: WorkspaceId,
    attempt: &str,
    message: &str,
    is_final: bool,
) -> Result<()> {
    let message = mc_sanitizer::mask(message).text.into_string();
    let mut tx = store.begin().await?;
    let repository = sqlx::query_scalar!(
        "update workspaces set state = case when $4 then 'failed' else 'queued' end,
             attempt = null, last_error = jsonb_build_object('message', $3::text, 'at', now())
         where id = $1 and attempt = $2 and state = 'fetching'
         returning repository_id",
        id.0,
        attempt,
        message,
        is_final
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if let Some(repository) = repository.flatten().filter(|_| is_final) {
        delete_unused(&mut tx, repository.into()).await?;
    }
    tx.commit().await
}

/// Deletes a repository that the request of a failed fetch has added, unless it is used: its URL
/// may be misspelt, and would keep the name from the right one.
async fn delete_unused(tx: &mut Tx, repository: RepositoryId) -> Result<()> {
    let is_used = sqlx::query_scalar!(
        r#"select exists (select from workspaces where repository_id = $1 and state <> 'failed')
               as "is_used!""#,
        repository.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    if is_used { Ok(()) } else { repositories::delete_never_indexed(tx, repository).await }
}

/// Returns a workspace to the queue because its node stops.
pub async fn release(store: &Store, id: WorkspaceId, attempt: &str) -> Result<()> {
    sqlx::query!(
        "update workspaces set state = 'queued', attempt = null
         where id = $1 and attempt = $2 and state = 'fetching'",
        id.0,
        attempt
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Fails the workspaces whose job was discarded or deleted. Returns their number.
pub async fn fail_abandoned(store: &Store) -> Result<u64> {
    let failed = sqlx::query!(
        "update workspaces set state = 'failed', attempt = null,
             last_error = coalesce(last_error, jsonb_build_object(
                 'message', 'the job was discarded or deleted; fetch the repository again',
                 'at', now()))
         where state in ('queued', 'fetching') and job_id is not null
             and not mc.is_job_active(job_id)"
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(failed.rows_affected())
}
