//! Errors of the server itself. An error of a call is a [`crate::core::CoreError`], which is
//! reported to the model and does not end the process.

use mc_domain::{Classified, ErrorKind};

use crate::core::BadAddress;

/// Error that ends the MCP server or prevents its start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL of the Core in the settings is invalid.
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
