//! Errors as they are reported to clients.

use std::fmt::Display;

use mc_domain::{Classified, ErrorKind};
use rmcp::ErrorData;
use serde_json::json;

use crate::core::CoreError;
use crate::tools::FieldError;

/// Error of a tool call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// An argument violates a rule.
    #[error("{0}.")]
    Argument(#[from] FieldError),
    /// The service can't be used before the user acts.
    // Only the user can start the service or sign in, so the model should continue without it.
    #[error(
        "{0}: ask the user to. This MCP server needs no restart. Until then go on without team \
         memory, and say so."
    )]
    Unavailable(CoreError),
    /// The Core rejects the call.
    #[error(transparent)]
    Core(CoreError),
    /// The document has no such section. The text is rendered, with quoted headings.
    #[error("{0}")]
    NoSection(String),
    /// The client cancelled the call.
    #[error("cancelled by the client")]
    Cancelled,
}

impl From<CoreError> for CallError {
    fn from(error: CoreError) -> Self {
        match error {
            CoreError::NotRunning { .. }
            | CoreError::TokenUnreadable { .. }
            | CoreError::TokenRefused { .. } => Self::Unavailable(error),
            _ => Self::Core(error),
        }
    }
}

/// Returns a message for a client. It is masked, because it may repeat arguments of the client, and
/// the client may log it.
pub(super) fn client_message(error: impl Display) -> String {
    mc_sanitizer::mask(&error.to_string()).text.into_string()
}

/// Returns the error for an unknown URI. rmcp chooses the code by the client's protocol revision.
pub(super) fn no_resource(message: String, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(
        client_message(message),
        Some(json!({ "uri": client_message(uri) })),
    )
}

/// Returns the error for invalid arguments of a method.
pub(super) fn invalid(error: &FieldError) -> ErrorData {
    ErrorData::invalid_params(client_message(error), None)
}

/// Returns the protocol error for a failed read of a resource, because resources have no error
/// results.
pub(super) fn protocol_error(error: &CoreError) -> ErrorData {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => {
            ErrorData::invalid_params(client_message(error), None)
        }
        _ => ErrorData::internal_error(client_message(error), None),
    }
}
