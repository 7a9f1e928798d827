use http::HeaderValue;

use super::*;

/// `hashlib.sha256(b"a b\0{}").hexdigest()`.
const DIGEST: &str = "sha256:3ca4685308426cd118b316d426fe90b235c35d4ae4a617115557d5f6db1bd2ba";

fn id_of(provider: Provider, headers: &HeaderMap) -> Option<String> {
    provider_id(adapter(provider).delivery_id_headers, headers, b"{}")
}

fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let value = HeaderValue::from_bytes(value.as_bytes());
        headers.append(*name, value.expect("a header's value"));
    }
    headers
}

#[test]
fn delivery_id_is_the_providers() {
    let check = |source: Provider, given: &[(&'static str, &str)], expected: &str| {
        let id = id_of(source, &headers(given));
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
    assert_eq!(id_of(Provider::Redmine, &others), None);
}

#[test]
fn delivery_without_an_id_is_deduplicated_only_if_dated() {
    let id = |body: &str| {
        parse(Provider::Youtrack, &HeaderMap::new(), body.as_bytes()).expect("readable").id
    };
    let timeless = r#"{"idReadable": "SP-7", "summary": "T", "state": "Open"}"#;
    assert_eq!(id(timeless), None);
    let timed = r#"{"idReadable": "SP-7", "summary": "T", "updated": 1767323045000}"#;
    assert!(id(timed).is_some_and(|id| id.starts_with("sha256:")));
    assert_eq!(id(timed), id(timed));
    assert!(id("{}").is_some(), "what is ignored is ignored once");
}

#[test]
fn signed_body_with_a_time_is_unique() {
    let is_once = |source, event: &str, body: &str| {
        let given = headers(&[("x-github-event", event), ("x-github-delivery", "1")]);
        parse(source, &given, body.as_bytes()).expect("readable").is_once
    };
    let repository = r#""repository": {"full_name": "a/b"}"#;
    let issue = |time: &str| {
        format!(r#"{{"issue": {{"number": 1, "title": "T", "updated_at": {time}}}, {repository}}}"#)
    };
    let timed = issue(r#""2026-01-02T03:04:05Z""#);
    assert!(is_once(Provider::Github, "issues", &timed));
    assert!(!is_once(Provider::Github, "issues", &issue("null")));
    assert!(!is_once(Provider::Github, "ping", "{}"));
    let push = format!(r#"{{"ref": "refs/heads/x", "after": "{}", {repository}}}"#, "a".repeat(40));
    assert!(!is_once(Provider::Github, "push", &push), "a branch may go back and forth");
    let gitlab = r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T",
        "updated_at": "2026-01-02 03:04:05 UTC"}, "project": {"path_with_namespace": "a/b"}}"#;
    assert!(!is_once(Provider::Gitlab, "", gitlab), "its id is signed or nothing is");
}

#[test]
fn deletion_is_unique_only_when_the_body_has_a_time() {
    let check = |source, body: &str, expected: bool| {
        let given = headers(&[("x-github-event", "issues")]);
        let delivery = parse(source, &given, body.as_bytes()).expect("readable");
        assert_eq!((delivery.id.is_some(), delivery.is_once), (expected, expected), "{body}");
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
fn invalid_delivery_id_becomes_a_digest() {
    let id_of_header = |value: &str| {
        let given = headers(&[("x-github-delivery", value)]);
        id_of(Provider::Github, &given).expect("an id")
    };
    assert_eq!(id_of_header("a b"), DIGEST);
    assert_eq!(id_of_header(&"a".repeat(128)), "a".repeat(128));
    for other in [String::new(), "a".repeat(129), "a/b".to_owned(), "ä".to_owned()] {
        let id = id_of_header(&other);
        assert!(id.starts_with("sha256:") && id != DIGEST, "{other}");
    }
}

#[test]
fn event_name_is_a_plain_word() {
    assert_eq!(plain_name("jira:issue_updated"), "jira:issue_updated");
    assert_eq!(plain_name("a b\n<c>é"), "abc");
    assert_eq!(plain_name(&"x".repeat(99)), "x".repeat(64));
    assert_eq!(plain_name("é"), "unknown");
}

#[test]
fn github_form_is_parsed() {
    let given = [
        ("x-github-event", "ping"),
        ("content-type", "Application/X-WWW-Form-URLencoded; charset=utf-8"),
    ];
    let parse = |body: &[u8]| parse(Provider::Github, &headers(&given), body);
    let delivery = parse(b"payload=%7B%22zen%22%3A+1%7D").expect("a form");
    assert_eq!(delivery.name, "ping");
    assert_eq!(parse(b"other=%7B%7D"), Err(ParseError::InvalidForm));
    assert_eq!(parse(b"payload=%7B%7D&payload=%7B%7D"), Err(ParseError::InvalidForm));
    assert!(matches!(parse(b"payload=x"), Err(ParseError::InvalidJson(_))));
    // A signed JSON body stays JSON when it is replayed with another content type.
    let again = br#"{"zen": "x&payload=%7B%22action%22%3A%22closed%22%7D&y"}"#;
    assert_eq!(parse(again).expect("JSON").name, "ping");
}

#[test]
fn parse_error_has_the_position_and_no_quotation() {
    let parse = |body: &str| parse(Provider::Jira, &HeaderMap::new(), body.as_bytes());
    let message = |body: &str| parse(body).expect_err("unreadable").to_string();
    assert!(message("").starts_with("the body is not JSON: EOF while parsing"));
    assert!(message("{} {}").starts_with("the body is not JSON: trailing characters"));
    let ignored = |body: &str| match parse(body) {
        Ok(Delivery { event: Event::Ignored { reason }, name, .. }) if name == "unreadable" => {
            reason
        }
        other => panic!("{other:?}"),
    };
    assert!(ignored("{}").starts_with("the field webhookEvent is missing"));
    let wrong_type = ignored(
        r#"{"webhookEvent": "jira:issue_updated", "issue": {"fields": {"status": "hunter2"}}}"#,
    );
    assert!(wrong_type.starts_with("the field issue.fields.status has another type"));
    assert!(!wrong_type.contains("hunter2"));
}
