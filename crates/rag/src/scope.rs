//! The repository that a request means.

use std::sync::Arc;

use mc_contract::text::RepositoryPart;
use mc_store::searchable::{self, SearchableRepository};

use crate::{Error, RagContext};

/// A repository to search, in the context of its project.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub context: &'a RagContext,
    pub repository: Arc<SearchableRepository>,
    /// Whether the project has no other repository with passages.
    pub is_alone: bool,
}

/// Finds the repository with this owner and name. Without one of both, the repository that was
/// indexed last and is ready, of those that have the other.
pub(crate) async fn find<'a>(
    context: &'a RagContext,
    owner: Option<&RepositoryPart>,
    name: Option<&RepositoryPart>,
    warnings: &mut Vec<String>,
) -> Result<Scope<'a>, Error> {
    let all = list(context).await?;
    let is_meant = |scope: &&Scope<'_>| {
        let has = |wanted: Option<&RepositoryPart>, value: &str| {
            wanted.is_none_or(|wanted| wanted.as_str().eq_ignore_ascii_case(value))
        };
        has(owner, &scope.repository.owner) && has(name, &scope.repository.name)
    };
    let mut meant = all.iter().filter(is_meant).peekable();
    let (Some(owner), Some(name)) = (owner, name) else {
        let ready = meant.find(|scope| scope.repository.is_ready).cloned();
        return ready.ok_or(Error::NoReadyRepository);
    };
    let Some(scope) = meant.peek() else {
        return Err(Error::UnknownRepository(format!("{}/{}", owner.as_str(), name.as_str())));
    };
    let repository = &scope.repository;
    if !repository.is_ready {
        let namespace = &repository.namespace;
        warnings.push(format!(
            "the index of {namespace} is incomplete or being updated; some matches may be missing"
        ));
    }
    Ok((*scope).clone())
}

/// Returns the repositories of a project that have been indexed, the one that was indexed last
/// first.
pub(crate) async fn list(context: &RagContext) -> Result<Vec<Scope<'_>>, Error> {
    let all = searchable::repositories(&context.search.store, context.project).await?;
    let is_alone = all.len() == 1;
    let scope = |repository| Scope { context, repository: Arc::new(repository), is_alone };
    Ok(all.into_iter().map(scope).collect())
}
