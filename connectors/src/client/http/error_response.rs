//! What a status means that is no success, and what the system says about it.

use serde_json::Value;

use super::Answer;
use crate::client::text::line;
use crate::client::{ConnectorConfig, Error, Provider, Token};

/// Characters of a system's own words that are passed on.
const REASON: usize = 300;

pub(super) fn of(settings: &ConnectorConfig, answer: &Answer, action: &str) -> Error {
    let (system, action) = (settings.name.clone(), action.to_owned());
    let status = answer.status.as_u16();
    match status {
        401 | 403 => {
            let remedy = remedy(settings, status);
            Error::Refused { system, action, status, remedy }
        }
        404 | 410 => Error::NotFound { system, action, status },
        408 | 425 | 500..=599 => {
            Error::Unavailable { system, reason: format!("it answered with status {status}") }
        }
        _ => {
            let reason = said(&answer.body, settings.token.as_ref());
            Error::Rejected { system, action, status, reason }
        }
    }
}

/// Who has to do what.
pub(in crate::client) fn remedy(settings: &ConnectorConfig, status: u16) -> String {
    let key = format!("connectors.{}", settings.name);
    match (&settings.token, status) {
        (None, _) => format!("give {key} a token (token_env or token_file)"),
        (Some(_), 401) => format!(
            "the token of {key} is wrong or has expired{}; make a new one",
            if settings.user.is_some() { ", or is another user's" } else { "" }
        ),
        (Some(_), _) => format!("the token of {key} may not; it needs {}", rights(settings.kind)),
    }
}

fn rights(kind: Provider) -> &'static str {
    match kind {
        Provider::Github => {
            "read access to Metadata, Contents and Issues of the repository (write to comment), or the scope repo"
        }
        Provider::Gitlab => {
            "the scope read_api (api to comment), and the role Reporter in the project"
        }
        Provider::Jira => {
            "the permission Browse projects (and Add comments and Edit own comments to comment)"
        }
        Provider::Youtrack => {
            "the permission Read issue (and Create comment and Update comment to comment)"
        }
        Provider::Redmine => {
            "the permission View issues (and Add notes and Edit own notes to comment), with the REST API switched on"
        }
        Provider::Confluence => "the permission to view the space",
    }
}

/// The system's words, where it has any: each has another place for them.
fn said(body: &[u8], token: Option<&Token>) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let places = ["message", "errorMessages", "error_description", "errors", "error"];
    let words = places.iter().map(|place| &body[*place]).find_map(first_text);
    let words = words.unwrap_or("it did not say why");
    let hidden = match token.map(Token::expose) {
        Some(token) if !token.is_empty() => words.replace(token, "***"),
        _ => words.to_owned(),
    };
    line(&hidden, REASON)
}

fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Array(values) => values.iter().find_map(first_text),
        Value::Object(values) => values.values().find_map(first_text),
        _ => None,
    }
}
