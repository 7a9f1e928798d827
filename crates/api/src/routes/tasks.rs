//! `/tasks`: a tracker's issues, and the items linked to them.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::project::ProjectQuery;
use mc_contract::operations::task::{
    LinkTask, LinkTaskResponse, SyncTasks, SyncTasksResponse, TaskPath, TaskWithLinks,
};
use mc_domain::Permission;
use mc_integrations::tasks;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Store a tracker's issues.
///
/// Creates or updates each task of the request, all or none of them. Fields that are missing in an
/// issue are cleared on its task.
#[utoipa::path(
    post, path = "/tasks/sync", tag = "tasks", request_body = SyncTasks,
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 200, description = "All issues are stored", body = SyncTasksResponse))
)]
pub async fn sync_task(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<SyncTasks>,
) -> Result<Json<SyncTasksResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    Ok(Json(tasks::sync(&ctx, request).await?))
}

/// Link a dialog and records to an issue.
///
/// The task is created if no tracker has sent it yet. Linking records of the team requires the role
/// that may save for the team.
#[utoipa::path(
    post, path = "/tasks/link", tag = "tasks", request_body = LinkTask,
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 200, description = "Linked", body = LinkTaskResponse))
)]
pub async fn link_task(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<LinkTask>,
) -> Result<Json<LinkTaskResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Propose).await?;
    Ok(Json(tasks::link(&ctx, request).await?))
}

/// Get an issue and the items linked to it.
///
/// Returns the task with the ids of its dialogs and records, and the pull requests that mention it.
#[utoipa::path(
    get, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The issue", body = TaskWithLinks))
)]
pub async fn get_task(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TaskPath { external_id }): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<TaskWithLinks>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    Ok(Json(tasks::get(&ctx, external_id.as_str()).await?))
}

/// Delete what providers sent about an issue.
///
/// The task keeps its id and its links. Later updates of its tracker are stored again. Webhook
/// deliveries about it are kept for their fourteen days.
#[utoipa::path(
    delete, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 204, description = "Deleted; its id and links are kept"))
)]
pub async fn delete_task(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TaskPath { external_id }): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Curate).await?;
    tasks::erase(&ctx, external_id.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}
