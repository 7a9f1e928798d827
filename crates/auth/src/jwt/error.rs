//! Reasons for rejecting a token: precise ones for the log, one message for its bearer.

use mc_domain::{Classified, ErrorKind};

/// The error of a rejected token. Its message is the same for every reason, so that it does not
/// help an attacker to improve a forgery. [`InvalidAccessToken::reason`] is for the log and the
/// audit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the access token is not valid; sign in again")]
pub struct InvalidAccessToken {
    reason: Reason,
}

impl InvalidAccessToken {
    /// Returns the reason. Do not show it to the bearer.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl From<Reason> for InvalidAccessToken {
    fn from(reason: Reason) -> Self {
        Self { reason }
    }
}

impl Classified for InvalidAccessToken {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unauthenticated
    }
}

/// Maximum characters of a name from a token in a [`Reason`].
const MAX_NAME: usize = 32;

/// Truncates a name from a token.
pub(super) fn shortened(name: &str) -> String {
    mc_domain::shorten(name, MAX_NAME).to_owned()
}

/// A part of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The part before the first dot.
    Header,
    /// The part between the dots.
    Claims,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Claims => "claims",
        }
    }
}

/// The reason for rejecting a token. Names from the token are truncated, and quoted when shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Longer than [`super::MAX_BYTES`].
    #[error("too large")]
    TooLarge,
    /// Not three parts separated by dots: an encrypted JWT, or none.
    #[error("not three parts")]
    Parts,
    /// Not canonical base64url without padding.
    #[error("{} is not base64url", .0.name())]
    Encoding(Part),
    /// Not one JSON object.
    #[error("{} is not a JSON object", .0.name())]
    Json(Part),
    /// A duplicate name.
    #[error("{} has {:?} twice", .0.name(), .1)]
    Duplicate(Part, String),
    /// A header parameter other than `alg`, `typ` and `kid`, such as a key in the token itself.
    #[error("unexpected header parameter {0:?}")]
    UnexpectedHeader(String),
    /// `alg` is not `EdDSA`.
    #[error("alg is not EdDSA")]
    Algorithm,
    /// `typ` is not `at+jwt`: another kind of token.
    #[error("typ is not at+jwt")]
    Type,
    /// `kid` is missing or not a string.
    #[error("no key id")]
    KeyId,
    /// No key has this `kid`.
    #[error("unknown key")]
    UnknownKey,
    /// The key is retired.
    #[error("retired key")]
    RetiredKey,
    /// The signature is invalid for this key, header and claims.
    #[error("wrong signature")]
    Signature,
    /// A claim that the service does not issue.
    #[error("unexpected claim {0:?}")]
    UnexpectedClaim(String),
    /// A missing claim that the service always issues.
    #[error("no {0}")]
    MissingClaim(&'static str),
    /// A claim of another JSON type, or a number that is not a point in time.
    #[error("{0} has a wrong type")]
    ClaimType(&'static str),
    /// A claim of the right type with a value that the service does not issue.
    #[error("{0} has an impossible value")]
    ClaimValue(&'static str),
    /// The token of another issuer.
    #[error("another issuer")]
    Issuer,
    /// A token for another service.
    #[error("another audience")]
    Audience,
    /// The token has expired.
    #[error("expired")]
    Expired,
    /// The token is not valid yet.
    #[error("not valid yet")]
    NotYetValid,
    /// The claim `iat` is later than now plus the leeway.
    #[error("issued in the future")]
    IssuedInFuture,
    /// A lifetime longer than the service issues, or times out of order.
    #[error("impossible lifetime")]
    Lifetime,
}
