use super::*;

fn parsed(body: &str) -> Result<(String, Event), ParseError> {
    parse(body.as_bytes())
}

fn ignored(body: &str) -> String {
    match parsed(body) {
        Ok((_, Event::Ignored { reason })) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn issue_has_its_present_fields() {
    let body = r#"{"webhookEvent": "jira:issue_updated", "timestamp": 1767323045000,
        "issue": {"id": "1", "key": "CS-214", "self": "https://jira.example.org/rest/api/2/issue/1",
        "fields": {"summary": "It breaks", "status": {"name": "In Progress"},
        "assignee": {"name": "vera", "displayName": "Vera B"}, "labels": ["a", "b"],
        "created": "2026-01-01T00:00:00.000+0000",
        "resolutiondate": "2026-01-02T03:04:00.000+0000",
        "updated": "2026-01-02T03:04:05.000+0000"}}}"#;
    let issue = Event::Issue(Issue {
        external_id: "CS-214".to_owned(),
        title: "It breaks".to_owned(),
        status: Some("In Progress".to_owned()),
        assignee: Some("Vera B".to_owned()),
        labels: vec!["a".to_owned(), "b".to_owned()],
        links: field::links(
            "Jira issue",
            Some("https://jira.example.org/browse/CS-214".to_owned()),
        ),
        opened_at: field::time("2026-01-01T00:00:00Z"),
        closed_at: field::time("2026-01-02T03:04:00Z"),
        updated_at: field::time("2026-01-02T03:04:05Z"),
        is_whole: true,
        comment: None,
    });
    assert_eq!(parsed(body), Ok(("jira:issue_updated".to_owned(), issue)));
}

#[test]
fn null_fields_are_absent() {
    let body = r#"{"webhookEvent": "jira:issue_created", "issue": {"key": "A-1",
        "fields": {"summary": "T", "status": null, "assignee": null, "labels": null}}}"#;
    let Ok((_, Event::Issue(issue))) = parsed(body) else { panic!("no issue") };
    assert_eq!((issue.status, issue.assignee, issue.links), (None, None, Vec::new()));
}

#[test]
fn link_needs_a_scheme_as_browsers_write_it() {
    for (address, links) in [
        ("https://a.example/rest/api/2/issue/1", 1),
        ("hTtps://a.example/rest/api/2/issue/1", 0),
        ("https:a.example/rest/api/2/issue/1", 0),
        ("ftp://a.example/rest/api/2/issue/1", 0),
    ] {
        let body = format!(
            r#"{{"webhookEvent": "jira:issue_created", "issue": {{"key": "A-1",
            "self": "{address}", "fields": {{"summary": "T"}}}}}}"#
        );
        let Ok((_, Event::Issue(issue))) = parsed(&body) else { panic!("no issue") };
        assert_eq!(issue.links.len(), links, "{address}");
    }
}

#[test]
fn comment_needs_its_issue() {
    let body = r#"{"webhookEvent": "comment_created",
        "comment": {"updated": "2026-01-02T03:04:05.000+0000"},
        "issue": {"key": "A-1", "fields": {"summary": "T"}}}"#;
    let Ok((_, Event::Issue(issue))) = parsed(body) else { panic!("no issue") };
    assert_eq!(issue.updated_at, field::time("2026-01-02T03:04:05Z"));
    for alone in [
        r#"{"webhookEvent": "comment_created", "comment": {"id": "1"}}"#,
        r#"{"webhookEvent": "comment_updated", "issue": {"key": "A-1"}}"#,
        r#"{"webhookEvent": "comment_deleted", "issue": {"key": "A-1", "fields": {}}}"#,
    ] {
        assert_eq!(ignored(alone), "the comment came without its issue");
    }
}

