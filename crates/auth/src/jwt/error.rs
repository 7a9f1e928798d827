//! Why a token was refused: exactly, for the log, and flatly, for its bearer.

use mc_domain::{Classified, ErrorKind};

/// A refused token. Its message is the same for every reason, so that nobody can feel their way
/// towards a better forgery; [`Rejected::reason`] is for the log and the audit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the access token is not valid; sign in again")]
pub struct InvalidAccessToken {
    reason: Reason,
}

impl InvalidAccessToken {
    /// What is wrong with the token. Not for the bearer.
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

/// A part of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Before the first dot.
    Header,
    /// Between the dots.
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

/// What is wrong with a token. Names that come from the token are cut short, and quoted when shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Longer than [`super::MAX_BYTES`].
    #[error("too large")]
    TooLarge,
    /// Not three parts with dots between: encrypted, or no JWT at all.
    #[error("not three parts")]
    Parts,
    /// Not base64url without padding, or not its one spelling.
    #[error("{} is not base64url", .0.name())]
    Encoding(Part),
    /// Not one JSON object.
    #[error("{} is no JSON object", .0.name())]
    Json(Part),
    /// A name twice.
    #[error("{} has {:?} twice", .0.name(), .1)]
    Duplicate(Part, String),
    /// A header parameter besides `alg`, `typ` and `kid`, among them those that would have a key or a
    /// rule taken from the token itself.
    #[error("unexpected header parameter {0:?}")]
    UnexpectedHeader(String),
    /// `alg` is not `EdDSA`.
    #[error("alg is not EdDSA")]
    Algorithm,
    /// `typ` is not `at+jwt`: another kind of token.
    #[error("typ is not at+jwt")]
    Type,
    /// `kid` is missing or no text.
    #[error("no key id")]
    KeyId,
    /// No key has this `kid`.
    #[error("unknown key")]
    UnknownKey,
    /// The key's time is over.
    #[error("retired key")]
    RetiredKey,
    /// Not this key's signature of this header and these claims.
    #[error("wrong signature")]
    Signature,
    /// A claim that the service doesn't issue.
    #[error("unexpected claim {0:?}")]
    UnexpectedClaim(String),
    /// A claim that the service always issues is not there.
    #[error("no {0}")]
    MissingClaim(&'static str),
    /// Of another JSON type, or a number that is no point in time.
    #[error("{0} has a wrong type")]
    ClaimType(&'static str),
    /// Of the right type, but nothing that the service would issue.
    #[error("{0} has an impossible value")]
    ClaimValue(&'static str),
    /// Another issuer's.
    #[error("another issuer")]
    Issuer,
    /// For another service.
    #[error("another audience")]
    Audience,
    /// Its time is over.
    #[error("expired")]
    Expired,
    /// Its time has not come.
    #[error("not valid yet")]
    NotYetValid,
    /// Issued in the future.
    #[error("issued in the future")]
    IssuedInFuture,
    /// Longer than the service issues, or its times are out of order.
    #[error("impossible lifetime")]
    Lifetime,
}
