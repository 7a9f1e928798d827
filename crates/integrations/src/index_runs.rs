//! Index runs: requests to index a repository, and their progress.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_accounts::Principal;
use mc_contract::ValidationError;
use mc_contract::list::PathPatterns;
use mc_contract::operations::ingest::{
    EarlierRun, FileError, IngestGit, IngestRun, RepositoryNamePath,
};
use mc_contract::text::{GitRef, RepositoryPart};
use mc_domain::{IngestRunId, IngestStatus, Permission};
use mc_files::ProtectedDirectories;
use mc_git::{AllowedPrivateHost, Origin};
use mc_indexer::walk;
use mc_memory::ProjectContext;
use mc_memory::content_filter::run_blocking;
use mc_store::repositories::{self, Repository};
use mc_store::{Tx, ingest_runs, searchable};

use crate::Error;

/// The operator's rules for the locations of repositories.
#[derive(Debug, Clone, Copy)]
pub struct LocationRules<'a> {
    /// Hosts in private networks that are open to every principal.
    pub allowed_private_hosts: &'a [AllowedPrivateHost],
    /// Directories that are closed to every principal.
    pub protected: &'a ProtectedDirectories,
}

/// A repository that the principal may have the service read.
#[derive(Debug)]
pub struct AllowedRepository {
    origin: Origin,
    allows_private_network: bool,
}

impl AllowedRepository {
    /// Returns the repository at a location, after every check of the location and the ref.
    pub async fn at(
        principal: &Principal,
        rules: LocationRules<'_>,
        location: &str,
        git_ref: &str,
    ) -> Result<Self, Error> {
        mc_git::check_ref(git_ref)?;
        check_access(principal, location)?;
        let (location, protected) = (location.to_owned(), rules.protected.clone());
        let origin = run_blocking(move || allowed_origin(&location, &protected)).await?;
        let allows_private_network =
            allows_private_network(principal, rules.allowed_private_hosts, &origin).await?;
        Ok(Self { origin, allows_private_network })
    }

    /// Adds the repository to the project, unless it is known, under a name that the request gives
    /// or the location has. Its access to the private network becomes that of this principal.
    pub async fn ensure(
        &self,
        tx: &mut Tx,
        ctx: &ProjectContext,
        name: RequestedName<'_>,
    ) -> Result<Repository, Error> {
        let repository = ensure_repository(tx, ctx, &self.origin, name).await?;
        repositories::set_network_access(tx, repository.id, self.allows_private_network).await?;
        Ok(repository)
    }
}

/// The name that a request gives a repository.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestedName<'a> {
    /// Owner; that of the location when absent.
    pub owner: Option<&'a RepositoryPart>,
    /// Name; that of the location when absent.
    pub name: Option<&'a RepositoryPart>,
    /// Whether the location replaces the one that was indexed under this name.
    pub relocate: bool,
}

/// Enqueues an index run of a repository. A queued run of the same repository and ref is returned
/// instead of a second one.
pub async fn request(
    ctx: &ProjectContext,
    principal: &Principal,
    rules: LocationRules<'_>,
    request: &IngestGit,
) -> Result<IngestRun, Error> {
    let git_ref = request.r#ref.as_ref().map_or("", GitRef::as_str);
    let location = request.location.as_str();
    let allowed = AllowedRepository::at(principal, rules, location, git_ref).await?;
    let IngestGit { owner, name, relocate, .. } = request;
    let name = RequestedName { owner: owner.as_ref(), name: name.as_ref(), relocate: *relocate };
    let mut tx = ctx.store.begin().await?;
    let repository = allowed.ensure(&mut tx, ctx, name).await?;
    let (include, exclude) = (request.include.as_ref(), request.exclude.as_ref());
    let is_changed = set_patterns(&mut tx, &repository, include, exclude).await?;
    // Maintainers decide which files of a repository the team finds.
    if is_changed && repository.indexed_at.is_some() && !ctx.allows(Permission::Curate) {
        return Err(Error::PatternsOfMaintainers(ctx.project.policy.min_role(Permission::Curate)));
    }
    let run = ingest_runs::enqueue(&mut tx, &repository, git_ref).await?;
    tx.commit().await?;
    index_run(ctx, run, RepositoryState::read(ctx, repository).await?).await
}

