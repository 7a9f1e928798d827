//! `/feedback`: which items of a bundle were used.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::feedback::{FeedbackRequest, FeedbackResponse};
use mc_domain::Permission;
use mc_store::projects::ProjectResource;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Record which items of a bundle were used.
///
/// Marks the items as used, which raises their rank in later searches. Returns the number of marked
/// items and the ids that the bundle does not hold.
#[utoipa::path(
    post, path = "/feedback", tag = "memory", request_body = FeedbackRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 200, description = "Recorded", body = FeedbackResponse))
)]
pub async fn send_feedback(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(feedback): JsonBody<FeedbackRequest>,
) -> Result<Json<FeedbackResponse>, Problem> {
    let bundle = feedback.bundle_id;
    // A bundle that was just returned, perhaps by another node, may not be stored yet.
    let find =
        || api.authorize_resource(&caller, ProjectResource::Bundle(bundle), Permission::Propose);
    let here = api.memory.once_written(bundle, find).await?;
    let memory = here.ok_or(mc_memory::Error::UnknownBundle(bundle))?.memory;
    let used = feedback.used.into_items();
    let report = mc_memory::feedback(&memory, bundle, &used).await?;
    Ok(Json(FeedbackResponse { recorded: report.recorded, unknown: report.unknown }))
}
