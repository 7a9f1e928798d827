//! `/projects/{key}/exports`: exports of a project's records.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::header;
use mc_domain::{ExportId, Permission, ProjectKey};
use mc_memory::export;
use mc_store::exports;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidPath;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Path parameters: an export.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ExportPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The export's id.
    id: Uuid,
}

impl Validate for ExportPath {
    type Checked = (ProjectKey, ExportId);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        Ok((validate::project_key("key", &self.key)?, ExportId(self.id)))
    }
}

/// An export of a project's records.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000014", "created_at": "2026-11-20T03:00:00Z",
    "record_count": 318, "size_bytes": 262_144
}))]
pub struct Export {
    id: Uuid,
    created_at: DateTime<Utc>,
    /// Number of records.
    record_count: i32,
    /// Size of the document in bytes, uncompressed.
    size_bytes: i64,
}

/// List the exports of a project.
///
/// Returns them newest first, without their documents. The newest eight are kept.
#[utoipa::path(
    get, path = "/projects/{key}/exports", tag = "hygiene", params(ProjectPath),
    responses((status = 200, description = "Newest first", body = Page<Export>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<Page<Export>>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let exports = exports::list(&ctx.store, ctx.project.id).await?;
    Ok(Json(Page::complete(exports)))
}

/// Download an export.
///
/// Returns the records as YAML, as `memory-copilot import` reads them. An export has no private
/// records.
#[utoipa::path(
    get, path = "/projects/{key}/exports/{id}", tag = "hygiene", params(ExportPath),
    responses((status = 200, description = "The list of records", body = Vec<serde_json::Value>,
               content_type = "application/yaml"))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ExportPath>,
) -> Result<Response, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let document = exports::document(&ctx.store, ctx.project.id, id).await?;
    let document = document.ok_or_else(|| unknown(&key))?;
    let yaml = export::decompress(&document)?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], yaml).into_response())
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such export; the newest eight are kept")
        .field("id")
        .hint(format!("GET /projects/{key}/exports lists them"))
}

impl From<exports::Export> for Export {
    fn from(export: exports::Export) -> Self {
        Self {
            id: export.id.into(),
            created_at: export.created_at,
            record_count: export.record_count,
            size_bytes: export.size_bytes,
        }
    }
}