/// Cancels an index run. The files that it has indexed stay, and the next run continues.
pub async fn cancel(
    ctx: &ProjectContext,
    principal: &Principal,
    id: IngestRunId,
) -> Result<IngestRun, Error> {
    let is_cancelled = ingest_runs::cancel(&ctx.store, id, principal.name()).await?;
    let run = get(ctx, id).await?;
    if is_cancelled { Ok(run) } else { Err(Error::RunEnded(id)) }
}

/// Sets the patterns that a request names. Returns whether they differ from the present ones.
pub(crate) async fn set_patterns(
    tx: &mut Tx,
    repository: &Repository,
    include: Option<&PathPatterns>,
    exclude: Option<&PathPatterns>,
) -> Result<bool, Error> {
    let texts = |patterns: &PathPatterns| patterns.clone().into_items::<String>();
    let [include, exclude] = [include.map(texts), exclude.map(texts)];
    let differs = |new: &Option<Vec<String>>, present: &[String]| {
        new.as_deref().is_some_and(|new| new != present)
    };
    if !differs(&include, &repository.include_patterns)
        && !differs(&exclude, &repository.exclude_patterns)
    {
        return Ok(false);
    }
    let (include, exclude) = (include.as_deref(), exclude.as_deref());
    walk::PathPatterns::parse(include.unwrap_or_default(), exclude.unwrap_or_default())
        .map_err(|invalid| ValidationError::new(invalid.field, walk::InvalidPattern::RULE))?;
    repositories::set_patterns(tx, repository.id, include, exclude).await?;
    Ok(true)
}

/// Returns an index run.
pub async fn get(ctx: &ProjectContext, id: IngestRunId) -> Result<IngestRun, Error> {
    let unknown = || Error::UnknownRun(id);
    let run = ingest_runs::find(&ctx.store, id).await?.ok_or_else(unknown)?;
    let repository = match run.repository {
        Some(id) => {
            let repository = repositories::by_id(&ctx.store, id).await?.ok_or_else(unknown)?;
            RepositoryState::read(ctx, repository).await?
        }
        None => RepositoryState::deleted(&run).ok_or_else(unknown)?,
    };
    index_run(ctx, run, repository).await
}

/// Number of earlier runs that are shown with the newest one.
const EARLIER_RUNS: i64 = 5;

/// Returns the newest index run of a repository, with the ones before it.
pub async fn get_latest(
    ctx: &ProjectContext,
    repository: &RepositoryNamePath,
) -> Result<IngestRun, Error> {
    let (owner, name) = (repository.owner.as_str(), repository.name.as_str());
    let unknown = || Error::UnknownRepository(format!("{owner}/{name}"));
    let repository = crate::repositories::find(ctx, repository).await?;
    let runs = ingest_runs::of_repository(&ctx.store, repository.id, 1 + EARLIER_RUNS).await?;
    let mut runs = runs.into_iter();
    let run = runs.next().ok_or_else(unknown)?;
    let newest = index_run(ctx, run, RepositoryState::read(ctx, repository).await?).await?;
    Ok(IngestRun { earlier_runs: runs.map(earlier_run).collect(), ..newest })
}

/// Checks that the principal may have the service read this location: its disk, which holds other
/// projects' repositories, or what its SSH key opens. The check is before the disk is read.
fn check_access(principal: &Principal, location: &str) -> Result<(), Error> {
    let is_public = location.starts_with("https://");
    if is_public || principal.has_local_access() { Ok(()) } else { Err(Error::PrivateLocation) }
}

fn allowed_origin(
    location: &str,
    protected: &ProtectedDirectories,
) -> Result<Origin, mc_git::Error> {
    let origin = mc_git::parse(location)?;
    origin.location.check(protected)?;
    Ok(origin)
}

/// Returns whether git may connect to the private network for this location. Without
/// [`Principal::has_local_access`], callers could scan the service's network and index its hosts:
/// they are rejected here, and again when git connects.
async fn allows_private_network(
    principal: &Principal,
    allowed_private_hosts: &[AllowedPrivateHost],
    origin: &Origin,
) -> Result<bool, Error> {
    if principal.has_local_access() {
        return Ok(true);
    }
    mc_git::check_public(&origin.location, allowed_private_hosts).await?;
    Ok(false)
}

