//! `/tasks/{external_id}/comment`: the comment at a task's tracker that lists its records and
//! dialogs.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::project::ProjectQuery;
use mc_contract::operations::task::{ApproveTaskComment, TaskComment, TaskPath};
use mc_domain::Permission;
use mc_integrations::task_comments;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Preview a task comment.
///
/// Returns the text that would be posted at the tracker, and its digest; nothing is posted.
/// The text lists records and dialogs that all members may read, by title and id.
#[utoipa::path(
    get, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Confirm)))),
    responses((status = 200, description = "The text that would be posted", body = TaskComment))
)]
pub async fn get_task_comment(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TaskPath { external_id }): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<TaskComment>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Confirm).await?;
    let id = external_id.as_str();
    Ok(Json(task_comments::preview(&ctx, &api.connectors, id).await?))
}

/// Approve a task comment.
///
/// A job then posts the text that has the digest. An issue has one comment, which later approvals
/// update.
#[utoipa::path(
    post, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, ProjectQuery),
    request_body = ApproveTaskComment,
    extensions(("x-access" = json!(Access::Permission(Permission::Confirm)))),
    responses((status = 202, description = "The comment will be posted by a worker",
               body = TaskComment))
)]
pub async fn approve_task_comment(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TaskPath { external_id }): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
    JsonBody(approval): JsonBody<ApproveTaskComment>,
) -> Result<(StatusCode, Json<TaskComment>), Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Confirm).await?;
    let id = external_id.as_str();
    let approved = task_comments::approve(&ctx, &api.connectors, id, approval).await?;
    Ok((StatusCode::ACCEPTED, Json(approved)))
}
