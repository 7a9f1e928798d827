//! What was delivered: its id, its name and what it tells.

use std::borrow::Cow;

use http::HeaderMap;
use mc_domain::WebhookSource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::{confluence, github, gitlab, jira, redmine, youtrack};

/// Characters of a name and of an id.
const NAME: usize = 64;
const ID: usize = 128;
const FORM: &str = "application/x-www-form-urlencoded";

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The sender's id of it, the same when it is sent again; without one, a digest of what was sent. Of the
    /// ids only GitLab's `webhook-id` is signed.
    pub id: String,
    /// What the sender calls the event, such as `push` or `issues.opened`.
    pub name: String,
    /// What it tells.
    pub event: Event,
}

/// Why a delivery can't be read, and what to do about it. Says nothing of what stands in the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The header is missing that says what the body is.
    #[error("the header {0} is missing; whatever passes the delivery on must keep its headers")]
    Header(&'static str),
    /// The body is a form without JSON in it.
    #[error("the form has no field payload; set the hook's content type to application/json")]
    Form,
    /// The body is not JSON.
    #[error("the body is not JSON: {0}; set the hook's content type to application/json")]
    Json(String),
    /// A field is not what the sender has there, or there twice.
    #[error(
        "the field {field} is of another type than the sender's, or there twice \
         (line {line}, column {column})"
    )]
    Shape {
        /// Its path.
        field: String,
        /// Where that was noticed.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// A field is missing that nothing can be said without.
    #[error("the field {0} is missing or empty; let the hook send the whole object")]
    Missing(&'static str),
    /// Something is not what it can be.
    #[error("{what} {rule}")]
    Unfit {
        /// Of what.
        what: &'static str,
        /// What it must be.
        rule: &'static str,
    },
}

/// Reads a delivery. Whatever the body is, the answer is a value.
pub fn read(
    source: WebhookSource,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Delivery, Unreadable> {
    let (name, event) = match source {
        WebhookSource::Github => github::read(headers, &unwrapped(headers, body)?)?,
        WebhookSource::Gitlab => gitlab::read(headers, body)?,
        WebhookSource::Jira => jira::read(body)?,
        WebhookSource::Youtrack => youtrack::read(body)?,
        WebhookSource::Redmine => redmine::read(body)?,
        WebhookSource::Confluence => confluence::read(body)?,
    };
    Ok(Delivery { id: id(source, headers, body), name: plain(&name), event })
}

/// A sender's word as a name: the characters that a name may hold, as many as it may.
pub(crate) fn plain(word: &str) -> String {
    let name: String = word.chars().filter(|c| is_plain(*c)).take(NAME).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// A header as text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The body as far as `T` knows it.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unreadable> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() {
            // Without the error's text, which quotes the value.
            Unreadable::Shape { field, line: error.line(), column: error.column() }
        } else {
            Unreadable::Json(error.to_string())
        }
    })?;
    json.end().map_err(|error| Unreadable::Json(error.to_string()))?;
    Ok(value)
}

/// The value of a field that nothing can be said without.
pub(crate) fn needed<T>(value: Option<T>, field: &'static str) -> Result<T, Unreadable> {
    value.ok_or(Unreadable::Missing(field))
}

/// The same of a text, which must say something.
pub(crate) fn text(value: Option<String>, field: &'static str) -> Result<String, Unreadable> {
    needed(value.filter(|text| !text.trim().is_empty()), field)
}

/// The JSON that GitHub puts into a form unless it is told otherwise.
fn unwrapped<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, [u8]>, Unreadable> {
    #[derive(Deserialize)]
    struct Form {
        payload: String,
    }

    let content_type = header(headers, "Content-Type").unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case(FORM) {
        return Ok(Cow::Borrowed(body));
    }
    let form: Form = serde_urlencoded::from_bytes(body).map_err(|_| Unreadable::Form)?;
    Ok(Cow::Owned(form.payload.into_bytes()))
}

