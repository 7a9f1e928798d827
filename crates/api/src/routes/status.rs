//! How the service is: `/healthz` and `/readyz` for machines, `/status` for people.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::Utc;
use mc_search::Phase;
use mc_store::{server_version, vectors};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::problem::Problem;

/// How long the database may take to say that it is there.
const READY_TIME: Duration = Duration::from_secs(2);

/// The process answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// What the service is made of and how far it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Status {
    /// This service's version.
    version: &'static str,
    uptime_seconds: i64,
    /// The database server's version.
    postgres: String,
    pgvector: String,
    /// The embedding model at work.
    model: EmbeddingModel,
    index: KeywordIndex,
    /// Passages that keyword search finds and vector search does not yet, in all projects; for
    /// administrators of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_vectors: Option<i64>,
}

/// The keyword index.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeywordIndex {
    phase: IndexPhase,
    /// Passages of all projects in it so far; for administrators of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<u64>,
}

/// What the keyword index is doing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexPhase {
    /// Being filled from the database; searches see what is in so far.
    Rebuilding,
    /// Complete, and kept up to date.
    Following,
    /// It can't be written, as when the disk is full; searches find what is new by vectors alone.
    Stuck,
    /// It had to be built anew and can't be; searches find what is not in it by vectors alone.
    Unbuilt,
}

/// An embedding model.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmbeddingModel {
    name: String,
    dimensions: i32,
}

/// The service is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "service", security(()),
    responses((status = 200, description = "Alive", body = Health))
)]
pub async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// The service can do its work: the database answers and the keyword index is complete.
#[utoipa::path(
    get, path = "/readyz", tag = "service", security(()),
    responses((status = 200, description = "Ready", body = Health))
)]
pub async fn ready(State(api): State<ApiState>) -> Result<Json<Health>, Problem> {
    let answered = tokio::time::timeout(READY_TIME, server_version::ping(&api.store)).await;
    if !matches!(answered, Ok(Ok(()))) {
        return Err(Problem::unavailable("the database does not answer"));
    }
    let phase = api.memory.search.keyword.status().phase;
    if matches!(phase, Phase::Rebuilding | Phase::Unbuilt) {
        return Err(Problem::unavailable("the keyword index is being rebuilt"));
    }
    Ok(Json(Health { status: "ok" }))
}

/// See what the service is made of and how far it is.
#[utoipa::path(
    get, path = "/status", tag = "service",
    responses((status = 200, description = "The service", body = Status))
)]
pub async fn get(State(api): State<ApiState>, caller: Principal) -> Result<Json<Status>, Problem> {
    let versions = server_version::versions(&api.store).await?;
    let current = api.memory.search.models.current();
    // How much all hold together is nobody's business who sees only some.
    let pending_vectors = if caller.is_service_admin() {
        Some(vectors::queue_length(&api.background, None, current.is_remote).await?)
    } else {
        None
    };
    let model = current.model;
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: (Utc::now() - api.started_at).num_seconds(),
        postgres: versions.postgres,
        pgvector: versions.pgvector,
        model: EmbeddingModel { name: model.name, dimensions: model.dimensions },
        index: KeywordIndex::of(&api.memory.search.keyword.status(), caller.is_service_admin()),
        pending_vectors,
    }))
}

impl KeywordIndex {
    fn of(status: &mc_search::Status, with_counts: bool) -> Self {
        let phase = match status.phase {
            Phase::Rebuilding => IndexPhase::Rebuilding,
            Phase::Following => IndexPhase::Following,
            Phase::Stuck => IndexPhase::Stuck,
            Phase::Unbuilt => IndexPhase::Unbuilt,
        };
        Self { phase, passages: with_counts.then_some(status.passages) }
    }
}
