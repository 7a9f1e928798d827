//! `/workspaces`: trees of repositories that a user reads and changes.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::page::Page;
use mc_contract::operations::workspace::{
    CreateWorkspace, CreateWorkspaceFolder, DeletionQuery, InspectionQuery, Workspace,
    WorkspaceFile, WorkspaceFileQuery, WorkspaceInspection, WorkspacePathParams, WorkspaceQuery,
};
use mc_domain::{Permission, WorkspaceId};
use mc_memory::content_filter::run_blocking;
use mc_store::projects::ProjectResource;
use mc_workspaces::open::OpenWorkspace;
use mc_workspaces::{ServiceError, open, reading, requests};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Fetch a repository into a workspace.
///
/// Creates a workspace of the caller, and enqueues the job that fetches the repository into it.
/// Once it is `ready`, its files can be read, and an index run of the repository is enqueued.
/// Submodules are not fetched, and files of Git LFS stay pointers. A workspace that is not used for
/// long is deleted (`expiresAt`).
#[utoipa::path(
    post, path = "/workspaces", tag = "workspaces", request_body = CreateWorkspace,
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 202, description = "Enqueued", body = Workspace))
)]
pub async fn create_workspace(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateWorkspace>,
) -> Result<(StatusCode, Json<Workspace>), Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let created = requests::create(&ctx, &caller, &api.workbench.settings, &request).await?;
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// Register a directory as a workspace.
///
/// Makes a checkout of the service's machine a workspace of the caller, such as the one in which a
/// developer works, and enqueues an index run of it. Requires a service administrator and the scope
/// `ingest:local`.
#[utoipa::path(
    post, path = "/workspaces/folders", tag = "workspaces", request_body = CreateWorkspaceFolder,
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 201, description = "Registered", body = Workspace))
)]
pub async fn create_workspace_folder(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateWorkspaceFolder>,
) -> Result<(StatusCode, Json<Workspace>), Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let settings = &api.workbench.settings;
    let created = requests::create_folder(&ctx, &caller, settings, &request).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// List workspaces.
///
/// Returns those of the caller, newest first, or all of the project.
#[utoipa::path(
    get, path = "/workspaces", tag = "workspaces", params(WorkspaceQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Newest first", body = Page<Workspace>))
)]
pub async fn list_workspaces(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<WorkspaceQuery>,
) -> Result<Json<Page<Workspace>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    Ok(Json(requests::list(&ctx, &caller, &query).await?))
}

/// Get a workspace.
///
/// Returns the workspace and how far its fetch is.
#[utoipa::path(
    get, path = "/workspaces/{id}", tag = "workspaces", params(WorkspacePathParams),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The workspace", body = Workspace))
)]
pub async fn get_workspace(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
) -> Result<Json<Workspace>, Problem> {
    let ctx = api.workspace_context(&caller, id, Permission::Read).await?;
    Ok(Json(requests::get(&ctx, id).await?))
}

/// Delete a workspace.
///
/// Deletes the workspace with its files and all changes of them. A registered
/// directory stays as it is. Maintainers may delete those of others.
#[utoipa::path(
    delete, path = "/workspaces/{id}", tag = "workspaces",
    params(WorkspacePathParams, DeletionQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_workspace(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
    QueryString(DeletionQuery { unless_fetched }): QueryString<DeletionQuery>,
) -> Result<StatusCode, Problem> {
    let ctx = api.workspace_context(&caller, id, Permission::Read).await?;
    if unless_fetched {
        api.workbench.cancel_fetch(&ctx, id).await?;
    } else {
        api.workbench.delete(&ctx, id).await?;
        api.coding.cancel_of_workspace(id);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Describe a directory of a workspace.
///
/// Returns its tree with sizes, the languages and build files of the whole directory, and the
/// directory in which work on the project best starts.
#[utoipa::path(
    get, path = "/workspaces/{id}/inspection", tag = "workspaces",
    params(WorkspacePathParams, InspectionQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The description", body = WorkspaceInspection))
)]
pub async fn inspect_workspace(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
    QueryString(query): QueryString<InspectionQuery>,
) -> Result<Json<WorkspaceInspection>, Problem> {
    let open = api.open_workspace(&caller, id, Permission::Read).await?;
    Ok(Json(run_blocking(move || reading::inspect(&open, &query)).await?))
}

/// Read a file of a workspace.
///
/// Returns lines of a text file with their numbers. Secrets and personal data are masked.
#[utoipa::path(
    get, path = "/workspaces/{id}/file", tag = "workspaces",
    params(WorkspacePathParams, WorkspaceFileQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The lines", body = WorkspaceFile))
)]
pub async fn read_workspace_file(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
    QueryString(query): QueryString<WorkspaceFileQuery>,
) -> Result<Json<WorkspaceFile>, Problem> {
    let open = api.open_workspace(&caller, id, Permission::Read).await?;
    Ok(Json(run_blocking(move || reading::read_file(&open, &query)).await?))
}

impl ApiState {
    /// Authorizes the caller in the project of a workspace.
    pub(super) async fn workspace_context(
        &self,
        caller: &Principal,
        id: WorkspaceId,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        let resource = ProjectResource::Workspace(id);
        let ctx = self.authorize_resource(caller, resource, permission).await?;
        Ok(ctx.ok_or(ServiceError::UnknownWorkspace(id))?)
    }

    /// Opens a workspace of the caller whose files are on this node.
    async fn open_workspace(
        &self,
        caller: &Principal,
        id: WorkspaceId,
        permission: Permission,
    ) -> Result<OpenWorkspace, Problem> {
        let ctx = self.workspace_context(caller, id, permission).await?;
        Ok(open::open(&ctx, caller, &self.workbench.settings, id).await?)
    }
}
