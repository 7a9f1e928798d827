//! Sync of refs: enqueues index runs of repositories whose ref moved, at hosts that send no pushes.

use std::collections::BTreeMap;
use std::time::Duration;

use mc_connectors::client::Connector;
use mc_connectors::{contains_repository, parse_plain_git};
use mc_git::NetworkAccess;
use mc_store::repositories::{self, Repository};
use mc_store::{Store, files, ingest_runs};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Position, SyncContext, SyncError, SyncOutcome, SyncSession};

/// Delay before a failed run is enqueued again, since its cause may last.
const FAILED_RUN_RETRY_DELAY: Duration = Duration::from_hours(1);

/// The state of a sync of refs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct RefState {
    /// The commits of the last enqueued runs, by namespace of the repository.
    heads: BTreeMap<String, String>,
}

impl SyncSession<'_> {
    /// Enqueues index runs of the project's repositories at this resource whose ref moved.
    pub(super) async fn sync_refs(&self, connector: &Connector) -> Result<SyncOutcome, SyncError> {
        let host = connector.git_host(&self.target.resource)?;
        let mut position = Position::load(self.target);
        let site = connector.url().as_str().trim_end_matches('/');
        let urls = [format!("{site}/{}", self.target.resource)];
        let mut repositories = repositories::list(self.store, self.target.project).await?;
        repositories.retain(|repository| contains_repository(&urls, &repository.location));
        if repositories.is_empty() {
            return Err(self.not_indexed());
        }
        for repository in repositories {
            let requested_ref = self.last_requested_ref(&repository).await?;
            let reference = Some(requested_ref.as_str()).filter(|reference| !reference.is_empty());
            let Some(head) = host.resolve_ref(reference).await? else { continue };
            self.enqueue_if_moved(&mut position, &repository, &requested_ref, head).await?;
        }
        Ok(SyncOutcome::Completed)
    }

    /// Enqueues an index run of a repository whose host has no API but git's, or that is a local
    /// directory, if its ref moved. It has the network access of index runs.
    pub(super) async fn sync_plain_git_refs(
        &self,
        context: &SyncContext,
    ) -> Result<SyncOutcome, SyncError> {
        let mut position = Position::load(self.target);
        let repository = match parse_plain_git(&self.target.resource) {
            Some((owner, name)) => {
                repositories::find(self.store, self.target.project, owner, name).await?
            }
            None => None,
        };
        let repository = repository.ok_or_else(|| self.not_indexed())?;
        let requested_ref = self.last_requested_ref(&repository).await?;
        let fingerprint = fingerprint(self.store, &repository, &requested_ref, context).await?;
        if let Some(head) = fingerprint {
            self.enqueue_if_moved(&mut position, &repository, &requested_ref, head).await?;
        }
        Ok(SyncOutcome::Completed)
    }

    fn not_indexed(&self) -> SyncError {
        SyncError::Other(format!(
            "the project has not indexed {} from there; do that first (memory-copilot ingest)",
            self.target.resource
        ))
    }

    /// Enqueues an index run if the last requested ref moved since the last sync, or if it is not
    /// indexed and the run that ended last has failed. If another ref was requested during this
    /// sync, nothing is enqueued, and the next sync checks that ref.
    async fn enqueue_if_moved(
        &self,
        position: &mut Position<RefState>,
        repository: &Repository,
        requested_ref: &str,
        head: String,
    ) -> Result<(), SyncError> {
        let is_indexed = ingest_runs::has_indexed(self.store, repository.id, &head).await?;
        let mut next = position.state.clone();
        let has_moved = next.heads.get(&repository.namespace) != Some(&head);
        if !has_moved && (is_indexed || !self.has_failed(repository).await?) {
            return Ok(());
        }
        next.heads.insert(repository.namespace.clone(), head);
        let mut tx = self.store.begin().await?;
        if ingest_runs::last_requested_ref(&mut tx, repository).await? != requested_ref {
            return Ok(());
        }
        self.advance(&mut tx, position, next).await?;
        if !is_indexed {
            ingest_runs::enqueue(&mut tx, repository, requested_ref).await?;
        }
        self.count_items(&mut tx, usize::from(!is_indexed)).await?;
        Ok(tx.commit().await?)
    }

    async fn has_failed(&self, repository: &Repository) -> Result<bool, SyncError> {
        Ok(ingest_runs::has_failed(self.store, repository.id, FAILED_RUN_RETRY_DELAY).await?)
    }

    /// Returns the ref that is indexed, empty for the default branch.
    async fn last_requested_ref(&self, repository: &Repository) -> Result<String, SyncError> {
        let mut tx = self.store.begin().await?;
        let requested_ref = ingest_runs::last_requested_ref(&mut tx, repository).await?;
        tx.commit().await?;
        Ok(requested_ref)
    }
}

/// Returns the fingerprint of the content that an index run would read. An empty directory with
/// indexed files is an error: most often its file system is not mounted, and an index run would
/// delete all of its content.
async fn fingerprint(
    store: &Store,
    repository: &Repository,
    requested_ref: &str,
    context: &SyncContext,
) -> Result<Option<String>, SyncError> {
    let origin = mc_git::parse(&repository.location)?;
    let access = if repository.allows_private_network {
        NetworkAccess::Anywhere
    } else {
        NetworkAccess::Public(&context.allowed_private_hosts)
    };
    // A token that is never cancelled: git ends when this future is dropped.
    let cancel = CancellationToken::new();
    let state =
        mc_indexer::state(&origin, requested_ref, access, &context.protected, &cancel).await?;
    if mc_git::is_empty_directory(&origin).await? && files::has_any(store, repository.id).await? {
        return Err(SyncError::Other(format!(
            "the directory {} is empty; is it mounted? If it is meant to be empty, index it again \
             (memory-copilot ingest)",
            repository.location
        )));
    }
    Ok(state)
}
