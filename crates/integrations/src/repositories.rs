//! The repositories of a project.

use mc_contract::operations::ingest::{Repository, RepositoryNamePath, UpdateRepository};
use mc_contract::text::RepositoryPart;
use mc_domain::Permission;
use mc_memory::ProjectContext;
use mc_memory::review;
use mc_sanitizer::mask;
use mc_store::ingest_runs;
use mc_store::records::Contributor;
use mc_store::repositories::{self as store, ListedRepository};

use crate::Error;
use crate::index_runs::set_patterns;

/// Lists the repositories of a project, by name.
pub async fn list(ctx: &ProjectContext) -> Result<Vec<Repository>, Error> {
    let repositories = store::list_with_sizes(&ctx.store, ctx.project.id).await?;
    Ok(repositories.into_iter().map(|one| repository(ctx, one)).collect())
}

/// Returns a repository, by owner and name.
pub(crate) async fn find(
    ctx: &ProjectContext,
    path: &RepositoryNamePath,
) -> Result<store::Repository, Error> {
    let (owner, name) = (path.owner.as_str(), path.name.as_str());
    let found = store::find(&ctx.store, ctx.project.id, owner, name).await?;
    found.ok_or_else(|| Error::UnknownRepository(format!("{owner}/{name}")))
}

/// Renames a repository, or changes the patterns of the files that are indexed, which enqueues an
/// index run.
pub async fn update(
    ctx: &ProjectContext,
    path: &RepositoryNamePath,
    request: &UpdateRepository,
) -> Result<Repository, Error> {
    let before = find(ctx, path).await?;
    let owner = request.owner.as_ref().unwrap_or(&path.owner);
    let name = request.name.as_ref().unwrap_or(&path.name);
    let mut tx = ctx.store.begin().await?;
    let (include, exclude) = (request.include.as_ref(), request.exclude.as_ref());
    if set_patterns(&mut tx, &before, include, exclude).await? {
        ingest_runs::enqueue_reindex(&mut tx, &before).await?;
    }
    if (owner, name) != (&path.owner, &path.name) {
        store::rename(&mut tx, &before, owner.as_str(), name.as_str()).await?;
    }
    tx.commit().await?;
    get(ctx, owner, name).await
}

/// Deletes a repository with its files and all that came from it.
pub async fn delete(ctx: &ProjectContext, path: &RepositoryNamePath) -> Result<(), Error> {
    let repository = find(ctx, path).await?;
    let source = Contributor::Source(repository.namespace);
    review::forget(&ctx.memory, ctx.project.id, &source, false).await?;
    Ok(())
}

async fn get(
    ctx: &ProjectContext,
    owner: &RepositoryPart,
    name: &RepositoryPart,
) -> Result<Repository, Error> {
    let all = list(ctx).await?;
    let is_same = |one: &Repository| one.owner == owner.as_str() && one.name == name.as_str();
    let found = all.into_iter().find(is_same);
    found.ok_or_else(|| Error::UnknownRepository(format!("{}/{}", owner.as_str(), name.as_str())))
}

fn repository(ctx: &ProjectContext, listed: ListedRepository) -> Repository {
    let ListedRepository { repository, file_count, newest_run } = listed;
    // A path may contain an e-mail address.
    let location = || mask(&repository.location).text.into_string();
    Repository {
        location: ctx.allows(Permission::Ingest).then(location),
        owner: repository.owner,
        name: repository.name,
        namespace: repository.namespace,
        include: repository.include_patterns,
        exclude: repository.exclude_patterns,
        files: file_count,
        source_ref: repository.source_ref,
        indexed_at: repository.indexed_at,
        newest_run_id: newest_run.map(|(id, _)| id),
        newest_run_status: newest_run.map(|(_, status)| status),
    }
}
