//! `/auth/device/decision`: a person's decision about the login of a terminal. The other endpoints
//! below `/auth` are those of OAuth.

use mc_domain::Scope;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::Request;
use crate::list::optional_nonempty;

/// The code of a device login.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeviceLoginQuery {
    /// The code that the terminal shows, as for the decision.
    #[param(pattern = "^[ -]*([BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz][ -]*){8}$")]
    pub user_code: String,
}

impl Request for DeviceLoginQuery {}

/// A device login that waits for a decision.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "user_code": "BCDF-GHJK", "client": "memory-copilot-cli",
    "requested_scopes": ["memory:read", "admin"], "grantable_scopes": ["memory:read"]
}))]
pub struct DeviceLogin {
    /// The code, as the terminal shows it.
    pub user_code: String,
    /// Client id of the program.
    pub client: String,
    /// Scopes that the program requests.
    pub requested_scopes: Vec<Scope>,
    /// Those of the requested scopes that the caller has.
    pub grantable_scopes: Vec<Scope>,
}

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
    /// Scopes to grant, of those that the program requests and the caller has; by default all of
    /// these except `ingest:local` and `admin`.
    #[serde(default, deserialize_with = "optional_nonempty::<{ Scope::ALL.len() }, _, _>")]
    #[schema(min_items = 1, max_items = 7)]
    pub scopes: Option<Vec<Scope>>,
}

impl Request for DeviceDecision {}
