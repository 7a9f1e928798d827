//! Requests of users: fetch a repository, register a directory, list and delete workspaces.

use mc_accounts::Principal;
use mc_contract::operations::page::{Page, page};
use mc_contract::operations::workspace::{
    CreateWorkspace, CreateWorkspaceFolder, FetchDepth, Workspace, WorkspaceQuery,
};
use mc_contract::text::{GitRef, RepositoryLocation, RepositoryPart};
use mc_domain::{Permission, WorkspaceId, WorkspaceKind, WorkspaceState};
use mc_git::WorkTree;
use mc_integrations::index_runs::{AllowedRepository, LocationRules, RequestedName};
use mc_memory::ProjectContext;
use mc_store::workspaces::{self, NewFolder, Workspace as StoredWorkspace, WorkspaceFilter};
use mc_store::{ingest_runs, repositories};
use tokio_util::sync::CancellationToken;

use crate::{ServiceError, Settings};

/// Creates a workspace, and enqueues the job that fetches the repository into it.
pub async fn create(
    ctx: &ProjectContext,
    principal: &Principal,
    settings: &Settings,
    request: &CreateWorkspace,
) -> Result<Workspace, ServiceError> {
    let git_ref = request.r#ref.as_ref().map_or("", GitRef::as_str);
    let location = location(ctx, request).await?;
    let allowed = AllowedRepository::at(principal, rules(settings), &location, git_ref).await?;
    let name = RequestedName {
        owner: request.owner.as_ref(),
        name: request.name.as_ref(),
        relocate: false,
    };
    let is_shallow = request.depth.unwrap_or_default() == FetchDepth::Shallow;
    let mut tx = ctx.store.begin().await?;
    let space = workspaces::lock_space(&mut tx, ctx.project.id, principal.user).await?;
    if space.of_user >= i64::from(settings.max_per_user) {
        return Err(ServiceError::TooManyWorkspaces(settings.max_per_user));
    }
    // Each that is not fetched yet may become as large as allowed.
    let reserved = u64::try_from(space.pending).unwrap_or(0) * settings.limits.bytes;
    if u64::try_from(space.bytes).unwrap_or(0) + reserved >= settings.max_project_bytes {
        return Err(ServiceError::NoSpace { megabytes: settings.max_project_bytes >> 20 });
    }
    let repository = allowed.ensure(&mut tx, ctx, name).await?;
    let id = workspaces::create_clone(
        &mut tx,
        &repository,
        principal.user,
        git_ref,
        is_shallow,
        settings.ttl,
    )
    .await?;
    tx.commit().await?;
    get(ctx, id).await
}

/// Makes a directory of this node a workspace, and enqueues an index run of it.
pub async fn create_folder(
    ctx: &ProjectContext,
    principal: &Principal,
    settings: &Settings,
    request: &CreateWorkspaceFolder,
) -> Result<Workspace, ServiceError> {
    let (allowed, folder, commit) = checked_folder(principal, settings, request)
        .await
        .map_err(|error| ServiceError::Folder(Box::new(error)))?;
    let name = RequestedName {
        owner: request.owner.as_ref(),
        name: request.name.as_ref(),
        relocate: false,
    };
    let new = NewFolder {
        folder: &folder,
        is_editable: request.editable,
        node: settings.node,
        commit: &commit,
    };
    let mut tx = ctx.store.begin().await?;
    let repository = allowed.ensure(&mut tx, ctx, name).await?;
    let id = workspaces::create_folder(&mut tx, &repository, principal.user, new).await?;
    ingest_runs::enqueue(&mut tx, &repository, "").await?;
    tx.commit().await?;
    get(ctx, id).await
}

/// Checks a directory to register. Returns it as a repository, its path, and the commit that is
/// checked out.
async fn checked_folder(
    principal: &Principal,
    settings: &Settings,
    request: &CreateWorkspaceFolder,
) -> Result<(AllowedRepository, String, String), ServiceError> {
    let directory = request.directory.as_str();
    let allowed = AllowedRepository::at(principal, rules(settings), directory, "").await?;
    let cancel = CancellationToken::new();
    let resolved = mc_files::resolve(directory.as_ref())?;
    let work_tree = WorkTree::in_place(&resolved, &settings.protected, &cancel).await?;
    let commit = work_tree.head(&cancel).await?.unwrap_or_default();
    let folder = resolved.to_str().ok_or(ServiceError::NameOfFolder)?;
    Ok((allowed, folder.to_owned(), commit))
}

