//! Errors of unsuccessful responses, with the provider's message.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::Response;
use crate::client::ConnectorConfig;
use crate::error::Error;
use crate::event::field::line;
use crate::provider::adapter;

/// Characters of the provider's message.
const MESSAGE: usize = 300;

pub(super) fn error(config: &ConnectorConfig, response: &Response, action: &str) -> Error {
    let (connector, action) = (config.name.clone(), action.to_owned());
    let status = response.status.as_u16();
    match status {
        401 | 403 => {
            let remedy = remedy(config, status);
            Error::Denied { connector, action, status, remedy }
        }
        404 | 410 => Error::NotFound { connector, action, status },
        408 | 425 | 500..=599 => {
            Error::Unavailable { connector, reason: format!("it responded with status {status}") }
        }
        _ => {
            let reason = message(&response.body, config.token.as_ref());
            Error::Rejected { connector, action, status, reason }
        }
    }
}

/// Returns the next step of the operator after a denied request.
pub(crate) fn remedy(config: &ConnectorConfig, status: u16) -> String {
    let key = format!("connectors.{}", config.name);
    match (&config.token, status) {
        (None, _) => format!("give {key} a token (token_env or token_file)"),
        (Some(_), 401) => format!(
            "the token of {key} is wrong or has expired{}; create another",
            if config.user.is_some() { ", or belongs to another user" } else { "" }
        ),
        (Some(_), _) => {
            let permissions = adapter(config.kind).permissions;
            format!("the token of {key} lacks a permission; it needs {permissions}")
        }
    }
}

/// Returns the provider's message. Each provider has another field for it.
fn message(body: &[u8], token: Option<&SecretString>) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let fields = ["message", "errorMessages", "error_description", "errors", "error"];
    let message = fields.iter().map(|field| &body[*field]).find_map(first_text);
    let message = message.unwrap_or("it gave no reason");
    let message = match token.map(ExposeSecret::expose_secret) {
        Some(token) if !token.is_empty() => message.replace(token, "***"),
        _ => message.to_owned(),
    };
    line(&message, MESSAGE)
}

fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Array(values) => values.iter().find_map(first_text),
        Value::Object(values) => values.values().find_map(first_text),
        _ => None,
    }
}
