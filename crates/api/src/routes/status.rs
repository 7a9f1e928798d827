//! Health of the service: `/healthz` and `/readyz` for machines, `/status` for people.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::Utc;
use mc_search::{ActiveModels, Phase, UnavailableModel};
use mc_store::{disk, server, vectors};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::openapi::Access;
use crate::problem::Problem;

/// Time for the database to respond.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// The way out of a full disk.
const FREE_DATABASE_DISK: &str = "free space on the disk of the database (with the embedded one, \
    of data_dir); the service continues by itself within a minute";
const FREE_INDEX_DISK: &str =
    "free space on the disk of data_dir; the index catches up by itself within a minute";

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"status": "ok"}))]
pub struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// State of the service.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "version": "0.1.0", "uptime_seconds": 86400, "postgres": "18.1", "pgvector": "0.8.1",
    "model": {"name": "multilingual-e5-small", "dimensions": 384},
    "index": {"phase": "live", "is_disk_full": false, "passages": 12480}, "pending_vectors": 0
}))]
pub struct Status {
    /// This service's version; for service administrators, as are those of its components.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    uptime_seconds: i64,
    /// The database server's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pgvector: Option<String>,
    /// The active embedding model.
    model: EmbeddingModel,
    /// The model before a change, until the active one has every vector; for service
    /// administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_model: Option<PreviousModel>,
    index: KeywordIndex,
    /// Passages of all projects that keyword search finds and vector search does not yet; for
    /// service administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_vectors: Option<i64>,
}

/// The keyword index.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeywordIndex {
    phase: IndexPhase,
    /// Whether it can't be written because its disk is full.
    is_disk_full: bool,
    /// Indexed passages of all projects; for service administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<u64>,
}

/// State of the keyword index.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexPhase {
    /// It is rebuilt from the database; searches find the passages that it has so far.
    Rebuilding,
    /// It is complete, and follows changes.
    Live,
    /// It can't be written, as on a full disk; searches find new passages by vectors only.
    ReadOnly,
    /// A rebuild failed; searches find the passages that it lacks by vectors only.
    Incomplete,
}

/// An embedding model.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmbeddingModel {
    name: String,
    dimensions: i32,
}

/// The embedding model before a change.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviousModel {
    name: String,
    /// Why it can't be used now. Passages without a vector of the active model are then found by
    /// words only.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Check that the process responds.
///
/// Returns `ok` without a look at the database. It needs no token and is never refused for load.
#[utoipa::path(
    get, path = "/healthz", tag = "service", security(()),
    responses((status = 200, description = "Alive", body = Health))
)]
pub async fn get_liveness() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Check that the service can serve requests.
///
/// Returns `ok` if the database responds, its disk is not full and the keyword index is complete
/// and follows changes, otherwise a problem with the status 503 that names the cause. It needs no
/// token.
#[utoipa::path(
    get, path = "/readyz", tag = "service", security(()),
    responses((status = 200, description = "Ready", body = Health))
)]
pub async fn get_readiness(State(api): State<ApiState>) -> Result<Json<Health>, Problem> {
    let ping = tokio::time::timeout(READY_TIMEOUT, server::ping(&api.store)).await;
    let responds = matches!(ping, Ok(Ok(())));
    let index = api.memory.search.keyword.status();
    let problem = match (responds, disk::is_database_full()) {
        (false, true) => Problem::unavailable("the database does not respond: its disk is full")
            .hint(FREE_DATABASE_DISK),
        (false, false) => Problem::unavailable("the database does not respond"),
        (true, true) => {
            Problem::unavailable("the disk of the database is full: nothing can be saved")
                .hint(FREE_DATABASE_DISK)
        }
        (true, false) => match unready_index(&index) {
            Some(problem) => problem,
            None => return Ok(Json(Health { status: "ok" })),
        },
    };
    Err(problem)
}

/// Returns the problem of a keyword index that lacks passages.
fn unready_index(index: &mc_search::Status) -> Option<Problem> {
    let detail = match (index.phase, index.is_disk_full) {
        (Phase::Live, _) => return None,
        (Phase::ReadOnly, true) => "the keyword index can't be written: its disk is full",
        (Phase::ReadOnly, false) => "the keyword index can't be written",
        (Phase::Rebuilding | Phase::Incomplete, true) => {
            "the keyword index can't be rebuilt: its disk is full"
        }
        (Phase::Rebuilding | Phase::Incomplete, false) => "the keyword index is being rebuilt",
    };
    let problem = Problem::unavailable(detail);
    Some(if index.is_disk_full { problem.hint(FREE_INDEX_DISK) } else { problem })
}

/// Get the state of the service.
///
/// Returns the embedding model and the phase of the keyword index; for service administrators also
/// the versions of the service and its database, and counts over all projects.
#[utoipa::path(
    get, path = "/status", tag = "service",
    extensions(("x-access" = json!(Access::Credential))),
    responses((status = 200, description = "The status of the service", body = Status))
)]
pub async fn get_status(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Status>, Problem> {
    let models = &api.memory.search.models;
    let current = models.current();
    let is_admin = caller.is_service_admin();
    let mut status = Status {
        version: None,
        uptime_seconds: (Utc::now() - api.started_at).num_seconds(),
        postgres: None,
        pgvector: None,
        model: EmbeddingModel {
            name: current.model.name.clone(),
            dimensions: current.model.dimensions,
        },
        previous_model: PreviousModel::of(models).filter(|_| is_admin),
        index: KeywordIndex::of(&api.memory.search.keyword.status(), is_admin),
        pending_vectors: None,
    };
    // Versions name known faults, and sizes of all projects are for those who may see them all.
    if is_admin {
        let versions = server::versions(&api.store).await?;
        let pending =
            vectors::queue_length(&api.background, None, &current.model, current.is_remote).await?;
        status.version = Some(env!("CARGO_PKG_VERSION"));
        status.postgres = Some(versions.postgres);
        status.pgvector = Some(versions.pgvector);
        status.pending_vectors = Some(pending);
    }
    Ok(Json(status))
}

impl PreviousModel {
    fn of(models: &ActiveModels) -> Option<Self> {
        if let Some(UnavailableModel { name, reason, .. }) = models.unavailable_previous() {
            return Some(Self { name, problem: Some(reason) });
        }
        models.opened_previous().map(|active| Self { name: active.model.name, problem: None })
    }
}

impl KeywordIndex {
    fn of(status: &mc_search::Status, with_counts: bool) -> Self {
        let phase = match status.phase {
            Phase::Rebuilding => IndexPhase::Rebuilding,
            Phase::Live => IndexPhase::Live,
            Phase::ReadOnly => IndexPhase::ReadOnly,
            Phase::Incomplete => IndexPhase::Incomplete,
        };
        Self {
            phase,
            is_disk_full: status.is_disk_full,
            passages: with_counts.then_some(status.passages),
        }
    }
}
