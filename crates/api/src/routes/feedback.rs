//! `/feedback`: what of a bundle was used.

use axum::Json;
use axum::extract::State;
use mc_domain::{BundleId, Permission};
use mc_store::projects::ProjectResource;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::limits;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// What of a bundle was used.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "bundle_id": "019a0000-0000-7000-8000-000000000001",
    "used": ["019a0000-0000-7000-8000-000000000002"]
}))]
pub struct FeedbackRequest {
    bundle_id: Uuid,
    /// Ids of facts, examples, links or gotchas of the bundle; at most 200.
    #[schema(max_items = 200)]
    used: Vec<Uuid>,
}

/// A [`FeedbackRequest`] as checked.
#[derive(Debug)]
pub struct ValidatedFeedback {
    bundle: BundleId,
    used: Vec<Uuid>,
}

impl Validate for FeedbackRequest {
    type Checked = ValidatedFeedback;

    fn check(self) -> Result<ValidatedFeedback, ValidationError> {
        Ok(ValidatedFeedback {
            bundle: BundleId(self.bundle_id),
            used: validate::list("used", self.used, limits::IDS, |_, id| Ok(id))?,
        })
    }
}

/// What was taken note of.
#[derive(Debug, Serialize, ToSchema)]
pub struct FeedbackResponse {
    /// How many items are now marked as used.
    recorded: usize,
    /// Ids that the bundle does not hold.
    unknown: Vec<Uuid>,
}

/// Say what of a bundle was used.
#[utoipa::path(
    post, path = "/feedback", tag = "memory", request_body = FeedbackRequest,
    responses((status = 200, description = "Noted", body = FeedbackResponse))
)]
pub async fn feedback(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(feedback): ValidJson<FeedbackRequest>,
) -> Result<Json<FeedbackResponse>, Problem> {
    let bundle = feedback.bundle;
    // It may have been handed out so recently, perhaps by another node, that it is still being written.
    let look =
        || api.authorize_resource(&caller, ProjectResource::Bundle(bundle), Permission::Propose);
    let here = api.memory.once_written(bundle, look).await?;
    let memory = here.ok_or(mc_memory::Error::UnknownBundle(bundle))?.memory;
    let noted = mc_memory::feedback(&memory, bundle, &feedback.used).await?;
    Ok(Json(FeedbackResponse { recorded: noted.recorded, unknown: noted.unknown }))
}
