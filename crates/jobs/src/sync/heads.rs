//! What the refs of a repository point to: where a host tells nobody of pushes, it is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use mc_connectors::Push;
use mc_connectors::client::System;
use mc_connectors::system::GitHost;
use mc_store::ingests;
use mc_store::repositories::{self, Repository};
use serde::{Deserialize, Serialize};

use super::{Ended, Place, Stopped, Syncing, written};

/// A run that failed is asked for again after so long: what it failed of may last.
const FAILED_PAUSE: Duration = Duration::from_hours(1);

/// The commits that were last asked to be indexed, by the repository's namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Heads {
    heads: BTreeMap<String, String>,
}

impl Syncing<'_> {
    /// Has the project's repositories that live there read again whose ref moved.
    pub(super) async fn heads(&self, system: &System) -> Result<Ended, Stopped> {
        let host = system.git_host(&self.asking.what)?;
        let mut place = Place::of(self.asking);
        let here = at(system, &self.asking.what);
        let all = repositories::list(self.store, self.asking.project).await?;
        let mut of_it = all.into_iter().filter(|one| here.is_of(&one.location)).peekable();
        if of_it.peek().is_none() {
            return Err(Stopped::Because(format!(
                "the project has not indexed {} from there; do that first (memory-copilot ingest)",
                self.asking.what
            )));
        }
        for repository in of_it {
            if !self.follow(&*host, &mut place, &repository).await? {
                return Ok(Ended::Overtaken);
            }
        }
        Ok(Ended::Done)
    }

    /// Asks for a run where the ref that was asked for last points elsewhere than when it was last looked at, or
    /// where the run that was asked for then has failed.
    async fn follow(
        &self,
        host: &dyn GitHost,
        place: &mut Place,
        repository: &Repository,
    ) -> Result<bool, Stopped> {
        let asked_for = self.asked_for(repository).await?;
        let reference = Some(asked_for.as_str()).filter(|reference| !reference.is_empty());
        let Some(head) = host.head(reference).await? else { return Ok(true) };
        let mut seen: Heads = place.read();
        let before = seen.heads.insert(repository.namespace.clone(), head.clone());
        let is_indexed = repository.source_ref == head;
        if before.as_ref() == Some(&head)
            && (is_indexed || !self.has_failed(repository, &asked_for).await?)
        {
            return Ok(true);
        }
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, written(&seen)?).await? {
            return Ok(false);
        }
        if !is_indexed {
            ingests::enqueue(&mut tx, repository, &asked_for).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    async fn has_failed(&self, repository: &Repository, at: &str) -> Result<bool, Stopped> {
        Ok(ingests::has_failed(self.store, repository.id, at, FAILED_PAUSE).await?)
    }

    /// The ref that is indexed, empty for the default branch.
    async fn asked_for(&self, repository: &Repository) -> Result<String, Stopped> {
        let mut tx = self.store.begin().await?;
        let asked_for = ingests::asked_for(&mut tx, repository).await?;
        tx.commit().await?;
        Ok(asked_for)
    }
}

/// The repository as a push there would name it, to compare addresses with.
fn at(system: &System, what: &str) -> Push {
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
