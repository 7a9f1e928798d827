//! `/ingest`: repositories and documents to index, and how far that is.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{IngestRunId, Permission, ProjectKey};
use mc_indexer::source::{self, Location, Origin};
use mc_store::ingest_runs::{self};
use mc_store::projects::ProjectResource;
use mc_store::repositories::{self, Repository};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::RunStatus;

/// A repository to index.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "location": "https://git.example.org/shop/core.git"}))]
pub struct IngestGit {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// A folder on the service's machine, or the URL of a git repository. Who does not administer the service
    /// gives an https URL that leads outside of its network.
    #[schema(value_type = schemas::RepositoryLocation)]
    location: String,
    /// Branch, tag or commit; what is checked out, or the default branch, when absent.
    #[schema(value_type = Option<schemas::GitRef>)]
    r#ref: Option<String>,
    /// Under which owner it is known; taken from the location when absent.
    #[schema(value_type = Option<schemas::RepositoryPart>)]
    owner: Option<String>,
    /// Under which name it is known; taken from the location when absent.
    #[schema(value_type = Option<schemas::RepositoryPart>)]
    name: Option<String>,
    /// The repository moved: this location replaces the one that was indexed under its name, and
    /// files that are not here are deleted from the index.
    #[serde(default)]
    relocate: bool,
}

/// A [`GitIngest`] as checked.
#[derive(Debug)]
pub struct ValidatedGit {
    project: ProjectKey,
    location: String,
    r#ref: String,
    owner: Option<String>,
    name: Option<String>,
    relocate: bool,
}

impl Validate for IngestGit {
    type Checked = ValidatedGit;

    fn check(self) -> Result<ValidatedGit, ValidationError> {
        let git_ref = validate::optional("ref", self.r#ref, |field, name| git_ref(field, &name))?;
        Ok(ValidatedGit {
            project: validate::project_key("project_key", &self.project_key)?,
            location: validate::location("location", &self.location, limits::URL)?,
            r#ref: git_ref.unwrap_or_default(),
            owner: validate::optional("owner", self.owner, |field, name| segment(field, &name))?,
            name: validate::optional("name", self.name, |field, name| segment(field, &name))?,
            relocate: self.relocate,
        })
    }
}

/// A branch, tag or commit that git can't take for an option.
fn git_ref(field: &str, name: &str) -> Result<String, ValidationError> {
    let name = validate::identifier(field, name, limits::NAME)?;
    source::check_ref(&name).map_err(|error| ValidationError::new(field, error))?;
    Ok(name)
}

/// An owner or name of a repository: one part of a path.
fn segment(field: &str, name: &str) -> Result<String, ValidationError> {
    let name = validate::identifier(field, name, limits::NAME)?;
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    if name.starts_with(['-', '.']) || !is_plain {
        return Err(ValidationError::new(field, "must be letters, digits, \".\", \"_\" or \"-\""));
    }
    Ok(name)
}

/// A run's id in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RunPath {
    /// The run's id.
    id: Uuid,
}

impl Validate for RunPath {
    type Checked = IngestRunId;

    fn check(self) -> Result<IngestRunId, ValidationError> {
        Ok(IngestRunId(self.id))
    }
}

/// A repository in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RepositoryPath {
    /// Such as `pallets`; `local` for a folder.
    #[param(value_type = schemas::RepositoryPart, inline)]
    owner: String,
    /// Such as `flask`.
    #[param(value_type = schemas::RepositoryPart, inline)]
    name: String,
}

impl Validate for RepositoryPath {
    type Checked = (String, String);

    fn check(self) -> Result<(String, String), ValidationError> {
        Ok((segment("owner", &self.owner)?, segment("name", &self.name)?))
    }
}

/// Which project.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RepositoryQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
}

impl Validate for RepositoryQuery {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, ValidationError> {
        validate::project_key("project_key", &self.project_key)
    }
}

/// How far a run is.
#[derive(Debug, Serialize, ToSchema)]
pub struct IngestRun {
    ingest_id: Uuid,
    repo_owner: String,
    repo_name: String,
    /// `repo:owner/name`.
    namespace: String,
    status: RunStatus,
    /// The repository can be searched: a run of it has succeeded.
    is_ready: bool,
    attempt: i32,
    max_attempts: i32,
    files_total: i32,
    files_done: i32,
    files_changed: i32,
    files_deleted: i32,
    /// Files passed over, by reason.
    files_skipped: BTreeMap<String, i32>,
    chunks_written: i32,
    /// Chunks that were kept with their vectors.
    chunks_reused: i32,
    /// Passages of the project that keyword search finds and vector search does not yet.
    pending_vectors: i64,
    /// Passages of the project that the embedding provider refused again and again; keyword search
    /// finds them, and the service's log has the reason.
    failed_vectors: i64,
    /// By the pace so far; absent unless the run is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    eta_seconds: Option<u64>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    last_error: Option<serde_json::Value>,
    queued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    /// Commit that was indexed last; empty outside git.
    source_ref: String,
}

