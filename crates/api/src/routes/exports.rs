//! `/projects/{key}/exports`: exports of a project's records.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use mc_contract::operations::export::{Export, ExportPath};
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_domain::{Permission, ProjectKey};
use mc_store::exports;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::PathParams;
use crate::openapi::Access;
use crate::problem::Problem;

/// List the exports of a project.
///
/// Returns them newest first, without their documents. The newest eight are kept.
#[utoipa::path(
    get, path = "/projects/{key}/exports", tag = "hygiene", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Newest first", body = Page<Export>))
)]
pub async fn list_exports(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<Page<Export>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    Ok(Json(Page::new(exports::list(&ctx.store, ctx.project.id).await?, None)))
}

/// Download an export.
///
/// Returns the records as YAML, as `memory-copilot import` reads them. An export has no private
/// records.
#[utoipa::path(
    get, path = "/projects/{key}/exports/{id}", tag = "hygiene", params(ExportPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The list of records", body = Vec<serde_json::Value>,
               content_type = "application/yaml"))
)]
pub async fn get_export(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ExportPath { key, id }): PathParams<ExportPath>,
) -> Result<Response, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let document = exports::document(&ctx.store, ctx.project.id, id).await?;
    let document = document.ok_or_else(|| unknown(&key))?;
    let yaml = mc_memory::export::decompress(&document)?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], yaml).into_response())
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such export; the newest eight are kept")
        .field("id")
        .hint(format!("GET /projects/{key}/exports lists them"))
}
