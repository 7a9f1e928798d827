//! `/ingest/docs`: ADRs, wiki pages, guides and conversations, as their source sends them.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::ingest::{IngestDocs, IngestDocsResponse};
use mc_domain::Permission;
use mc_integrations::documents;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Store documents.
///
/// Stores all documents of the request or none. All members find them at once, so this takes the
/// role that may save for the team.
#[utoipa::path(
    post, path = "/ingest/docs", tag = "ingest", request_body = IngestDocs,
    extensions(("x-access" = json!(Access::Permission(Permission::Ingest)))),
    responses((status = 200, description = "Stored; keyword search finds them",
               body = IngestDocsResponse))
)]
pub async fn ingest_documents(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<IngestDocs>,
) -> Result<Json<IngestDocsResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    Ok(Json(documents::store(&ctx, caller.user, request).await?))
}
