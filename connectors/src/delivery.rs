//! What was delivered: its id, its name and what it tells.

use std::borrow::Cow;

use http::HeaderMap;
use mc_domain::Provider;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::{confluence, github, gitlab, jira, redmine, youtrack};

/// Characters of a name and of an id.
const NAME: usize = 64;
const ID: usize = 128;
/// Where senders say when something was, or changed last.
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
const FORM: &str = "application/x-www-form-urlencoded";

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The sender's id of it, the same when it is sent again; without one, a digest of what was sent. `None` where
    /// neither tells it from another: an issue that goes from one state to another and back says the same again.
    /// Of the ids only GitLab's `webhook-id` is signed.
    pub id: Option<String>,
    /// Whether the same body is the same delivery, whatever its id: the sender signs the body alone, and says in it
    /// when that was.
    pub is_once: bool,
    /// What the sender calls the event, such as `push` or `issues.opened`.
    pub name: String,
    /// What it tells.
    pub event: Event,
}

/// Why a delivery can't be read, and what to do about it. Says nothing of what stands in the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
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

/// Reads a delivery. Whatever the body is, the answer is a value. One of another shape than the sender's own is
/// ignored: nobody is better off for being told, and some who are told never come again.
pub fn read(source: Provider, headers: &HeaderMap, body: &[u8]) -> Result<Delivery, ParseError> {
    let told = match source {
        Provider::Github => github::read(headers, &unwrapped(headers, body)?),
        Provider::Gitlab => gitlab::read(headers, body),
        Provider::Jira => jira::read(body),
        Provider::Youtrack => youtrack::read(body),
        Provider::Redmine => redmine::read(body),
        Provider::Confluence => confluence::read(body),
    };
    let (name, event) = match told {
        Ok(told) => told,
        Err(
            odd @ (ParseError::Shape { .. } | ParseError::Missing(_) | ParseError::Unfit { .. }),
        ) => ("unreadable".to_owned(), Event::ignored(odd.to_string())),
        Err(error) => return Err(error),
    };
    let is_timed = is_timed(source, &event, body);
    let given = given_id(source, headers, body);
    let id = given.or_else(|| is_timed.then(|| digest(&[body])));
    let is_once = is_timed && event.changes_once() && signs_bodies_alone(source);
    Ok(Delivery { id, name: plain(&name), is_once, event })
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
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ParseError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() {
            // Without the error's text, which quotes the value.
            ParseError::Shape { field, line: error.line(), column: error.column() }
        } else {
            ParseError::Json(error.to_string())
        }
    })?;
    json.end().map_err(|error| ParseError::Json(error.to_string()))?;
    Ok(value)
}

/// The value of a field that nothing can be said without.
pub(crate) fn needed<T>(value: Option<T>, field: &'static str) -> Result<T, ParseError> {
    value.ok_or(ParseError::Missing(field))
}

/// The same of a text, which must say something.
pub(crate) fn text(value: Option<String>, field: &'static str) -> Result<String, ParseError> {
    needed(value.filter(|text| !text.trim().is_empty()), field)
}

/// The JSON that GitHub puts into a form unless it is told otherwise.
fn unwrapped<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, [u8]>, ParseError> {
    #[derive(Deserialize)]
    struct Form {
        payload: String,
    }

    let content_type = header(headers, "Content-Type").unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default();
    // The header is not signed. JSON begins otherwise, so nobody can have it read as a form.
    if !essence.trim().eq_ignore_ascii_case(FORM) || body.first() == Some(&b'{') {
        return Ok(Cow::Borrowed(body));
    }
    let form: Form = serde_urlencoded::from_bytes(body).map_err(|_| ParseError::Form)?;
    Ok(Cow::Owned(form.payload.into_bytes()))
}

