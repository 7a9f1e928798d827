//! `/projects/{key}/chat-usage`: use of chat models by a project.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::chat_usage::{ChatUsage, ChatUsageQuery};
use mc_contract::operations::project::ProjectPath;
use mc_domain::Permission;
use mc_store::chat_requests;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Get a project's use of chat models.
///
/// Returns the requests, tokens and costs of the last days by model and role, and how much of the
/// present day's budget is used.
#[utoipa::path(
    get, path = "/projects/{key}/chat-usage", tag = "projects",
    params(ProjectPath, ChatUsageQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The newest day first", body = ChatUsage))
)]
pub async fn get_chat_usage(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<ChatUsageQuery>,
) -> Result<Json<ChatUsage>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let days = query.days.unwrap_or_default().get();
    Ok(Json(ChatUsage {
        budget_tokens: ctx.project.policy.tokens.chat_per_day.into(),
        used_tokens: chat_requests::used_tokens(&ctx.store, ctx.project.id).await?,
        items: chat_requests::daily_usage(&ctx.store, ctx.project.id, days).await?,
    }))
}
