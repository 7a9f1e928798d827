//! `/paths`: the path in an indexed repository of an absolute path.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::passage::{PathQuery, PathResponse};
use mc_domain::Permission;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::QueryString;
use crate::openapi::Access;
use crate::problem::Problem;

/// Find the path within an indexed repository that an absolute path stands for.
///
/// Returns the path relative to the root of the repository, found by its location, its name, or the
/// end of the path, of which at most 32 parts are compared.
#[utoipa::path(
    get, path = "/paths", tag = "projects", params(PathQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The path in the repository", body = PathResponse))
)]
pub async fn resolve_path(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<PathQuery>,
) -> Result<Json<PathResponse>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let found = mc_memory::resolve_path(&here.memory, here.project.id, query.path.as_str()).await?;
    let unknown = || {
        Problem::not_found("the path is in none of the project's repositories")
            .field("path")
            .hint("give it relative to the repository's root")
    };
    Ok(Json(PathResponse { path: found.ok_or_else(unknown)? }))
}
