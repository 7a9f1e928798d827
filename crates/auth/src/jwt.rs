//! Access tokens: JWTs of the profile of RFC 9068, signed with Ed25519 and valid for 15 minutes.
//!
//! Verification is strict. The header has `alg`, `typ` and `kid`; the claims are those of
//! [`TokenAudience`] and [`Access`], with `iat` and `nbf`, each of one JSON type. Unknown,
//! duplicate and differently typed members are rejected, and so is a claim that a later release
//! adds: one release must accept it before the next one issues it, so that nodes of both can run
//! together.
//!
//! `jsonwebtoken` signs and verifies signatures. The claims are verified here, since that crate
//! reads the system clock, accepts an array for `aud`, and ignores unknown members.

mod error;
mod issue;
mod json_object;
mod verify;

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{Scopes, SessionId, TokenId, UserId};

use crate::client::ClientId;

pub use error::{InvalidAccessToken, Part, Reason};
pub use issue::{Grant, Issued, issue};
pub use verify::verify;

/// Lifetime of an access token.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(15);

/// Maximum difference between the clocks of the service's nodes.
pub const LEEWAY: TimeDelta = TimeDelta::seconds(30);

/// Maximum length of a token, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;

/// `typ` of the header (RFC 9068, section 2.1), which distinguishes access tokens from other JWTs.
const TYP: &str = "at+jwt";

/// The issuer and the audience of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAudience {
    /// `iss`: the service's public URL, as in its metadata.
    pub issuer: String,
    /// `aud`: the service that accepts the tokens (RFC 8707); those for another are rejected.
    pub audience: String,
}

/// The claims of a verified access token.
///
/// It is a bearer token, valid for any number of uses until it expires. The caller looks up whether
/// its session is revoked, and the roles of its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `sub`.
    pub user: UserId,
    /// `client_id`: the program that it was issued to.
    pub client: ClientId,
    /// `sid`: the session that it was issued for, and is revoked with.
    pub session: SessionId,
    /// `jti`.
    pub token: TokenId,
    /// The claim `scope`.
    pub scopes: Scopes,
    /// `exp`.
    pub expires_at: DateTime<Utc>,
}
