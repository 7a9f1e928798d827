//! `/auth/device/decision`: a person's decision about the login of a terminal. The other endpoints
//! below `/auth` are those of OAuth.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Request;

/// A person's decision about a device login.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"user_code": "BCDF-GHJK", "approve": true}))]
pub struct DeviceDecision {
    /// The code that the terminal shows: eight letters, in any case, with spaces and hyphens
    /// anywhere.
    #[schema(pattern = "^[ -]*([BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz][ -]*){8}$")]
    pub user_code: String,
    /// Whether the terminal is signed in as the caller.
    pub approve: bool,
}

impl Request for DeviceDecision {}