fn given_id(source: Provider, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let names: &[&str] = match source {
        Provider::Github => &["X-GitHub-Delivery"],
        Provider::Gitlab => &["webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID"],
        Provider::Jira | Provider::Confluence => &["X-Atlassian-Webhook-Identifier"],
        Provider::Youtrack | Provider::Redmine => &[],
    };
    let given = names.iter().find_map(|name| headers.get(*name))?;
    Some(match given.to_str() {
        Ok(id) if (1..=ID).contains(&id.len()) && id.chars().all(is_plain) => id.to_owned(),
        // No header holds a NUL, so the value can't run into the body.
        _ => digest(&[given.as_bytes(), b"\0", body]),
    })
}

/// GitLab signs the id as well, and `YouTrack` nothing.
fn signs_bodies_alone(source: Provider) -> bool {
    match source {
        Provider::Github | Provider::Jira | Provider::Redmine | Provider::Confluence => true,
        Provider::Gitlab | Provider::Youtrack => false,
    }
}

/// Whether the delivery says when that was, which is what tells it from another in the same words. What is gone says
/// so beside what it tells, if at all.
fn is_timed(source: Provider, event: &Event, body: &[u8]) -> bool {
    match (source, event) {
        // GitHub gives a number once: under it nothing can be gone again.
        (Provider::Github, Event::IssueGone { .. }) => true,
        (_, Event::IssueGone { .. } | Event::PageGone { .. } | Event::PageChanged { .. }) => {
            says_when(body)
        }
        _ => event.is_timed(),
    }
}