/// Ask for a repository to be indexed. A run of the same repository and ref that is still queued is
/// answered instead of a second one; while one is at work another is queued, since it may have
/// passed what changed. With `?webhook_id=` it takes what GitHub and GitLab deliver of that hook instead, signed as
/// they sign (`X-Hub-Signature-256`; `webhook-signature` or `X-Gitlab-Token`) and without a token.
#[utoipa::path(
    post, path = "/ingest/git", tag = "ingest", request_body = IngestGit,
    responses((status = 202, description = "Queued", body = IngestRun))
)]
pub async fn git(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<IngestGit>,
) -> Result<(StatusCode, Json<IngestRun>), Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Ingest).await?;
    check_reach(&caller, &request.location)?;
    let origin = understood(request.location).await?;
    let allows_private_network = allows_private_network(&api, &caller, &origin).await?;
    let owner = request.owner.unwrap_or(origin.owner);
    let name = request.name.unwrap_or(origin.name);
    let location = origin.location.as_text();
    let mut tx = here.store.begin().await?;
    let repository = if request.relocate {
        repositories::relocate(&mut tx, here.project.id, &owner, &name, &location).await?
    } else {
        let ensured =
            repositories::ensure(&mut tx, here.project.id, &owner, &name, &location).await;
        ensured.map_err(taken)?
    };
    repositories::set_reach(&mut tx, repository.id, allows_private_network).await?;
    let run = ingest_runs::enqueue(&mut tx, &repository, &request.r#ref).await?;
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(IngestRun::of(&here, run, repository).await?)))
}

fn taken(error: mc_store::Error) -> Problem {
    let is_taken = matches!(error, mc_store::Error::OtherLocation { .. });
    let problem = Problem::from(error);
    if !is_taken {
        return problem;
    }
    problem.hint(
        "If this is another repository, give it a name of its own (`name` or `owner`; --name on the \
         command line). If it is the same one and moved here, say so (`relocate`: true; --relocate): \
         files that are not here are then deleted from the index.",
    )
}

/// What the service can reach and a caller perhaps can't: the disk of its machine, where other projects'
/// repositories are, too, and what its own ssh key opens. An administrator's token for `ingest` alone is enough:
/// what indexes the machine's folders on a schedule needs no more.
fn check_reach(caller: &Principal, location: &str) -> Result<(), Problem> {
    let is_public = location.starts_with("https://");
    if is_public || caller.is_admin {
        return Ok(());
    }
    let detail =
        "only an administrator of the service may index folders of its machine, or by its ssh key";
    Err(Problem::forbidden(detail).field("location").hint("give the repository's https address"))
}

/// Whether git may go wherever the location leads. Others would have it look around the network that the service
/// stands in, and index what it finds: they are refused what is inside, and git is held to the same when it goes.
/// What is not fetched by https has passed [`check_reach`].
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

/// Looks at the disk where the location is a folder.
async fn understood(location: String) -> Result<Origin, Problem> {
    match tokio::task::spawn_blocking(move || source::parse(&location)).await {
        Ok(origin) => origin.map_err(|error| Problem::from(error).field("location")),
        Err(_panic) => Err(Problem::internal()),
    }
}

/// See how far a run is.
#[utoipa::path(
    get, path = "/ingest/runs/{id}", tag = "ingest", params(RunPath),
    responses((status = 200, description = "The run", body = IngestRun))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RunPath>,
) -> Result<Json<IngestRun>, Problem> {
    let unknown = || Problem::not_found(format!("there is no ingest run {id}")).field("id");
    let here =
        api.authorize_resource(&caller, ProjectResource::Ingest(id), Permission::Read).await?;
    let here = here.ok_or_else(unknown)?;
    let run = ingest_runs::find(&here.store, id).await?.ok_or_else(unknown)?;
    let repository = repositories::by_id(&here.store, run.repository).await?.ok_or_else(unknown)?;
    Ok(Json(IngestRun::of(&here, run, repository).await?))
}

/// See how far the newest run of a repository is.
#[utoipa::path(
    get, path = "/repos/{owner}/{name}/index", tag = "ingest",
    params(RepositoryPath, RepositoryQuery),
    responses((status = 200, description = "Its newest run", body = IngestRun))
)]
pub async fn get_latest_run(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((owner, name)): ValidPath<RepositoryPath>,
    ValidQuery(project): ValidQuery<RepositoryQuery>,
) -> Result<Json<IngestRun>, Problem> {
    let here = api.authorize(&caller, &project, Permission::Read).await?;
    let unknown = || {
        Problem::not_found(format!("the project has no repository {owner}/{name}"))
            .field("name")
            .hint("index it with POST /ingest/git")
    };
    let repository = repositories::find(&here.store, here.project.id, &owner, &name).await?;
    let repository = repository.ok_or_else(unknown)?;
    let newest =
        ingest_runs::of_repository(&here.store, repository.id, 1).await?.into_iter().next();
    let run = newest.ok_or_else(unknown)?;
    Ok(Json(IngestRun::of(&here, run, repository).await?))
}

impl IngestRun {
    async fn of(
        here: &ProjectContext,
        run: ingest_runs::IngestRun,
        repository: Repository,
    ) -> Result<Self, Problem> {
        let queue = here.queue().await?;
        Ok(Self {
            eta_seconds: eta(&run, Utc::now()).map(|eta| eta.as_secs()),
            ingest_id: run.id.into(),
            repo_owner: repository.owner,
            repo_name: repository.name,
            namespace: repository.namespace,
            status: run.status.into(),
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
}

/// Time left at the pace so far.
fn eta(run: &ingest_runs::IngestRun, now: DateTime<Utc>) -> Option<Duration> {
    let is_at_work = run.completed_at.is_none() && run.status == mc_domain::IngestStatus::Running;
    let elapsed = (now - run.started_at?).to_std().ok()?;
    let done = u32::try_from(run.counts.files_done).ok().filter(|done| *done > 0)?;
    let left = u32::try_from(run.counts.files_total - run.counts.files_done).ok()?;
    is_at_work.then(|| elapsed / done * left)
}
