//! What a client is told when something fails.

use std::fmt::Display;

use mc_domain::{Classified, ErrorKind};
use rmcp::ErrorData;
use serde_json::json;

use crate::core::CoreError;
use crate::tools::FieldError;

/// Why a tool call gave no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("{0}.")]
    Argument(#[from] FieldError),
    // The person at the keyboard starts services, and the model shouldn't wait for that.
    #[error(
        "{0}: ask the user to. This MCP server needs no restart. Until then go on without team \
         memory, and say so."
    )]
    Away(CoreError),
    #[error(transparent)]
    Core(CoreError),
    /// A section that a document does not have; the words are rendered already, headings in them.
    #[error("{0}")]
    NoSection(String),
    #[error("cancelled by the client")]
    Cancelled,
}

impl From<CoreError> for CallError {
    fn from(error: CoreError) -> Self {
        match error {
            CoreError::NotRunning { .. }
            | CoreError::TokenUnreadable { .. }
            | CoreError::TokenRefused { .. } => Self::Away(error),
            _ => Self::Core(error),
        }
    }
}

/// Words for a client. What is wrong may be told in its own, and those go into its logs.
pub(super) fn client_message(error: impl Display) -> String {
    mc_sanitizer::mask(&error.to_string()).text.into_string()
}

/// A URI without a resource. The code depends on the client's revision, and rmcp knows which it is.
pub(super) fn no_resource(message: String, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(
        client_message(message),
        Some(json!({ "uri": client_message(uri) })),
    )
}

/// Arguments that a method can't do with.
pub(super) fn invalid(error: &FieldError) -> ErrorData {
    ErrorData::invalid_params(client_message(error), None)
}

/// Resources have no error results of their own, so here the protocol carries the words.
pub(super) fn protocol_error(error: &CoreError) -> ErrorData {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => {
            ErrorData::invalid_params(client_message(error), None)
        }
        _ => ErrorData::internal_error(client_message(error), None),
    }
}