fn says_when(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    let is_said = |place: &&str| body.pointer(place).is_some_and(|time| !time.is_null());
    TIMES.iter().any(is_said)
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
        let check = |source: Provider, given: &[(&'static str, &str)], expected: &str| {
            let id = given_id(source, &headers(given), b"{}");
            assert_eq!(id.as_deref(), Some(expected), "{source} {given:?}");
        };
        check(Provider::Github, &[("x-github-delivery", "72d3162e-cc78")], "72d3162e-cc78");
        check(Provider::Jira, &[("x-atlassian-webhook-identifier", "a1")], "a1");
        check(Provider::Confluence, &[("x-atlassian-webhook-identifier", "a1")], "a1");
        check(
            Provider::Gitlab,
            &[("x-gitlab-event-uuid", "c"), ("idempotency-key", "b"), ("webhook-id", "a")],
            "a",
        );
        check(Provider::Gitlab, &[("x-gitlab-event-uuid", "c"), ("idempotency-key", "b")], "b");
        check(Provider::Gitlab, &[("x-gitlab-event-uuid", "c")], "c");
        let others = headers(&[("x-github-delivery", "a1")]);
        assert_eq!(given_id(Provider::Redmine, &others, b"{}"), None);
    }

    #[test]
    fn without_an_id_only_what_bears_a_time_is_known_again() {
        let id = |body: &str| {
            read(Provider::Youtrack, &HeaderMap::new(), body.as_bytes()).expect("readable").id
        };
        let timeless = r#"{"idReadable": "SP-7", "summary": "T", "state": "Open"}"#;
        assert_eq!(id(timeless), None);
        let timed = r#"{"idReadable": "SP-7", "summary": "T", "updated": 1767323045000}"#;
        assert!(id(timed).is_some_and(|id| id.starts_with("sha256:")));
        assert_eq!(id(timed), id(timed));
        assert!(id("{}").is_some(), "what is ignored is ignored once");
    }

    #[test]
    fn what_is_signed_without_its_id_is_known_by_its_body_where_that_bears_a_time() {
        let is_once = |source, event: &str, body: &str| {
            let given = headers(&[("x-github-event", event), ("x-github-delivery", "1")]);
            read(source, &given, body.as_bytes()).expect("readable").is_once
        };
        let repository = r#""repository": {"full_name": "a/b"}"#;
        let issue = |time: &str| {
            format!(
                r#"{{"issue": {{"number": 1, "title": "T", "updated_at": {time}}}, {repository}}}"#
            )
        };
        let timed = issue(r#""2026-01-02T03:04:05Z""#);
        assert!(is_once(Provider::Github, "issues", &timed));
        assert!(!is_once(Provider::Github, "issues", &issue("null")));
        assert!(!is_once(Provider::Github, "ping", "{}"));
        let push =
            format!(r#"{{"ref": "refs/heads/x", "after": "{}", {repository}}}"#, "a".repeat(40));
        assert!(!is_once(Provider::Github, "push", &push), "a branch may go back and forth");
        let gitlab = r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T",
            "updated_at": "2026-01-02 03:04:05 UTC"}, "project": {"path_with_namespace": "a/b"}}"#;
        assert!(!is_once(Provider::Gitlab, "", gitlab), "its id is signed or nothing is");
    }

    #[test]
    fn what_is_gone_may_be_gone_again_unless_the_body_bears_a_time() {
        let check = |source, body: &str, expected: bool| {
            let given = headers(&[("x-github-event", "issues")]);
            let told = read(source, &given, body.as_bytes()).expect("readable");
            assert_eq!((told.id.is_some(), told.is_once), (expected, expected), "{body}");
        };
        for event in ["page_trashed", "page_updated"] {
            let page = format!(r#"{{"event": "{event}", "page": {{"id": 98}}}}"#);
            check(Provider::Confluence, &page, false);
            let timed = page.replacen('{', r#"{"timestamp": 1767323045000, "#, 1);
            check(Provider::Confluence, &timed, true);
        }
        let jira = r#"{"webhookEvent": "jira:issue_deleted", "issue": {"key": "A-1"}}"#;
        check(Provider::Jira, jira, false);
        let timed = jira.replacen('{', r#"{"timestamp": 1767323045000, "#, 1);
        check(Provider::Jira, &timed, true);
        check(Provider::Jira, &jira.replacen('{', r#"{"timestamp": null, "#, 1), false);
        let number = r#"{"action": "deleted", "issue": {"number": 1},
            "repository": {"full_name": "a/b"}}"#;
        check(Provider::Github, number, true);
    }

    #[test]
    fn what_can_be_no_id_counts_into_one() {
        let of = |value: &str| {
            let given = headers(&[("x-github-delivery", value)]);
            given_id(Provider::Github, &given, b"{}").expect("an id")
        };
        assert_eq!(of("a b"), OF_BOTH);
        assert_eq!(of(&"a".repeat(128)), "a".repeat(128));
        for other in [String::new(), "a".repeat(129), "a/b".to_owned(), "ä".to_owned()] {
            let id = of(&other);
            assert!(id.starts_with("sha256:") && id != OF_BOTH, "{other}");
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
        let read = |body: &[u8]| read(Provider::Github, &headers(&given), body);
        let delivery = read(b"payload=%7B%22zen%22%3A+1%7D").expect("a form");
        assert_eq!(delivery.name, "ping");
        assert_eq!(read(b"other=%7B%7D"), Err(ParseError::Form));
        assert_eq!(read(b"payload=%7B%7D&payload=%7B%7D"), Err(ParseError::Form));
        assert!(matches!(read(b"payload=x"), Err(ParseError::Json(_))));
        // What GitHub signed as JSON is JSON, whatever somebody says of it who sends it again.
        let again = br#"{"zen": "x&payload=%7B%22action%22%3A%22closed%22%7D&y"}"#;
        assert_eq!(read(again).expect("JSON").name, "ping");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_without_its_text() {
        let read = |body: &str| read(Provider::Jira, &HeaderMap::new(), body.as_bytes());
        let said = |body: &str| read(body).expect_err("unreadable").to_string();
        assert!(said("").starts_with("the body is not JSON: EOF while parsing"));
        assert!(said("{} {}").starts_with("the body is not JSON: trailing characters"));
        let ignored = |body: &str| match read(body) {
            Ok(Delivery { event: Event::Ignored { reason }, name, .. }) if name == "unreadable" => {
                reason
            }
            other => panic!("{other:?}"),
        };
        assert!(ignored("{}").starts_with("the field webhookEvent is missing"));
        let of_a_type = ignored(
            r#"{"webhookEvent": "jira:issue_updated", "issue": {"fields": {"status": "hunter2"}}}"#,
        );
        assert!(of_a_type.starts_with("the field issue.fields.status is of another type"));
        assert!(!of_a_type.contains("hunter2"));
    }
}
