//! Arguments of tools that this server needs itself: they say how much is shown, and of which
//! bundle a handle is.

use mc_contract::Request;
use mc_contract::number::TextOffset;
use mc_domain::BundleId;
use serde::Deserialize;
use utoipa::ToSchema;

/// No such argument.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Nothing {}

impl Request for Nothing {}

/// The bundle whose handles the call uses.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfBundle {
    bundle_id: Option<BundleId>,
}

impl Request for OfBundle {}

/// How much of the results is shown.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfResults {
    /// Any number will do: at least one result or line is shown.
    limit_tokens: Option<i64>,
}

impl Request for OfResults {}

/// How much of a text is shown, and from where.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfText {
    section: Option<String>,
    offset: Option<TextOffset>,
    limit_tokens: Option<i64>,
    bundle_id: Option<BundleId>,
}

impl Request for OfText {}
