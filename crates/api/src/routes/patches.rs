//! `/patches`: changes of a workspace's files that were proposed (seed 000).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use mc_coding::{CodingContext, registry};
use mc_contract::operations::page::Page;
use mc_contract::operations::patch::{
    GeneratePatch, Patch, PatchListItem, PatchPathParams, PatchQuery, PatchRun, PatchRunPathParams,
    PatchRunQuery, PreviewPatch, ReviewPatch, WorkspacePatchPathParams,
};
use mc_contract::operations::workspace::WorkspacePathParams;
use mc_domain::{PatchId, Permission, WorkspaceId};
use mc_memory::ProjectContext;
use mc_store::projects::ProjectResource;
use mc_workspaces::requests;

use super::rag::rag_context;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Propose a patch.
///
/// A chat model of the service proposes changes of the files of a workspace, or the client sends
/// them as `diff`. Either way the patch is checked against the files, and stored if it applies. No
/// file is changed. The work goes on if it takes longer than the request waits.
#[utoipa::path(
    post, path = "/workspaces/{id}/patches", tag = "patches",
    params(WorkspacePathParams, PatchRunQuery), request_body = GeneratePatch,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The patch, or how far it is", body = PatchRun))
)]
pub async fn generate_patch(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePathParams { id }): PathParams<WorkspacePathParams>,
    QueryString(query): QueryString<PatchRunQuery>,
    JsonBody(request): JsonBody<GeneratePatch>,
) -> Result<Json<PatchRun>, Problem> {
    let ctx = api.coding_context(&caller, id).await?;
    let wait = query.wait_seconds.unwrap_or_default();
    Ok(Json(api.coding.generate(ctx, id, request, wait).await?))
}

/// Review a patch.
///
/// Rules find risks, missing tests, and code that can't be parsed any more; a chat model of the
/// service adds what it finds, if there is one. If a finding is severe, a person has to look at the
/// patch before it is published.
#[utoipa::path(
    post, path = "/workspaces/{id}/patches/{patch_id}/review", tag = "patches",
    params(WorkspacePatchPathParams, PatchRunQuery), request_body = ReviewPatch,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The review, or how far it is", body = PatchRun))
)]
pub async fn review_patch(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePatchPathParams { id, patch_id }): PathParams<WorkspacePatchPathParams>,
    QueryString(query): QueryString<PatchRunQuery>,
    JsonBody(request): JsonBody<ReviewPatch>,
) -> Result<Json<PatchRun>, Problem> {
    let ctx = api.coding_context(&caller, id).await?;
    let wait = query.wait_seconds.unwrap_or_default();
    Ok(Json(api.coding.review(ctx, id, patch_id, request, wait).await?))
}

/// Preview a patch.
///
/// Applies the patch to a copy of the workspace, and runs commands there in a sandbox without a
/// network. The workspace stays as it is, and the copy is deleted. The work goes on if it takes
/// longer than the request waits.
#[utoipa::path(
    post, path = "/workspaces/{id}/patches/{patch_id}/preview", tag = "patches",
    params(WorkspacePatchPathParams, PatchRunQuery), request_body = PreviewPatch,
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The preview, or how far it is", body = PatchRun))
)]
pub async fn preview_patch(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WorkspacePatchPathParams { id, patch_id }): PathParams<WorkspacePatchPathParams>,
    QueryString(query): QueryString<PatchRunQuery>,
    JsonBody(request): JsonBody<PreviewPatch>,
) -> Result<Json<PatchRun>, Problem> {
    let ctx = api.coding_context(&caller, id).await?;
    let wait = query.wait_seconds.unwrap_or_default();
    Ok(Json(api.coding.preview(ctx, id, patch_id, request, wait).await?))
}

