//! `/ingest`: repositories and documents to index, and how far that is.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_contract::operations::ingest::{IngestGit, IngestRun, RepositoryNamePath, RunPath};
use mc_contract::operations::project::ProjectQuery;
use mc_domain::{IngestStatus, Permission};
use mc_indexer::source::{self, Location, Origin};
use mc_store::ingest_runs;
use mc_store::projects::ProjectResource;
use mc_store::repositories::{self, Repository};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::problem::Problem;

/// Index a repository.
///
/// Enqueues an index run. A queued run of the same repository and ref is returned instead of a
/// second one; while one is running, another is queued, since it may have passed what changed. With
/// `?webhook_id=`, the path receives the deliveries of GitHub and GitLab instead, without a token
/// and signed as they sign (`X-Hub-Signature-256`; `webhook-signature` or `X-Gitlab-Token`).
#[utoipa::path(
    post, path = "/ingest/git", tag = "ingest", request_body = IngestGit,
    responses((status = 202, description = "Queued", body = IngestRun))
)]
pub async fn git(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<IngestGit>,
) -> Result<(StatusCode, Json<IngestRun>), Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let git_ref = request.r#ref.map(String::from).unwrap_or_default();
    if !git_ref.is_empty() {
        let checked = source::check_ref(&git_ref);
        checked.map_err(|error| Problem::from(error).field("ref"))?;
    }
    check_access(&caller, request.location.as_str())?;
    let origin = parsed(request.location.into()).await?;
    let allows_private_network = allows_private_network(&api, &caller, &origin).await?;
    let owner = request.owner.map_or(origin.owner, Into::into);
    let name = request.name.map_or(origin.name, Into::into);
    let location = origin.location.as_text();
    let mut tx = here.store.begin().await?;
    let repository = if request.relocate {
        repositories::relocate(&mut tx, here.project.id, &owner, &name, &location).await?
    } else {
        let ensured =
            repositories::ensure(&mut tx, here.project.id, &owner, &name, &location).await;
        ensured.map_err(taken)?
    };
    repositories::set_network_access(&mut tx, repository.id, allows_private_network).await?;
    let run = ingest_runs::enqueue(&mut tx, &repository, &git_ref).await?;
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(ingest_run(&here, run, repository).await?)))
}

fn taken(error: mc_store::Error) -> Problem {
    let is_taken = matches!(error, mc_store::Error::OtherLocation { .. });
    let problem = Problem::from(error);
    if !is_taken {
        return problem;
    }
    problem.hint(
        "If this is another repository, give it its own name (`name` or `owner`; --name on the \
         command line). If the same repository moved here, set `relocate` to true (--relocate): \
         files that are not here are then deleted from the index.",
    )
}

/// Checks that the caller may have the service read this location. The service can read its own
/// disk, which holds other projects' repositories, and what its ssh key opens. An administrator's
/// token with the scope `ingest` alone is enough: a schedule that indexes directories needs no
/// more.
fn check_access(caller: &Principal, location: &str) -> Result<(), Problem> {
    let is_public = location.starts_with("https://");
    if is_public || caller.is_admin {
        return Ok(());
    }
    let detail =
        "only a service administrator may index directories of the machine, or use its ssh key";
    Err(Problem::forbidden(detail).field("location").hint("give the repository's https address"))
}

/// Whether git may connect to the private network for this location. Callers who are no
/// administrators could otherwise scan the service's network and index what they find: they are
/// rejected here, and git is held to the same rule when it connects. Other URLs than https have
/// passed [`check_access`].
async fn allows_private_network(
    api: &ApiState,
    caller: &Principal,
    origin: &Origin,
) -> Result<bool, Problem> {
    let is_https = matches!(&origin.location, Location::Url(url) if url.scheme() == "https");
    if caller.is_service_admin() || !is_https {
        return Ok(true);
    }
    source::check_public(&origin.location, &api.settings.allowed_private_hosts).await?;
    Ok(false)
}