fn id(source: WebhookSource, headers: &HeaderMap, body: &[u8]) -> String {
    let names: &[&str] = match source {
        WebhookSource::Github => &["X-GitHub-Delivery"],
        WebhookSource::Gitlab => &["webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID"],
        WebhookSource::Jira | WebhookSource::Confluence => &["X-Atlassian-Webhook-Identifier"],
        WebhookSource::Youtrack | WebhookSource::Redmine => &[],
    };
    let Some(given) = names.iter().find_map(|name| headers.get(*name)) else {
        return digest(&[body]);
    };
    match given.to_str() {
        Ok(id) if (1..=ID).contains(&id.len()) && id.chars().all(is_plain) => id.to_owned(),
        // No header holds a NUL, so the value can't run into the body.
        _ => digest(&[given.as_bytes(), b"\0", body]),
    }
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
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Computed with Python: `hashlib.sha256(b"{}").hexdigest()`.
    const OF_BODY: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    /// `hashlib.sha256(b"a b\0{}").hexdigest()`.
    const OF_BOTH: &str = "sha256:3ca4685308426cd118b316d426fe90b235c35d4ae4a617115557d5f6db1bd2ba";

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let value = HeaderValue::from_bytes(value.as_bytes());
            headers.append(*name, value.expect("a header's value"));
        }
        headers
    }

    #[test]
    fn the_id_is_the_senders() {
        let check = |source: WebhookSource, given: &[(&'static str, &str)], expected: &str| {
            assert_eq!(id(source, &headers(given), b"{}"), expected, "{source} {given:?}");
        };
        check(WebhookSource::Github, &[("x-github-delivery", "72d3162e-cc78")], "72d3162e-cc78");
        check(WebhookSource::Jira, &[("x-atlassian-webhook-identifier", "a1")], "a1");
        check(WebhookSource::Confluence, &[("x-atlassian-webhook-identifier", "a1")], "a1");
        check(
            WebhookSource::Gitlab,
            &[("x-gitlab-event-uuid", "c"), ("idempotency-key", "b"), ("webhook-id", "a")],
            "a",
        );
        check(
            WebhookSource::Gitlab,
            &[("x-gitlab-event-uuid", "c"), ("idempotency-key", "b")],
            "b",
        );
        check(WebhookSource::Gitlab, &[("x-gitlab-event-uuid", "c")], "c");
        check(WebhookSource::Redmine, &[("x-github-delivery", "a1")], OF_BODY);
        check(WebhookSource::Youtrack, &[], OF_BODY);
    }

    #[test]
    fn what_can_be_no_id_counts_into_one() {
        let of = |value: &str| {
            id(WebhookSource::Github, &headers(&[("x-github-delivery", value)]), b"{}")
        };
        assert_eq!(of("a b"), OF_BOTH);
        assert_eq!(of(&"a".repeat(128)), "a".repeat(128));
        for other in [String::new(), "a".repeat(129), "a/b".to_owned(), "ä".to_owned()] {
            let id = of(&other);
            assert!(id.starts_with("sha256:") && id != OF_BODY && id != OF_BOTH, "{other}");
        }
    }

    #[test]
    fn a_name_is_a_plain_word() {
        assert_eq!(plain("jira:issue_updated"), "jira:issue_updated");
        assert_eq!(plain("a b\n<c>é"), "abc");
        assert_eq!(plain(&"x".repeat(99)), "x".repeat(64));
        assert_eq!(plain("é"), "unknown");
    }

    #[test]
    fn github_may_send_a_form() {
        let given = [
            ("x-github-event", "ping"),
            ("content-type", "Application/X-WWW-Form-URLencoded; charset=utf-8"),
        ];
        let read = |body: &[u8]| read(WebhookSource::Github, &headers(&given), body);
        let delivery = read(b"payload=%7B%22zen%22%3A+1%7D").expect("a form");
        assert_eq!(delivery.name, "ping");
        assert_eq!(read(b"other=%7B%7D"), Err(Unreadable::Form));
        assert_eq!(read(b"payload=%7B%7D&payload=%7B%7D"), Err(Unreadable::Form));
        assert!(matches!(read(b"payload=x"), Err(Unreadable::Json(_))));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_without_its_text() {
        let read = |body: &str| read(WebhookSource::Jira, &HeaderMap::new(), body.as_bytes());
        let said = |body: &str| read(body).expect_err("unreadable").to_string();
        assert!(said("").starts_with("the body is not JSON: EOF while parsing"));
        assert!(said("{} {}").starts_with("the body is not JSON: trailing characters"));
        assert!(said("{}").starts_with("the field webhookEvent is missing"));
        let of_a_type = said(
            r#"{"webhookEvent": "jira:issue_updated", "issue": {"fields": {"status": "hunter2"}}}"#,
        );
        assert!(of_a_type.starts_with("the field issue.fields.status is of another type"));
        assert!(!of_a_type.contains("hunter2"));
    }
}
