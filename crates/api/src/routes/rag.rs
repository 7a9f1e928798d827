//! `/rag/search`: questions to indexed repositories.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::rag::{RagSearchGlobalRequest, RagSearchRequest, RagSearchResponse};
use mc_domain::{Permission, ReadKind, Scope};
use mc_memory::ProjectContext;
use mc_rag::RagContext;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Search a repository with a question.
///
/// Returns passages of code and documents that answer a question, best first, and a prompt with
/// them. `appliedModules` names what had an effect. A number that is out of range is corrected, and
/// `warnings` says so.
#[utoipa::path(
    post, path = "/rag/search", tag = "repositories", request_body = RagSearchRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Best first", body = RagSearchResponse))
)]
pub async fn search_repository(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<RagSearchRequest>,
) -> Result<Json<RagSearchResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Read).await?;
    let response = mc_rag::search(&rag_context(&api, &ctx), &api.settings.rag, &request).await?;
    api.question_metrics.count(&response);
    ctx.count_read(ReadKind::Search);
    Ok(Json(response))
}

/// Search all repositories with a question.
///
/// Searches every repository that is ready, in all projects of the caller, each by the rules of its
/// own project, and merges the results. The rest is as in `POST /rag/search`.
#[utoipa::path(
    post, path = "/rag/search/global", tag = "repositories",
    request_body = RagSearchGlobalRequest,
    extensions(("x-access" = json!(Access::Scope(Scope::MemoryRead)))),
    responses((status = 200, description = "Best first", body = RagSearchResponse))
)]
pub async fn search_all_repositories(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<RagSearchGlobalRequest>,
) -> Result<Json<RagSearchResponse>, Problem> {
    let projects = api.authorize_all(&caller, Permission::Read).await?;
    let contexts: Vec<_> = projects.iter().map(|ctx| rag_context(&api, ctx)).collect();
    let response = mc_rag::search_global(&contexts, &api.settings.rag, &request).await?;
    api.question_metrics.count(&response);
    for ctx in &projects {
        ctx.count_read(ReadKind::Search);
    }
    Ok(Json(response))
}

pub(super) fn rag_context(api: &ApiState, ctx: &ProjectContext) -> RagContext {
    let allowed = ctx.project.policy.models.embedding;
    let cross_encoder = api.settings.cross_encoder.clone();
    RagContext {
        search: ctx.memory.search.clone(),
        chat: ctx.memory.chat(ctx.project.id),
        cross_encoder: cross_encoder.filter(|encoder| allowed.allow(encoder.is_remote())),
        project: ctx.project.id,
    }
}
