//! Errors as they are reported to clients.

use std::fmt::Display;

use mc_domain::{Classified, ErrorKind};
use rmcp::ErrorData;
use serde_json::json;

use crate::core::CoreError;
use crate::render::{Suggestions, failure};
use crate::tools::{FieldError, NoSection};

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
    /// The document has no such section.
    #[error("{0}.")]
    NoSection(#[from] NoSection),
    /// The client cancelled the call.
    #[error("cancelled by the client")]
    Cancelled,
}

impl CallError {
    /// Returns the stored names that the error suggests. They are no part of its message.
    pub fn suggestions(&self) -> Option<Suggestions<'_>> {
        match self {
            Self::Core(error) => error.suggestions(),
            Self::NoSection(error) => {
                Suggestions::new("Its sections", "section", &error.candidates)
            }
            Self::Argument(_) | Self::Unavailable(_) | Self::Cancelled => None,
        }
    }
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

/// Returns a message for a client, without suggestions. It is masked, because it may repeat
/// arguments of the client, and the client may log it.
pub(super) fn client_message(error: impl Display) -> String {
    client_text(error, None)
}

/// Returns the text of a failed tool call, with quoted suggestions.
pub(super) fn call_failed(tool: &str, error: &CallError) -> String {
    client_text(format_args!("{tool} failed: {error}"), error.suggestions())
}

fn client_text(message: impl Display, suggestions: Option<Suggestions<'_>>) -> String {
    // Masked before it is shortened: half of a secret would not be detected. Stored names are
    // masked already.
    failure(mc_sanitizer::mask(&message.to_string()).text.as_str(), suggestions)
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
