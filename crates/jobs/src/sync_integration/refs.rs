//! What the refs of a repository point to: where a host tells nobody of pushes, it is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use mc_connectors::client::Connector;
use mc_connectors::{PlainGit, Push};
use mc_indexer::source::{self, AllowedPrivateHost, NetworkAccess};
use mc_store::repositories::{self, Repository};
use mc_store::{Store, files, ingest_runs};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Ended, Place, SyncError, SyncSession, to_json};

/// A run that failed is asked for again after so long: what it failed of may last.
const FAILED_PAUSE: Duration = Duration::from_hours(1);

/// The commits that were last asked to be indexed, by the repository's namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct RefState {
    heads: BTreeMap<String, String>,
}

impl SyncSession<'_> {
    /// Has the project's repositories that live there read again whose ref moved.
    pub(super) async fn heads(&self, system: &Connector) -> Result<Ended, SyncError> {
        let host = system.git_host(&self.asking.resource)?;
        let mut place = Place::of(self.asking);
        let here = at(system, &self.asking.resource);
        let all = repositories::list(self.store, self.asking.project).await?;
        let mut of_it =
            all.into_iter().filter(|one| here.is_same_repository(&one.location)).peekable();
        if of_it.peek().is_none() {
            return Err(self.not_indexed());
        }
        for repository in of_it {
            let asked_for = self.asked_for(&repository).await?;
            let reference = Some(asked_for.as_str()).filter(|reference| !reference.is_empty());
            let Some(head) = host.resolve_ref(reference).await? else { continue };
            if !self.enqueue_if_moved(&mut place, &repository, &asked_for, head).await? {
                return Ok(Ended::Overtaken);
            }
        }
        Ok(Ended::Done)
    }

    /// The same for a repository whose host has no interface but git's, or that lies on this
    /// machine. It is reached as its index runs reach it.
    pub(super) async fn plain_git_refs(
        &self,
        inside: &[AllowedPrivateHost],
    ) -> Result<Ended, SyncError> {
        let mut place = Place::of(self.asking);
        let repository = match PlainGit::parse(&self.asking.resource) {
            Some(PlainGit { owner, name }) => {
                repositories::find(self.store, self.asking.project, owner, name).await?
            }
            None => None,
        };
        let repository = repository.ok_or_else(|| self.not_indexed())?;
        let asked_for = self.asked_for(&repository).await?;
        let Some(head) = state_of(self.store, &repository, &asked_for, inside).await? else {
            return Ok(Ended::Done);
        };
        let is_ours = self.enqueue_if_moved(&mut place, &repository, &asked_for, head).await?;
        Ok(if is_ours { Ended::Done } else { Ended::Overtaken })
    }

    fn not_indexed(&self) -> SyncError {
        SyncError::Because(format!(
            "the project has not indexed {} from there; do that first (memory-copilot ingest)",
            self.asking.resource
        ))
    }

    /// Asks for a run where the ref that was asked for last points elsewhere than when it was last
    /// looked at, or where the run that was asked for then has failed. Where somebody has asked for
    /// another ref while the host was asked, theirs stands, and the next sync asks for that;
    /// `false` where another sync has gone on.
    async fn enqueue_if_moved(
        &self,
        place: &mut Place,
        repository: &Repository,
        asked_for: &str,
        head: String,
    ) -> Result<bool, SyncError> {
        let is_indexed = ingest_runs::has_indexed(self.store, repository.id, &head).await?;
        let mut seen: RefState = place.read();
        let has_moved = seen.heads.get(&repository.namespace) != Some(&head);
        if !has_moved && (is_indexed || !self.has_failed(repository, asked_for).await?) {
            return Ok(true);
        }
        seen.heads.insert(repository.namespace.clone(), head);
        let mut tx = self.store.begin().await?;
        if ingest_runs::last_requested_ref(&mut tx, repository).await? != asked_for {
            return Ok(true);
        }
        if !self.advance(&mut tx, place, to_json(&seen)?).await? {
            return Ok(false);
        }
        if !is_indexed {
            ingest_runs::enqueue(&mut tx, repository, asked_for).await?;
        }
        self.count_items(&mut tx, usize::from(!is_indexed)).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn has_failed(&self, repository: &Repository, at: &str) -> Result<bool, SyncError> {
        Ok(ingest_runs::has_failed(self.store, repository.id, at, FAILED_PAUSE).await?)
    }

    /// The ref that is indexed, empty for the default branch.
    async fn asked_for(&self, repository: &Repository) -> Result<String, SyncError> {
        let mut tx = self.store.begin().await?;
        let asked_for = ingest_runs::last_requested_ref(&mut tx, repository).await?;
        tx.commit().await?;
        Ok(asked_for)
    }
}

/// What a run would read now. A folder that has lost everything is not followed: most often nothing
/// is mounted there for now, and a run would take all of it out of the search.
async fn state_of(
    store: &Store,
    repository: &Repository,
    asked_for: &str,
    inside: &[AllowedPrivateHost],
) -> Result<Option<String>, SyncError> {
    let origin = source::parse(&repository.location)?;
    let reach = if repository.allows_private_network {
        NetworkAccess::Anywhere
    } else {
        NetworkAccess::Public(inside)
    };
    // git ends with the future that waits for it.
    let state = source::state(&origin, asked_for, reach, &CancellationToken::new()).await?;
    if source::is_empty_directory(&origin).await? && files::has_any(store, repository.id).await? {
        return Err(SyncError::Because(format!(
            "the folder {} is empty; is it mounted? If it is meant to be empty, index it again \
             (memory-copilot ingest)",
            repository.location
        )));
    }
    Ok(state)
}

/// The repository as a push there would name it, to compare addresses with.
fn at(system: &Connector, what: &str) -> Push {
    let url = format!("{}/{what}", system.url().as_str().trim_end_matches('/'));
    Push {
        path: what.to_owned(),
        urls: vec![url],
        reference: String::new(),
        is_default: false,
        after: None,
        is_forced: false,
        commits: Vec::new(),
    }
}