/// Returns a workspace that the caller owns, or may delete as a maintainer.
pub async fn get(ctx: &ProjectContext, id: WorkspaceId) -> Result<Workspace, ServiceError> {
    let found = workspaces::find(&ctx.store, id).await?;
    found.map(|stored| workspace(ctx, stored)).ok_or(ServiceError::UnknownWorkspace(id))
}

/// Lists the workspaces of the caller, or all of the project, newest first.
pub async fn list(
    ctx: &ProjectContext,
    principal: &Principal,
    query: &WorkspaceQuery,
) -> Result<Page<Workspace>, ServiceError> {
    let all = query.all.unwrap_or_default();
    if all && !ctx.allows(Permission::Curate) {
        let needed = ctx.project.policy.min_role(Permission::Curate);
        return Err(ServiceError::WorkspacesOfOthers(needed));
    }
    let filter = WorkspaceFilter { owner: (!all).then_some(principal.user), cursor: query.cursor };
    let limit = query.limit.unwrap_or_default().get();
    let found = workspaces::list(&ctx.store, ctx.project.id, filter, limit).await?;
    let found = found.into_iter().map(|stored| workspace(ctx, stored)).collect();
    Ok(page(found, limit, |last: &Workspace| last.workspace_id))
}

/// Deletes the row of a workspace if it is in one of these states. Returns the workspace if it was.
/// Its files are still there.
pub(crate) async fn delete(
    ctx: &ProjectContext,
    id: WorkspaceId,
    states: &[WorkspaceState],
) -> Result<Option<StoredWorkspace>, ServiceError> {
    let found = workspaces::find(&ctx.store, id).await?;
    let found = found.ok_or(ServiceError::UnknownWorkspace(id))?;
    let mut tx = ctx.store.begin().await?;
    let is_deleted = workspaces::delete(&mut tx, id, states).await?;
    tx.commit().await?;
    Ok(is_deleted.then_some(found))
}

/// Returns the rules of locations of this node.
fn rules(settings: &Settings) -> LocationRules<'_> {
    LocationRules {
        allowed_private_hosts: &settings.allowed_private_hosts,
        protected: &settings.protected,
    }
}

/// Returns where a repository is: at the requested location, else where the project knows it to be,
/// else at GitHub.
async fn location(ctx: &ProjectContext, request: &CreateWorkspace) -> Result<String, ServiceError> {
    if let Some(location) = &request.location {
        return Ok(RepositoryLocation::as_str(location).to_owned());
    }
    let part = |part: &Option<RepositoryPart>| {
        part.as_ref().map(|part| part.as_str().to_owned()).unwrap_or_default()
    };
    let (owner, name) = (part(&request.owner), part(&request.name));
    let known = repositories::find(&ctx.store, ctx.project.id, &owner, &name).await?;
    let at_github = || format!("https://github.com/{owner}/{name}.git");
    Ok(known.map_or_else(at_github, |repository| repository.location))
}

fn workspace(ctx: &ProjectContext, stored: workspaces::Workspace) -> Workspace {
    let is_fetched = stored.fetched_at.is_some() && stored.kind == WorkspaceKind::Clone;
    // The paths of the machine are for those who may index them.
    let directory = stored.folder.filter(|_| ctx.allows(Permission::Ingest));
    Workspace {
        workspace_id: stored.id,
        owner: stored.repo_owner,
        name: stored.repo_name,
        r#ref: if is_fetched { stored.git_ref } else { stored.requested_ref },
        commit: stored.commit,
        state: stored.state,
        kind: stored.kind,
        editable: stored.is_editable,
        directory,
        job: stored.job,
        ingest_id: stored.ingest_run,
        user: stored.owner_login,
        size_bytes: stored.size_bytes,
        last_error: stored.last_error,
        created_at: stored.created_at,
        fetch_started_at: stored.fetch_started_at,
        fetched_at: stored.fetched_at,
        used_at: stored.used_at,
        expires_at: stored.expires_at,
    }
}
