//! `/navigations`: the tools of a workspace, by the handle of a navigation (seed 003).

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::workspace::WorkspacePathParams;
use mc_contract::operations::workspace_tools::{
    BashRequest, Command, CommandPath, CommandQuery, EditRequest, GitRequest, JsonEditRequest,
    NavigationPath, NavigatorRequest, ToolResponse,
};
use mc_domain::{CommandState, NavigationId, Permission};
use mc_store::projects::ProjectResource;
use mc_workspaces::ServiceError;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Start a navigation in a workspace.
///
/// Returns a handle for the other operations: the current directory is the root, and the phase is
/// discovery. A handle works for its user only, and ends when it is not used for long.
#[utoipa::path(
    post, path = "/workspaces/{id}/navigations", tag = "workspaces", params(WorkspacePathParams),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 201, description = "The instructions of discovery", body = ToolResponse))
)]
pub async fn start_navigation(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
) -> Result<(StatusCode, Json<ToolResponse>), Problem> {
    let ctx = api.workspace_context(&caller, id, Permission::Read).await?;
    Ok((StatusCode::CREATED, Json(api.workbench.start(&ctx, &caller, id).await?)))
}

/// End a navigation.
///
/// Its running commands are ended, and its edits can no longer be undone.
#[utoipa::path(
    delete, path = "/navigations/{id}", tag = "workspaces", params(NavigationPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 204, description = "Ended"))
)]
pub async fn end_navigation(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Read).await?;
    api.workbench.end(&ctx, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Navigate a workspace.
///
/// Changes the current directory, lists, reads and searches, and starts or ends the edit phase.
#[utoipa::path(
    post, path = "/navigations/{id}/navigator", tag = "workspaces", params(NavigationPath),
    request_body = NavigatorRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The result", body = ToolResponse))
)]
pub async fn navigate(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
    JsonBody(request): JsonBody<NavigatorRequest>,
) -> Result<Json<ToolResponse>, Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Read).await?;
    Ok(Json(api.workbench.navigator(&ctx, &caller, id, request).await?))
}

/// Edit a text file of a workspace.
///
/// Works in the edit phase, on files below the locked directory.
#[utoipa::path(
    post, path = "/navigations/{id}/edit", tag = "workspaces", params(NavigationPath),
    request_body = EditRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The result", body = ToolResponse))
)]
pub async fn edit_workspace_file(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
    JsonBody(request): JsonBody<EditRequest>,
) -> Result<Json<ToolResponse>, Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    Ok(Json(api.workbench.edit(&ctx, &caller, id, request).await?))
}

/// Edit a JSON file of a workspace.
///
/// Works in the edit phase, on files below the locked directory.
#[utoipa::path(
    post, path = "/navigations/{id}/json-edit", tag = "workspaces", params(NavigationPath),
    request_body = JsonEditRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The result", body = ToolResponse))
)]
pub async fn edit_workspace_json(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
    JsonBody(request): JsonBody<JsonEditRequest>,
) -> Result<Json<ToolResponse>, Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    Ok(Json(api.workbench.json_edit(&ctx, &caller, id, request).await?))
}

/// Use git in a workspace.
///
/// Works in the edit phase, on files below the locked directory. Nothing leaves the machine.
#[utoipa::path(
    post, path = "/navigations/{id}/git", tag = "workspaces", params(NavigationPath),
    request_body = GitRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The result", body = ToolResponse))
)]
pub async fn use_workspace_git(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
    JsonBody(request): JsonBody<GitRequest>,
) -> Result<Json<ToolResponse>, Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    Ok(Json(api.workbench.git(&ctx, &caller, id, request).await?))
}

/// Run a command in a workspace.
///
/// Works in the edit phase. Starts a process in the sandbox, in the locked directory and without a
/// network. Responds when it has ended, or after `wait_seconds` with its id, by which it is
/// followed.
#[utoipa::path(
    post, path = "/navigations/{id}/commands", tag = "workspaces",
    params(NavigationPath, CommandQuery), request_body = BashRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "It has ended", body = Command),
              (status = 202, description = "It runs", body = Command))
)]
pub async fn run_command(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(NavigationPath { id }): PathParams<NavigationPath>,
    QueryString(CommandQuery { wait_seconds }): QueryString<CommandQuery>,
    JsonBody(request): JsonBody<BashRequest>,
) -> Result<(StatusCode, Json<Command>), Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    let wait = wait_seconds.unwrap_or_default();
    let command = api.workbench.bash(&ctx, &caller, id, request, wait).await?;
    Ok((status_of(&command), Json(command)))
}

/// Get a command.
///
/// Waits up to `wait_seconds` for the end of a command. Results are kept for half an hour.
#[utoipa::path(
    get, path = "/navigations/{id}/commands/{command}", tag = "workspaces",
    params(CommandPath, CommandQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "It has ended", body = Command),
              (status = 202, description = "It runs", body = Command))
)]
pub async fn get_command(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(CommandPath { id, command }): PathParams<CommandPath>,
    QueryString(CommandQuery { wait_seconds }): QueryString<CommandQuery>,
) -> Result<(StatusCode, Json<Command>), Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    let wait = wait_seconds.unwrap_or_default();
    let command = api.workbench.command(&ctx, &caller, id, command, wait).await?;
    Ok((status_of(&command), Json(command)))
}

/// Cancel a command.
///
/// Ends a running command with all its processes, and returns it.
#[utoipa::path(
    delete, path = "/navigations/{id}/commands/{command}", tag = "workspaces",
    params(CommandPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "It has ended", body = Command),
              (status = 202, description = "It ends", body = Command))
)]
pub async fn cancel_command(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(CommandPath { id, command }): PathParams<CommandPath>,
) -> Result<(StatusCode, Json<Command>), Problem> {
    let ctx = api.navigation_context(&caller, id, Permission::Draft).await?;
    let command = api.workbench.cancel(&ctx, &caller, id, command).await?;
    Ok((status_of(&command), Json(command)))
}

fn status_of(command: &Command) -> StatusCode {
    match command.state {
        CommandState::Running => StatusCode::ACCEPTED,
        CommandState::Completed | CommandState::Cancelled => StatusCode::OK,
    }
}

impl ApiState {
    /// Authorizes the caller in the project of a navigation.
    async fn navigation_context(
        &self,
        caller: &Principal,
        id: NavigationId,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        let resource = ProjectResource::Navigation(id);
        let ctx = self.authorize_resource(caller, resource, permission).await?;
        Ok(ctx.ok_or(ServiceError::UnknownNavigation(id))?)
    }
}
