//! `/tokens`: personal access tokens.

use chrono::{DateTime, Utc};
use mc_domain::{Scope, TokenId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Request;
use crate::list::limited_nonempty;
use crate::number::TokenDays;
use crate::text::{Identifier, Login};

/// A token to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "laptop", "scopes": ["memory:read", "memory:write"], "expires_in_days": 90
}))]
pub struct CreateToken {
    /// Display name.
    pub name: Identifier,
    /// `memory:read`, `memory:write`, `ingest`, `ingest:local`, `coding`, `github:write` and
    /// `admin`; at most the scopes of the token of this request.
    #[serde(deserialize_with = "limited_nonempty::<{ Scope::ALL.len() }, _, _>")]
    #[schema(min_items = 1, max_items = 7)]
    pub scopes: Vec<Scope>,
    /// 1 to 366 days; 90 by default.
    pub expires_in_days: Option<TokenDays>,
    /// Login of the agent that it is for, if not for the caller. For service administrators.
    pub agent_login: Option<Login>,
}

impl Request for CreateToken {}

path! {
    /// A token, in a path.
    TokenPath {
        /// The token's id.
        id: TokenId,
    }
}

query! {
    /// Owner of the tokens to list.
    TokenQuery {
        /// A user's login; the caller's by default. Other users' are for service administrators.
        user: Option<Login>,
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000018", "name": "laptop", "hint": "0000",
    "scopes": ["memory:read", "memory:write"], "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2027-02-18T10:00:00Z", "last_used_at": null, "revoked_at": null
}))]
pub struct AccessToken {
    /// The token's id.
    pub id: TokenId,
    /// Display name.
    pub name: String,
    /// The secret's last characters.
    pub hint: String,
    /// Scopes of the token.
    pub scopes: Vec<Scope>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// Last use, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A created token with its secret.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "token": "example-token-that-is-shown-once",
    "id": "019a0000-0000-7000-8000-000000000018", "name": "laptop", "hint": "0000",
    "scopes": ["memory:read", "memory:write"], "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2027-02-18T10:00:00Z", "last_used_at": null, "revoked_at": null
}))]
pub struct TokenWithSecret {
    /// The secret. It is not stored, and not shown again.
    pub token: String,
    /// All but the secret.
    #[serde(flatten)]
    pub access_token: AccessToken,
}
