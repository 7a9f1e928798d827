//! `POST /feedback`: which items of a bundle were used.

use mc_domain::BundleId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Request;
use crate::list::ItemIds;

/// The items of a bundle that were used.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "bundle_id": "019a0000-0000-7000-8000-000000000001",
    "used": ["019a0000-0000-7000-8000-000000000002"]
}))]
pub struct FeedbackRequest {
    /// The bundle, as `POST /recall` returned it.
    pub bundle_id: BundleId,
    /// Ids of facts, examples, links or gotchas of the bundle; at most 200.
    pub used: ItemIds,
}

impl Request for FeedbackRequest {}

/// The result of a feedback.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"recorded": 1, "unknown": []}))]
pub struct FeedbackResponse {
    /// Number of items that are now marked as used.
    pub recorded: usize,
    /// Ids that the bundle does not hold.
    pub unknown: Vec<Uuid>,
}