async fn ensure_repository(
    tx: &mut Tx,
    ctx: &ProjectContext,
    origin: &Origin,
    requested: RequestedName<'_>,
) -> Result<Repository, Error> {
    let owner = requested.owner.map_or(origin.owner.as_str(), RepositoryPart::as_str);
    let name = requested.name.map_or(origin.name.as_str(), RepositoryPart::as_str);
    let (project, location) = (ctx.project.id, origin.location.as_text());
    if !requested.relocate
        && requested.owner.is_none()
        && requested.name.is_none()
        && let Some(renamed) =
            repositories::find_renamed(tx, project, owner, name, &location).await?
    {
        return Ok(renamed);
    }
    let repository = if requested.relocate {
        repositories::relocate(tx, project, owner, name, &location).await
    } else {
        repositories::ensure(tx, project, owner, name, &location).await
    };
    Ok(repository?)
}

/// What a run shows of its repository.
struct RepositoryState {
    owner: String,
    name: String,
    namespace: String,
    is_ready: bool,
    source_ref: String,
}

impl RepositoryState {
    /// Returns the state of a repository. It is ready exactly if searches find it complete.
    async fn read(ctx: &ProjectContext, repository: Repository) -> Result<Self, Error> {
        let searchable = searchable::repository(&ctx.store, ctx.project.id, repository.id).await?;
        let is_ready = searchable.is_some_and(|searchable| searchable.is_ready());
        let Repository { owner, name, namespace, source_ref, .. } = repository;
        Ok(Self { owner, name, namespace, is_ready, source_ref })
    }

    /// Returns the state of the repository that was deleted after this run failed.
    fn deleted(run: &ingest_runs::IngestRun) -> Option<Self> {
        let (owner, name) = run.deleted_repository.clone()?;
        let namespace = format!("repo:{owner}/{name}");
        Some(Self { owner, name, namespace, is_ready: false, source_ref: String::new() })
    }
}

async fn index_run(
    ctx: &ProjectContext,
    run: ingest_runs::IngestRun,
    repository: RepositoryState,
) -> Result<IngestRun, Error> {
    let queue = ctx.queue().await?;
    Ok(IngestRun {
        eta_seconds: eta(&run, Utc::now()).map(|eta| eta.as_secs()),
        ingest_id: run.id,
        repo_owner: repository.owner,
        repo_name: repository.name,
        namespace: repository.namespace,
        status: run.status,
        is_ready: repository.is_ready,
        attempt: run.attempt,
        max_attempts: run.max_attempts,
        files_total: run.counts.files_total,
        files_done: run.counts.files_done,
        files_changed: run.counts.files_changed,
        files_deleted: run.counts.files_deleted,
        files_skipped: run.counts.files_skipped,
        failed_files: run.counts.failed_files,
        file_errors: run.counts.file_errors.into_iter().map(file_error).collect(),
        chunks_written: run.counts.chunks_written,
        chunks_reused: run.counts.chunks_reused,
        pending_vectors: queue.pending,
        failed_vectors: queue.failed_count,
        last_error: run.last_error,
        fetch_started_at: run.fetch_started_at,
        earlier_runs: Vec::new(),
        queued_at: run.queued_at,
        started_at: run.started_at,
        completed_at: run.completed_at,
        source_ref: repository.source_ref,
    })
}

fn earlier_run(run: ingest_runs::IngestRun) -> EarlierRun {
    EarlierRun {
        ingest_id: run.id,
        status: run.status,
        attempt: run.attempt,
        files_changed: run.counts.files_changed,
        last_error: run.last_error,
        queued_at: run.queued_at,
        completed_at: run.completed_at,
    }
}

fn file_error(error: ingest_runs::FileError) -> FileError {
    FileError { path: error.path, cause: error.cause }
}

/// Returns the time that is left at the current pace.
fn eta(run: &ingest_runs::IngestRun, now: DateTime<Utc>) -> Option<Duration> {
    let is_running = run.completed_at.is_none() && run.status == IngestStatus::Running;
    let elapsed = (now - run.started_at?).to_std().ok()?;
    let done = u32::try_from(run.counts.files_done).ok().filter(|done| *done > 0)?;
    let left = u32::try_from(run.counts.files_total - run.counts.files_done).ok()?;
    is_running.then(|| elapsed / done * left)
}
