//! `/projects/{key}/integrations` and `/connectors`: the resources of providers that a project
//! syncs. The address and the credential of a provider are the operator's configuration alone.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::integration::{
    Connector, ConnectorQuery, CreateIntegration, DeleteIntegrationQuery, Integration,
    IntegrationPath, UpdateIntegration,
};
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_domain::Permission;
use mc_integrations::{connectors, integrations};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Create an integration.
///
/// Subscribes the project to a resource of a connector, and enqueues its first sync.
#[utoipa::path(
    post, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    request_body = CreateIntegration,
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 201, description = "Created; its first sync is enqueued",
               body = Integration))
)]
pub async fn create_integration(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    JsonBody(request): JsonBody<CreateIntegration>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    let created = integrations::create(&ctx, &api.connectors, &request).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// List integrations.
///
/// Returns the project's integrations, in the order of their creation, with the state of their
/// syncs.
#[utoipa::path(
    get, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "In the order of their creation",
               body = Page<Integration>))
)]
pub async fn list_integrations(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<Page<Integration>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(integrations::list(&ctx).await?))
}

/// Get an integration.
///
/// Returns the integration, the state of its last sync and the progress of a running one.
#[utoipa::path(
    get, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "The integration", body = Integration))
)]
pub async fn get_integration(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
) -> Result<Json<Integration>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(integrations::get(&ctx, id).await?))
}

/// Update an integration.
///
/// Changes its interval or the import of comments, or pauses and resumes it.
#[utoipa::path(
    patch, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    request_body = UpdateIntegration,
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "The updated integration", body = Integration))
)]
pub async fn update_integration(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
    JsonBody(request): JsonBody<UpdateIntegration>,
) -> Result<Json<Integration>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(integrations::update(&ctx, id, &request).await?))
}

/// Sync an integration now.
///
/// Enqueues a sync, whatever the interval.
#[utoipa::path(
    post, path = "/projects/{key}/integrations/{id}/sync", tag = "connectors",
    params(IntegrationPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 202, description = "Enqueued", body = Integration))
)]
pub async fn sync_integration(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok((StatusCode::ACCEPTED, Json(integrations::request_sync(&ctx, id).await?)))
}

/// Delete an integration.
///
/// Ends its syncs. Its documents and the data of its tasks stay unless `purge` is true.
#[utoipa::path(
    delete, path = "/projects/{key}/integrations/{id}", tag = "connectors",
    params(IntegrationPath, DeleteIntegrationQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_integration(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
    QueryString(query): QueryString<DeleteIntegrationQuery>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    integrations::delete(&ctx, id, query.purge).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List connectors.
///
/// Returns the connectors that a project may use, and the state of its integrations with each.
/// Without a project, service administrators see all.
#[utoipa::path(
    get, path = "/connectors", tag = "connectors", params(ConnectorQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "Sorted by name", body = Page<Connector>))
)]
pub async fn list_connectors(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ConnectorQuery>,
) -> Result<Json<Page<Connector>>, Problem> {
    let Some(key) = query.project_key else {
        caller.require_service_admin()?;
        return Ok(Json(connectors::list_all(&api.background, &api.connectors).await?));
    };
    let ctx = api.authorize(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(connectors::list(&ctx, &api.connectors).await?))
}
