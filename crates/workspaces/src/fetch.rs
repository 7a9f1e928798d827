//! Fetching a repository into a workspace, on the node that becomes its own.

use std::fs::{DirBuilder, Permissions, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use mc_domain::{Classified as _, ErrorKind, WorkspaceId};
use mc_git::{CloneRequest, Depth, NetworkAccess};
use mc_indexer::index::GitCredentials as _;
use mc_integrations::git_credentials::ConnectorCredentials;
use mc_memory::content_filter::run_blocking;
use mc_privileges::{is_root, raise_privileges};
use mc_store::workspaces::{self, Fetch, FetchTarget};
use mc_store::{Store, ingest_runs};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{ServiceError, Settings};

/// Dependencies of fetches.
#[derive(Debug, Clone)]
pub struct FetchContext {
    /// The database, with access to every project.
    pub store: Store,
    /// Settings of the node.
    pub settings: Arc<Settings>,
    /// The credentials of private repositories.
    pub credentials: ConnectorCredentials,
}

/// Outcome of [`execute`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Nothing remains to do: it is fetched, was deleted, or another node fetches it.
    Done,
    /// The node stops; a later attempt starts again.
    Stopped,
    /// The attempt failed with this error, and another one may succeed.
    Retry(String),
}

/// Fetches a workspace, and enqueues an index run of its repository. Fails only if the outcome
/// can't be stored.
pub async fn execute(
    ctx: &FetchContext,
    id: WorkspaceId,
    stop: &CancellationToken,
) -> Result<FetchOutcome, mc_store::Error> {
    let FetchContext { store, settings, .. } = ctx;
    // Unique for each attempt, so that one that was presumed dead can't store its outcome.
    let attempt = Uuid::now_v7().to_string();
    let Some(target) = workspaces::begin(store, id, settings.node, &attempt).await? else {
        return Ok(FetchOutcome::Done);
    };
    let error = match fetch(ctx, id, &attempt, &target, stop).await {
        Ok(()) => return Ok(FetchOutcome::Done),
        Err(_) if stop.is_cancelled() => {
            workspaces::release(store, id, &attempt).await?;
            return Ok(FetchOutcome::Stopped);
        }
        Err(error) => error,
    };
    let kind = error.kind();
    let is_final = !(kind.is_transient() || kind == ErrorKind::Internal);
    let message = match kind {
        // Its text has paths of the service or statements of the database.
        ErrorKind::Internal => "the service failed; its log has the cause".to_owned(),
        _ => error.to_string(),
    };
    tracing::warn!(workspace.id = %id, is_final, ?error, "a repository could not be fetched");
    workspaces::fail(store, id, &attempt, &message, is_final).await?;
    Ok(if is_final { FetchOutcome::Done } else { FetchOutcome::Retry(message) })
}

async fn fetch(
    ctx: &FetchContext,
    id: WorkspaceId,
    attempt: &str,
    target: &FetchTarget,
    stop: &CancellationToken,
) -> Result<(), ServiceError> {
    let FetchContext { store, settings, credentials } = ctx;
    let FetchTarget { repository, requested_ref, is_shallow } = target;
    let origin = mc_git::parse(&repository.location)?;
    let directory = settings.directory_of(id);
    // An earlier attempt may have ended between the clone and the row.
    let path = directory.clone();
    let created =
        run_blocking(move || delete_directory(&path).and_then(|()| create_directory(&path)));
    created.await.map_err(|error| io_error(&directory, error))?;
    let access = if repository.allows_private_network {
        NetworkAccess::Anywhere
    } else {
        NetworkAccess::Public(&settings.allowed_private_hosts)
    };
    let request = CloneRequest {
        origin: &origin,
        requested_ref,
        depth: if *is_shallow { Depth::Shallow } else { Depth::Full },
        access,
        protected: &settings.protected,
        credential: credentials.find(repository.project_id, &origin).await?,
        limits: settings.limits,
        time: settings.fetch_timeout,
    };
    let cloned = mc_git::clone(&directory, request, stop).await?;
    let path = directory.clone();
    let limit = settings.max_project_bytes;
    let size_bytes = run_blocking(move || size(&path, limit)).await;
    let mut tx = store.begin().await?;
    let run = ingest_runs::enqueue(&mut tx, repository, requested_ref).await?;
    let fetch =
        Fetch { git_ref: &cloned.git_ref, commit: &cloned.commit, size_bytes, ingest_run: run.id };
    // Otherwise another attempt has the workspace, or it was deleted.
    if workspaces::succeed(&mut tx, id, attempt, fetch).await? {
        tx.commit().await?;
        tracing::info!(workspace.id = %id, git.commit = cloned.commit, size_bytes, "fetched");
    }
    Ok(())
}

/// Creates the directory of a workspace, which belongs to the service's user. If the service is
/// root, git runs as another user, which passes through it to its files.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    let mode = if is_root() { 0o711 } else { 0o700 };
    DirBuilder::new().recursive(true).mode(mode).create(directory)?;
    // The umask may have taken bits.
    for each in [directory.parent(), Some(directory)].into_iter().flatten() {
        set_permissions(each, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Deletes the directory of a clone, if it exists.
pub(crate) fn delete_directory(directory: &Path) -> io::Result<()> {
    // Its content belongs to the user of git.
    let _raised = raise_privileges();
    mc_files::delete_tree(directory)
}

/// Returns what a clone takes on the disk, in bytes; 0 if it is not there. A clone that can't be
/// measured completely counts at least `limit`: a command may hide files below directories.
pub(crate) fn size(directory: &Path, limit: u64) -> i64 {
    // Its content belongs to the user of git.
    let _raised = raise_privileges();
    let Ok(usage) = mc_files::disk_usage(directory) else { return 0 };
    let bytes = if usage.is_partial { usage.bytes.max(limit) } else { usage.bytes };
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn io_error(path: &Path, error: io::Error) -> ServiceError {
    ServiceError::Directory { path: path.display().to_string(), error }
}
