//! Access tokens: JWTs of the profile of RFC 9068, signed with Ed25519 and good for 15 minutes.
//!
//! A token is read as strictly as it is written. Its header has `alg`, `typ` and `kid`; its claims are
//! those of its [`Party`] and of [`Access`], with `iat` and `nbf`, each of its one JSON type. Anything
//! more, twice or otherwise is refused, and so is a claim that a later release adds: one release must
//! know it before the next one issues it, or nodes of both can't run side by side.
//!
//! `jsonwebtoken` signs and verifies; what the claims mean is decided here, since it reads the time
//! from the system's clock, takes an array for `aud`, and passes over what it does not know.

mod error;
mod issue;
mod json_object;
mod verify;

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{SessionId, TokenId, UserId};

use crate::client::ClientId;
use mc_domain::Scopes;

pub use error::{InvalidAccessToken, Part, Reason};
pub use issue::{Grant, Issued, issue};
pub use verify::verify;

/// How long an access token is good for.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(15);

/// How far clocks of the service's nodes may be apart.
pub const LEEWAY: TimeDelta = TimeDelta::seconds(30);

/// The longest token that is looked at, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;

/// `typ` of the header (RFC 9068, section 2.1): what tells an access token from any other JWT.
const TYP: &str = "at+jwt";

/// Who issues tokens, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAudience {
    /// `iss`: the service's public address, as its metadata has it.
    pub issuer: String,
    /// `aud`: which service takes the tokens (RFC 8707); tokens for another are refused.
    pub audience: String,
}

/// What a verified access token says.
///
/// It is a bearer token and may be used again and again until it expires. Whether its session was
/// revoked meanwhile, and which roles its user has, is for the caller to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `sub`.
    pub user: UserId,
    /// `client_id`: the program it was issued to.
    pub client: ClientId,
    /// `sid`: what it stems from, and is revoked with.
    pub session: SessionId,
    /// `jti`.
    pub token: TokenId,
    /// `scope`.
    pub scopes: Scopes,
    /// `exp`.
    pub expires_at: DateTime<Utc>,
}
