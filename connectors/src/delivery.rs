//! Deliveries: their id, their event type and their event.

use http::HeaderMap;
use mc_domain::Provider;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::provider::{Adapter, adapter};

/// Characters of an event type and of a delivery's id.
const NAME: usize = 64;
const ID: usize = 128;
/// Where bodies have the time of the event, or of the last change.
const TIMES: [&str; 8] = [
    "/timestamp",
    "/updated",
    "/issue/updated",
    "/issue/updated_at",
    "/issue/fields/updated",
    "/object_attributes/updated_at",
    "/data/issue/updated_on",
    "/payload/issue/updated_on",
];

/// One request received by a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The provider's id of the delivery, which a repetition shares, or a digest of the body.
    /// `None` if neither tells the delivery from another: an issue that changes its state and
    /// changes it back causes equal bodies. Only GitLab's `webhook-id` is signed.
    pub id: Option<String>,
    /// Whether an equal body is the same delivery: it has a time, and only the body is signed.
    pub is_once: bool,
    /// The provider's name of the event, such as `push` or `issues.opened`.
    pub name: String,
    /// The parsed event, not yet masked.
    pub event: Event,
}

/// Why a delivery cannot be parsed. The messages quote nothing from the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The header with the event type is missing.
    #[error("the header {0} is missing; a proxy that forwards the delivery must keep its headers")]
    MissingHeader(&'static str),
    /// The body is a form without JSON in it.
    #[error("the form has no field payload; set the webhook's content type to application/json")]
    InvalidForm,
    /// The body is not JSON.
    #[error("the body is not JSON: {0}; set the webhook's content type to application/json")]
    InvalidJson(String),
    /// A field has another type than the provider's, or comes twice.
    #[error(
        "the field {field} has another type than the provider's, or comes twice \
         (line {line}, column {column})"
    )]
    InvalidField {
        /// The path of the field.
        field: String,
        /// Line of the body, from 1.
        line: usize,
        /// Column of the line, from 1.
        column: usize,
    },
    /// A required field is missing.
    #[error("the field {0} is missing or empty; let the webhook send the whole object")]
    MissingField(&'static str),
    /// A value is out of these limits.
    #[error("{0}")]
    InvalidValue(&'static str),
}

/// Parses a delivery. No body makes it panic. A body of an unexpected shape is an ignored event and
/// no error: an error would not help the provider, and some providers disable a webhook that fails.
pub fn parse(provider: Provider, headers: &HeaderMap, body: &[u8]) -> Result<Delivery, ParseError> {
    let adapter = adapter(provider);
    let (name, event) = match (adapter.parse)(headers, body) {
        Ok(parsed) => parsed,
        Err(
            error @ (ParseError::InvalidField { .. }
            | ParseError::MissingField(_)
            | ParseError::InvalidValue(_)),
        ) => ("unreadable".to_owned(), Event::ignored(error.to_string())),
        Err(error) => return Err(error),
    };
    let has_time = has_time(adapter, &event, body);
    let provider_id = provider_id(adapter.delivery_id_headers, headers, body);
    let id = provider_id.or_else(|| has_time.then(|| digest(&[body])));
    // A branch may go back to a commit, so two pushes may have the same body.
    let is_unique = !matches!(event, Event::Push(_) | Event::WikiPush(_) | Event::Ignored { .. });
    let is_once = has_time && is_unique && adapter.signs_only_the_body;
    Ok(Delivery { id, name: plain_name(&name), is_once, event })
}

/// Returns a provider's word as a name: without other characters, truncated.
pub(crate) fn plain_name(word: &str) -> String {
    let name: String = word.chars().filter(|c| is_plain(*c)).take(NAME).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Returns the ignored event of an event type that the service does not use.
pub(crate) fn unsupported(event_type: &str) -> Event {
    Event::ignored(format!("{} events are not used", plain_name(event_type)))
}

/// Returns a header as text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Parses the fields of `T` from a JSON body.
pub(crate) fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ParseError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() {
            // The error's own text quotes the value.
            ParseError::InvalidField { field, line: error.line(), column: error.column() }
        } else {
            ParseError::InvalidJson(error.to_string())
        }
    })?;
    json.end().map_err(|error| ParseError::InvalidJson(error.to_string()))?;
    Ok(value)
}

pub(crate) fn required<T>(value: Option<T>, field: &'static str) -> Result<T, ParseError> {
    value.ok_or(ParseError::MissingField(field))
}

/// Returns the text of a required field, which must not be blank.
pub(crate) fn required_text(
    value: Option<String>,
    field: &'static str,
) -> Result<String, ParseError> {
    required(value.filter(|text| !text.trim().is_empty()), field)
}

/// Returns the provider's id of a delivery; one that is no plain word becomes a digest.
fn provider_id(names: &[&str], headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let value = names.iter().find_map(|name| headers.get(*name))?;
    Some(match value.to_str() {
        Ok(id) if (1..=ID).contains(&id.len()) && id.chars().all(is_plain) => id.to_owned(),
        // No header has a NUL, so the value ends there.
        _ => digest(&[value.as_bytes(), b"\0", body]),
    })
}

/// Returns whether the delivery has the time of its event, which tells it from an equal one. A
/// deletion has its time outside the event, if at all.
fn has_time(adapter: &Adapter, event: &Event, body: &[u8]) -> bool {
    match event {
        Event::IssueDeleted { .. } if !adapter.can_restore_issues => true,
        Event::IssueDeleted { .. } | Event::PageDeleted { .. } | Event::PageChanged { .. } => {
            body_has_time(body)
        }
        Event::Issue(issue) => issue.updated_at.is_some(),
        Event::PullRequest(pull_request) => pull_request.updated_at.is_some(),
        Event::CiRun(run) => run.updated_at.is_some(),
        _ => true,
    }
}

fn body_has_time(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    let is_present = |path: &&str| body.pointer(path).is_some_and(|time| !time.is_null());
    TIMES.iter().any(is_present)
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    format!("sha256:{}", hex::encode(hash.finalize()))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-')
}

#[cfg(test)]
mod tests;
