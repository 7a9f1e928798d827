//! What can go wrong when the server itself runs; what goes wrong in a call is
//! [`crate::core::CoreError`] and reaches the model, not the process.

use mc_domain::{Classified, ErrorKind};

use crate::core::BadAddress;

/// A fault that ends the MCP server or keeps it from starting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Core's address in the settings can't be used.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// The client and the server could not agree on a protocol at the start.
    #[error("the MCP handshake failed: {0}")]
    Handshake(String),
    /// The task that serves the connection panicked or was aborted.
    #[error("the MCP connection ended abnormally: {0}")]
    Connection(#[from] tokio::task::JoinError),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_) | Self::Handshake(_) => ErrorKind::Invalid,
            Self::Connection(_) => ErrorKind::Internal,
        }
    }
}
