//! Panics in handlers, which end their request only.

use std::any::Any;

use axum::response::{IntoResponse as _, Response};

use crate::problem::Problem;

/// Logs the panic's message and responds without it.
#[expect(clippy::needless_pass_by_value, reason = "the signature that the layer requires")]
pub fn as_problem(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    tracing::error!(error.cause = message, "handler panicked");
    Problem::internal().logged().into_response()
}