/// Parses a location; reads the disk if it is a directory.
async fn parsed(location: String) -> Result<Origin, Problem> {
    match tokio::task::spawn_blocking(move || source::parse(&location)).await {
        Ok(origin) => origin.map_err(|error| Problem::from(error).field("location")),
        Err(_panic) => Err(Problem::internal()),
    }
}

/// Get an index run.
///
/// Returns the run and its progress.
#[utoipa::path(
    get, path = "/ingest/runs/{id}", tag = "ingest", params(RunPath),
    responses((status = 200, description = "The run", body = IngestRun))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RunPath { id }): PathParams<RunPath>,
) -> Result<Json<IngestRun>, Problem> {
    let unknown = || Problem::not_found(format!("there is no ingest run {id}")).field("id");
    let here =
        api.authorize_resource(&caller, ProjectResource::IngestRun(id), Permission::Read).await?;
    let here = here.ok_or_else(unknown)?;
    let run = ingest_runs::find(&here.store, id).await?.ok_or_else(unknown)?;
    let repository = repositories::by_id(&here.store, run.repository).await?.ok_or_else(unknown)?;
    Ok(Json(ingest_run(&here, run, repository).await?))
}

/// Get the newest index run of a repository.
///
/// Returns the run and its progress.
#[utoipa::path(
    get, path = "/repos/{owner}/{name}/index", tag = "ingest",
    params(RepositoryNamePath, ProjectQuery),
    responses((status = 200, description = "Its newest run", body = IngestRun))
)]
pub async fn get_latest_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<RepositoryNamePath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<IngestRun>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let (owner, name) = (path.owner.as_str(), path.name.as_str());
    let unknown = || {
        Problem::not_found(format!("the project has no repository {owner}/{name}"))
            .field("name")
            .hint("index it with POST /ingest/git")
    };
    let repository = repositories::find(&here.store, here.project.id, owner, name).await?;
    let repository = repository.ok_or_else(unknown)?;
    let newest =
        ingest_runs::of_repository(&here.store, repository.id, 1).await?.into_iter().next();
    let run = newest.ok_or_else(unknown)?;
    Ok(Json(ingest_run(&here, run, repository).await?))
}

/// The run as it is sent.
async fn ingest_run(
    here: &ProjectContext,
    run: ingest_runs::IngestRun,
    repository: Repository,
) -> Result<IngestRun, Problem> {
    let queue = here.queue().await?;
    Ok(IngestRun {
        eta_seconds: eta(&run, Utc::now()).map(|eta| eta.as_secs()),
        ingest_id: run.id,
        repo_owner: repository.owner,
        repo_name: repository.name,
        namespace: repository.namespace,
        status: run.status,
        is_ready: repository.indexed_at.is_some(),
        attempt: run.attempt,
        max_attempts: run.max_attempts,
        files_total: run.counts.files_total,
        files_done: run.counts.files_done,
        files_changed: run.counts.files_changed,
        files_deleted: run.counts.files_deleted,
        files_skipped: run.counts.files_skipped,
        chunks_written: run.counts.chunks_written,
        chunks_reused: run.counts.chunks_reused,
        pending_vectors: queue.pending,
        failed_vectors: queue.failed_count,
        last_error: run.last_error,
        queued_at: run.queued_at,
        started_at: run.started_at,
        completed_at: run.completed_at,
        source_ref: repository.source_ref,
    })
}

/// The time that is left at the current pace.
fn eta(run: &ingest_runs::IngestRun, now: DateTime<Utc>) -> Option<Duration> {
    let is_running = run.completed_at.is_none() && run.status == IngestStatus::Running;
    let elapsed = (now - run.started_at?).to_std().ok()?;
    let done = u32::try_from(run.counts.files_done).ok().filter(|done| *done > 0)?;
    let left = u32::try_from(run.counts.files_total - run.counts.files_done).ok()?;
    is_running.then(|| elapsed / done * left)
}
