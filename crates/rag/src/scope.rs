//! The repository that a request means.

use std::fmt;
use std::sync::Arc;

use mc_contract::text::RepositoryPart;
use mc_domain::RepositoryId;
use mc_store::searchable::{self, Readiness, SearchableRepository};

use crate::{Error, RagContext};

/// A repository to search, in the context of its project.
#[derive(Clone)]
pub(crate) struct RepositoryScope<'a> {
    pub context: &'a RagContext,
    pub repository: Arc<SearchableRepository>,
    /// Whether the project has nothing else to search: no other repository, and no document that
    /// belongs to none.
    pub is_alone: bool,
}

/// Why a repository is not ready to be searched, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady(Option<Readiness>);

/// Finds the repository with this owner and name. Without one of both, that of those with the other
/// which the caller fetched last, or else which was indexed last. One that is ready comes before
/// others. If a repository is not ready, or another one is chosen for that reason, `warnings` says
/// why.
pub(crate) async fn find<'a>(
    context: &'a RagContext,
    owner: Option<&RepositoryPart>,
    name: Option<&RepositoryPart>,
    warnings: &mut Vec<String>,
) -> Result<RepositoryScope<'a>, Error> {
    let all = list(context).await?;
    let is_meant = |scope: &&RepositoryScope<'_>| {
        let has = |wanted: Option<&RepositoryPart>, value: &str| {
            wanted.is_none_or(|wanted| wanted.as_str().eq_ignore_ascii_case(value))
        };
        has(owner, &scope.repository.owner) && has(name, &scope.repository.name)
    };
    let mut meant: Vec<_> = all.iter().filter(is_meant).collect();
    let chosen = if let (Some(owner), Some(name)) = (owner, name) {
        let unknown = || format!("{}/{}", owner.as_str(), name.as_str());
        meant.first().ok_or_else(|| Error::UnknownRepository(unknown()))?
    } else {
        let own = searchable::last_fetched(&context.search.store, context.project).await?;
        let own: Vec<_> = own.into_iter().map(|(repository, _)| repository).collect();
        let place = |id| own.iter().position(|own| *own == id).unwrap_or(usize::MAX);
        meant.sort_by_key(|scope| place(scope.repository.id));
        let ready = meant.iter().find(|scope| scope.repository.is_ready());
        let indexed = || meant.iter().find(|scope| scope.repository.indexed_at.is_some());
        let Some(chosen) = ready.or_else(indexed) else {
            let repositories = meant.iter().map(|scope| &*scope.repository);
            return Err(Error::NoReadyRepository(NotReady::of_any(repositories)));
        };
        warn_of_other(meant[0], chosen, &own, warnings);
        chosen
    };
    if let Some(reason) = NotReady::of(&chosen.repository) {
        let namespace = &chosen.repository.namespace;
        warnings.push(format!("some matches of {namespace} may be missing: {reason}"));
    }
    Ok((*chosen).clone())
}

/// Warns that the repository which the caller fetched last is not searched.
fn warn_of_other(
    first: &RepositoryScope<'_>,
    chosen: &RepositoryScope<'_>,
    own: &[RepositoryId],
    warnings: &mut Vec<String>,
) {
    let (first, chosen) = (&first.repository, &chosen.repository);
    if first.id != chosen.id
        && own.contains(&first.id)
        && let Some(reason) = NotReady::of(first)
    {
        warnings.push(format!(
            "{} was searched, and not {}, which you fetched last: {reason}",
            chosen.namespace, first.namespace
        ));
    }
}

/// Returns the repositories of a project, the one that was indexed last first.
pub(crate) async fn list(context: &RagContext) -> Result<Vec<RepositoryScope<'_>>, Error> {
    let store = context.search.store.share_reads();
    let all = searchable::repositories(&store, context.project).await?;
    let is_alone =
        all.len() == 1 && !searchable::has_other_documents(&store, context.project).await?;
    let scope =
        |repository| RepositoryScope { context, repository: Arc::new(repository), is_alone };
    Ok(all.into_iter().map(scope).collect())
}

/// Returns the repositories of each project, in their order.
pub(crate) fn by_project<'a>(scopes: &[RepositoryScope<'a>]) -> Vec<Vec<RepositoryScope<'a>>> {
    let mut groups: Vec<Vec<RepositoryScope<'a>>> = Vec::new();
    for scope in scopes {
        let is_of_project = |group: &&mut Vec<RepositoryScope<'_>>| {
            group[0].context.project == scope.context.project
        };
        match groups.iter_mut().find(is_of_project) {
            Some(group) => group.push(scope.clone()),
            None => groups.push(vec![scope.clone()]),
        }
    }
    groups
}

/// Returns whether a search that has just read these repositories may have read several commits of
/// one: it was not ready, is not ready now, or was indexed meanwhile.
pub(crate) async fn is_mixed(scopes: &[RepositoryScope<'_>]) -> Result<bool, Error> {
    for group in by_project(scopes) {
        let context = group[0].context;
        let now = searchable::repositories(&context.search.store, context.project).await?;
        let is_same = |scope: &RepositoryScope<'_>| {
            let before = &scope.repository;
            let now = now.iter().find(|repository| repository.id == before.id);
            now.is_some_and(|now| now.is_ready() && now.indexed_at == before.indexed_at)
        };
        if !group.iter().all(|scope| scope.repository.is_ready() && is_same(scope)) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl NotReady {
    /// Returns why a repository is not ready; `None` if it is.
    pub(crate) fn of(repository: &SearchableRepository) -> Option<Self> {
        (!repository.is_ready()).then_some(Self(Some(repository.readiness)))
    }

    /// Returns why none of these repositories is ready: the reason of the first one, or that there
    /// is none.
    pub(crate) fn of_any<'a>(
        mut repositories: impl Iterator<Item = &'a SearchableRepository>,
    ) -> Self {
        repositories.find_map(Self::of).unwrap_or(Self(None))
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            None => {
                "there is none; fetch one with github_repository_fetch, or index one with POST \
                 /ingest/git"
            }
            Some(Readiness::Ready) => "ready",
            Some(Readiness::NeverIndexed) => {
                "it was never indexed; fetch it with github_repository_fetch, or index it with \
                 POST /ingest/git"
            }
            Some(Readiness::RunIsOpen) => {
                "an index run is open; wait until it has ended (repo_rag_index_status)"
            }
            Some(Readiness::RunFailed) => {
                "the last index run failed; see its error (repo_rag_index_status), then fetch the \
                 repository with github_repository_fetch, or index it with POST /ingest/git"
            }
            Some(Readiness::FilesFailed) => {
                "the last index run could not read or store some files; see its `file_errors` \
                 (repo_rag_index_status), and index it again"
            }
        })
    }
}