#[test]
fn comment_is_deleted_when_not_public() {
    let comment = |name: &str, rest: &str| {
        let body = format!(
            r#"{{"webhookEvent": "{name}", "comment": {{"id": "7", "body": "Since May.", {rest}
            "author": {{"displayName": "Vera B"}}, "created": "2026-01-02T03:04:05.000+0000"}},
            "issue": {{"key": "A-1", "fields": {{"summary": "T"}}}}}}"#
        );
        let Ok((_, Event::Issue(issue))) = parsed(&body) else { panic!("no issue") };
        issue.comment.expect("a comment")
    };
    let posted = comment("comment_created", "");
    assert_eq!((posted.id.as_str(), posted.text.as_str()), ("7", "Since May."));
    assert_eq!((posted.author.as_deref(), posted.is_deleted), (Some("Vera B"), false));
    assert_eq!(posted.updated_at, field::time("2026-01-02T03:04:05Z"));
    assert!(comment("comment_deleted", "").is_deleted);
    for some in [r#""visibility": {"type": "role", "value": "Staff"},"#, r#""jsdPublic": false,"#] {
        let posted = comment("comment_updated", some);
        assert_eq!((posted.is_deleted, posted.text.as_str()), (true, ""), "{some}");
    }
}

#[test]
fn comment_as_a_document_has_its_text() {
    let body = r#"{"webhookEvent": "comment_created", "comment": {"id": "7", "body": {"type": "doc",
        "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Since May."}]}]}},
        "issue": {"key": "A-1", "fields": {"summary": "T"}}}"#;
    let Ok((_, Event::Issue(issue))) = parsed(body) else { panic!("no issue") };
    let posted = issue.comment.expect("a comment");
    assert_eq!((posted.text.as_str(), posted.is_deleted), ("Since May.", false));
}

#[test]
fn issue_that_is_not_public_is_deleted() {
    let issue = |name: &str, fields: &str| {
        let body = format!(
            r#"{{"webhookEvent": "{name}", "comment": {{"id": "7", "body": "Since May."}},
            "issue": {{"key": "A-1", "fields": {{{fields}}}}}}}"#
        );
        parsed(&body).expect("readable").1
    };
    let deleted = Event::IssueDeleted { external_id: "A-1".to_owned() };
    let secret = r#""summary": "T", "security": {"id": "10", "name": "Staff"}"#;
    let events = ["jira:issue_created", "jira:issue_updated", "comment_created", "comment_deleted"];
    for name in events {
        assert_eq!(issue(name, secret), deleted, "{name}");
    }
    assert_eq!(issue("comment_updated", r#""security": {"id": "10"}"#), deleted);
    let open = issue("jira:issue_updated", r#""summary": "T", "security": null"#);
    assert!(matches!(open, Event::Issue(_)), "{open:?}");
}

#[test]
fn deleted_issue_is_deleted() {
    let body = r#"{"webhookEvent": "jira:issue_deleted", "issue": {"key": "A-1"}}"#;
    let deleted = Event::IssueDeleted { external_id: "A-1".to_owned() };
    assert_eq!(parsed(body), Ok(("jira:issue_deleted".to_owned(), deleted)));
}

#[test]
fn issue_page_url_has_the_base_of_the_api_url() {
    let at = |address: &str| page_url(address, "A-1");
    let below = at("http://example.org:8080/jira/rest/api/2/issue/1");
    assert_eq!(below.as_deref(), Some("http://example.org:8080/jira/browse/A-1"));
    assert_eq!(at("https://example.org/issue/1"), None);
}

#[test]
fn other_events_are_ignored_with_a_reason() {
    assert_eq!(
        ignored(r#"{"webhookEvent": "sprint_started"}"#),
        "sprint_started events are not used"
    );
    let released = r#"{"webhookEvent": "jira:version_released", "issue": 5}"#;
    assert_eq!(ignored(released), "jira:version_released events are not used");
}

#[test]
fn missing_field_is_named() {
    let missing = |body: &str| parsed(body).expect_err("unreadable");
    let keyless = r#"{"webhookEvent": "jira:issue_deleted"}"#;
    assert_eq!(missing(keyless), ParseError::MissingField("issue.key"));
    let untitled = r#"{"webhookEvent": "jira:issue_updated", "issue": {"key": "A-1"}}"#;
    assert_eq!(missing(untitled), ParseError::MissingField("issue.fields.summary"));
}
