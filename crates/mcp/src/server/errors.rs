//! Errors as they are reported to clients.

use std::fmt::Display;

use mc_domain::{Classified, ErrorKind, UntrustedText};
use rmcp::ErrorData;

use crate::core::CoreError;
use crate::render::{ModelText, Suggestions, failure};
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
        "{0}; ask the user to do this. This MCP server needs no restart. Until then, continue \
         without these tools, and tell the user."
    )]
    Unavailable(CoreError),
    /// The Core rejects the call. [`CallError::message`] has its reason, for a renderer.
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
    /// Returns the error and the next step.
    pub fn message(&self) -> UntrustedText {
        match self {
            Self::Core(error) => error.message(),
            error => UntrustedText::new(error.to_string()),
        }
    }

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
            | CoreError::TokenRefused { .. }
            | CoreError::VariableRefused { .. } => Self::Unavailable(error),
            _ => Self::Core(error),
        }
    }
}

/// Returns a text that may repeat arguments of the client as a message for it.
fn client_message(text: impl Display) -> ModelText {
    failure(ModelText::default(), &UntrustedText::new(text.to_string()), None)
}

/// Returns the text of a failed tool call, with quoted suggestions.
pub(super) fn call_failed(tool: &'static str, error: &CallError) -> ModelText {
    let mut text = ModelText::from_constant(tool);
    text.add(" failed: ");
    failure(text, &error.message(), error.suggestions())
}

/// Returns the error for a URI that is no resource of this server.
pub(super) fn unknown_uri(uri: &str) -> ErrorData {
    let message = ModelText::from_constant(
        "no such resource; a URI is memory://records/{id} or memory://docs/{id}{?project}",
    );
    message.into_resource_not_found(&client_message(uri))
}

/// Returns the error for invalid arguments of a method.
pub(super) fn invalid(error: &FieldError) -> ErrorData {
    client_message(error).into_invalid_params()
}

/// Returns the protocol error for a failed read of a resource, because resources have no error
/// results.
pub(super) fn protocol_error(error: &CoreError, uri: Option<&str>) -> ErrorData {
    let message = failure(ModelText::default(), &error.message(), None);
    match (error.kind(), uri) {
        (ErrorKind::NotFound, Some(uri)) => message.into_resource_not_found(&client_message(uri)),
        (ErrorKind::Invalid | ErrorKind::NotFound, _) => message.into_invalid_params(),
        _ => message.into_internal_error(),
    }
}
