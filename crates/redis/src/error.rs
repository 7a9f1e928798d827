//! Errors of the connection to Redis.

use std::time::Duration;

use mc_domain::{Classified, ErrorKind};

/// Reason why Redis cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `redis.url` is not a Redis URL. The message omits it, as it may contain a password.
    #[error(
        "redis.url can't be read; write it as redis://:PASSWORD@HOST:6379, or rediss:// for TLS, \
         with a password whose special characters are percent-encoded"
    )]
    InvalidUrl,
    /// Redis did not respond within the timeout.
    #[error(
        "Redis did not respond within {} ms; check that it runs, is near and is not overloaded",
        .0.as_millis()
    )]
    Timeout(Duration),
    /// Redis is unreachable or returned an error.
    #[error(
        "Redis can't be used ({0}); check that it runs, and that redis.url has its address and \
         password"
    )]
    Unusable(#[from] redis::RedisError),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidUrl => ErrorKind::Invalid,
            Self::Timeout(_) | Self::Unusable(_) => ErrorKind::Unavailable,
        }
    }
}
