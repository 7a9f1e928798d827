//! What can be wrong with Redis.

use std::time::Duration;

use mc_domain::{Classified, ErrorKind};

/// Why Redis can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is none. It is not shown: it may hold a password.
    #[error(
        "redis.url can't be read; write it as redis://:PASSWORD@HOST:6379, or rediss:// for TLS, with a password \
         whose special characters are percent-encoded"
    )]
    Url,
    /// No answer came in time.
    #[error("Redis did not answer within {} ms; see that it runs, near and idle enough", .0.as_millis())]
    Late(Duration),
    /// It can't be reached, or does not do what it is asked for.
    #[error(
        "Redis can't be used ({0}); see that it runs, and that redis.url names it and its password"
    )]
    Unusable(#[from] redis::RedisError),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Url => ErrorKind::Invalid,
            Self::Late(_) | Self::Unusable(_) => ErrorKind::Unavailable,
        }
    }
}
