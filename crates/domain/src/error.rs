//! The closed list of error kinds. Each crate's error enum maps its variants to them; HTTP, MCP and
//! retries each map the list once.

/// The class of an error, by the caller's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is malformed or breaks a rule: change it.
    Invalid,
    /// The request has no valid credential.
    Unauthenticated,
    /// The principal lacks the permission.
    Forbidden,
    /// The resource does not exist, or the principal must not know that it does.
    NotFound,
    /// The state of the resource forbids the request now: read it again, then decide.
    Conflict,
    /// The request exceeds a size limit.
    TooLarge,
    /// Too many requests: wait, then send the request again.
    RateLimited,
    /// A dependency of the service is unavailable: the same request may succeed later.
    Unavailable,
    /// A fault of the service itself.
    Internal,
}

impl ErrorKind {
    /// Returns the name under which an error of this kind is counted.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// Whether the same request may succeed when it is sent again.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable)
    }
}

/// An error with a kind, and perhaps a field.
///
/// Messages (`Display`) are shown to users and say what to do. Only those of
/// [`ErrorKind::Internal`] may contain internals of the service.
pub trait Classified: std::error::Error {
    /// Returns the kind, which HTTP, MCP and retries map.
    fn kind(&self) -> ErrorKind;

    /// Returns the invalid field of the request by its wire name (`scope[2]`), if one is to blame.
    fn field(&self) -> Option<String> {
        None
    }

    /// The command, endpoint or setting of the way out, where the message does not name it.
    fn hint(&self) -> Option<String> {
        None
    }
}
