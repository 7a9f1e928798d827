//! `/forget`: erasure of the contributions of a user or a source.

use axum::Json;
use axum::extract::State;
use mc_accounts::users;
use mc_contract::operations::forget::{ErasureTarget, ForgetRequest, ForgetResponse};
use mc_domain::Permission;
use mc_memory::review;
use mc_store::records::Contributor;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Erase the contributions of a user or a source, or a repository with all its files.
///
/// Texts of others are restored, also those that a deleted record had superseded. The user's
/// quarantine items are deleted. Quarantine items of a *source* are not found, since the source is
/// encrypted with the item: look through `GET /quarantine` for them.
#[utoipa::path(
    post, path = "/forget", tag = "review", request_body = ForgetRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The erased data, or that of a dry run",
               body = ForgetResponse))
)]
pub async fn forget(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<ForgetRequest>,
) -> Result<Json<ForgetResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Curate).await?;
    let contributor = match request.target()? {
        ErasureTarget::User(login) => {
            Contributor::User(users::filter_id(&api.store, login.as_str()).await?)
        }
        ErasureTarget::Source(source) => Contributor::Source(source.as_str().to_owned()),
    };
    let (memory, project) = (&ctx.memory, ctx.project.id);
    Ok(Json(review::forget(memory, project, &contributor, request.dry_run).await?))
}
