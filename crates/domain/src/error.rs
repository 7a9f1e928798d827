//! The closed list of error kinds. Each crate's error enum assigns one to each variant; HTTP, MCP
//! and retries each map the list once.

/// What went wrong, by what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request can't be understood or breaks a rule: change it.
    Invalid,
    /// No valid credential came with the request.
    Unauthenticated,
    /// The principal is known and may not do this.
    Forbidden,
    /// What the request names does not exist (or may not be seen).
    NotFound,
    /// The state of the thing forbids it now: read again, then decide.
    Conflict,
    /// The request is larger than the limit it meets.
    TooLarge,
    /// Too many requests: wait, then send it again.
    RateLimited,
    /// Something the service needs is away: the same request may succeed later.
    Unavailable,
    /// A fault of the service itself.
    Internal,
}

impl ErrorKind {
    /// Whether the same request may succeed when it is sent again.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable)
    }
}

/// What an error tells its caller besides its message.
///
/// Messages (`Display`) are shown to users and name the way out; they hold no internals of the
/// service when the kind is anything but [`ErrorKind::Internal`].
pub trait Classified: std::error::Error {
    /// The kind by which HTTP, MCP and retries treat this error.
    fn kind(&self) -> ErrorKind;

    /// The request's field at fault, as the wire names it (`scope[2]`), where there is one.
    fn field(&self) -> Option<String> {
        None
    }

    /// The command, endpoint or setting of the way out, where the message does not name it.
    fn hint(&self) -> Option<String> {
        None
    }
}