/// Follow a patch run.
///
/// Waits some seconds for its end, and returns its result or how far it is.
#[utoipa::path(
    get, path = "/workspaces/{id}/patch-runs/{run_id}", tag = "patches",
    params(PatchRunPathParams, PatchRunQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The result, or how far it is", body = PatchRun))
)]
pub async fn get_patch_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PatchRunPathParams { id, run_id }): PathParams<PatchRunPathParams>,
    QueryString(query): QueryString<PatchRunQuery>,
) -> Result<Json<PatchRun>, Problem> {
    api.visible_workspace(&caller, id).await?;
    let wait = query.wait_seconds.unwrap_or_default();
    Ok(Json(api.coding.run(caller.user, id, run_id, wait).await?))
}

/// Cancel a patch run.
#[utoipa::path(
    delete, path = "/workspaces/{id}/patch-runs/{run_id}", tag = "patches",
    params(PatchRunPathParams),
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "How it ended", body = PatchRun))
)]
pub async fn cancel_patch_run(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PatchRunPathParams { id, run_id }): PathParams<PatchRunPathParams>,
) -> Result<Json<PatchRun>, Problem> {
    api.visible_workspace(&caller, id).await?;
    Ok(Json(api.coding.cancel(caller.user, id, run_id).await?))
}

/// List patches.
///
/// Returns those of the caller, newest first, or all of the project.
#[utoipa::path(
    get, path = "/patches", tag = "patches", params(PatchQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Newest first", body = Page<PatchListItem>))
)]
pub async fn list_patches(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<PatchQuery>,
) -> Result<Json<Page<PatchListItem>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    Ok(Json(registry::list(&ctx, &caller, &query).await?))
}

/// Get a patch.
///
/// Returns the patch with its diff. Maintainers see those of others.
#[utoipa::path(
    get, path = "/patches/{id}", tag = "patches", params(PatchPathParams),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The patch", body = Patch))
)]
pub async fn get_patch(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PatchPathParams { id }): PathParams<PatchPathParams>,
) -> Result<Json<Patch>, Problem> {
    let ctx = api.patch_context(&caller, id, Permission::Read).await?;
    Ok(Json(registry::get(&ctx, id).await?))
}

/// Discard a patch.
///
/// A discarded patch can't be applied any more. Maintainers discard those of others.
#[utoipa::path(
    delete, path = "/patches/{id}", tag = "patches", params(PatchPathParams),
    extensions(("x-access" = json!(Access::Permission(Permission::Draft)))),
    responses((status = 200, description = "The discarded patch", body = Patch))
)]
pub async fn discard_patch(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PatchPathParams { id }): PathParams<PatchPathParams>,
) -> Result<Json<Patch>, Problem> {
    let ctx = api.patch_context(&caller, id, Permission::Draft).await?;
    Ok(Json(registry::discard(&ctx, id).await?))
}

impl ApiState {
    /// Returns the context of work on patches of a workspace.
    async fn coding_context(
        &self,
        caller: &Principal,
        workspace: WorkspaceId,
    ) -> Result<CodingContext, Problem> {
        let project = self.workspace_context(caller, workspace, Permission::Draft).await?;
        Ok(CodingContext {
            rag: rag_context(self, &project),
            project,
            principal: (**caller).clone(),
            rag_settings: Arc::clone(&self.settings.rag),
            workbench: Arc::clone(&self.workbench),
            settings: Arc::clone(&self.settings.coding),
        })
    }

    /// Checks that the caller may see a workspace, and work on patches in its project.
    async fn visible_workspace(&self, caller: &Principal, id: WorkspaceId) -> Result<(), Problem> {
        let ctx = self.workspace_context(caller, id, Permission::Draft).await?;
        requests::get(&ctx, id).await?;
        Ok(())
    }

    /// Authorizes the caller in the project of a patch.
    async fn patch_context(
        &self,
        caller: &Principal,
        id: PatchId,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        let resource = ProjectResource::Patch(id);
        let ctx = self.authorize_resource(caller, resource, permission).await?;
        Ok(ctx.ok_or(mc_coding::Error::UnknownPatch(id))?)
    }
}
