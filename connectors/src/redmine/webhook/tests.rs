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

fn expected() -> Issue {
    Issue {
        external_id: "redmine#191".to_owned(),
        title: "It breaks".to_owned(),
        status: Some("New".to_owned()),
        assignee: Some("Vera B".to_owned()),
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: field::time("2026-01-01T00:00:00Z"),
        closed_at: field::time("2026-01-02T03:04:05Z"),
        updated_at: field::time("2026-01-02T03:04:05Z"),
        is_whole: true,
        comment: None,
    }
}

#[test]
fn native_webhook_has_an_issue() {
    let body = r#"{"type": "issue.updated", "timestamp": "2026-01-02T03:04:06Z", "data": {
        "issue": {"id": 191, "project": {"id": 1, "name": "Shop"}, "subject": "It breaks",
        "status": {"id": 1, "name": "New"}, "assigned_to": {"id": 5, "name": "Vera B"},
        "is_private": false, "created_on": "2026-01-01T00:00:00Z",
        "closed_on": "2026-01-02T03:04:05Z", "updated_on": "2026-01-02T03:04:05Z"}}}"#;
    assert_eq!(parsed(body), Ok(("issue.updated".to_owned(), Event::Issue(expected()))));
}

#[test]
fn reopened_issue_is_not_closed() {
    let body = r#"{"type": "issue.updated", "data": {"issue": {"id": 191, "subject": "It breaks",
        "status": {"id": 1, "name": "New", "is_closed": false},
        "closed_on": "2026-01-02T03:04:05Z"}}}"#;
    let Ok((_, Event::Issue(issue))) = parsed(body) else { panic!("{:?}", parsed(body)) };
    assert_eq!(issue.closed_at, None);
}

#[test]
fn plugin_webhook_has_an_issue_and_its_address() {
    let body = r#"{"payload": {"action": "opened", "url": "https://redmine.example.org/issues/191",
        "issue": {"id": 191, "subject": "It breaks", "status": {"id": 1, "name": "New"},
        "assignee": {"login": "vera", "firstname": "Vera", "lastname": "B"},
        "created_on": "2026-01-01T00:00:00Z", "closed_on": "2026-01-02T03:04:05Z",
        "updated_on": "2026-01-02T03:04:05Z"}}}"#;
    let page = "https://redmine.example.org/issues/191".to_owned();
    let issue = Issue { links: field::links("Redmine issue", Some(page)), ..expected() };
    assert_eq!(parsed(body), Ok(("issue.opened".to_owned(), Event::Issue(issue))));
}

#[test]
fn deleted_issue_is_deleted() {
    let deleted = || Event::IssueDeleted { external_id: "redmine#7".to_owned() };
    let native = r#"{"type": "issue.deleted", "data": {"issue": {"id": 7, "is_private": true}}}"#;
    assert_eq!(parsed(native), Ok(("issue.deleted".to_owned(), deleted())));
    let plugin = r#"{"payload": {"action": "deleted", "issue": {"id": 7}}}"#;
    assert_eq!(parsed(plugin), Ok(("issue.deleted".to_owned(), deleted())));
}

#[test]
fn private_issue_is_deleted() {
    let issue = r#""issue": {"id": 7, "subject": "secret", "is_private": true}"#;
    let native = format!(r#"{{"type": "issue.created", "data": {{{issue}}}}}"#);
    let deleted = Event::issue_deleted("redmine#7".to_owned()).expect("an id");
    assert_eq!(parsed(&native).expect("readable").1, deleted);
    let plugin = format!(r#"{{"payload": {{"action": "updated", {issue}}}}}"#);
    assert_eq!(parsed(&plugin).expect("readable").1, deleted);
}

#[test]
fn other_events_are_ignored_with_a_reason() {
    let page = r#"{"type": "wiki_page.updated", "data": {"wiki_page": {}}}"#;
    assert_eq!(ignored(page), "wiki_page.updated events are not used");
    let entry = r#"{"type": "time_entry.created", "data": []}"#;
    assert_eq!(ignored(entry), "time_entry.created events are not used");
}

#[test]
fn missing_field_is_named() {
    let missing = |body: &str| parsed(body).expect_err("unreadable");
    assert_eq!(missing("{}"), ParseError::MissingField("type"));
    let empty = r#"{"type": "issue.created"}"#;
    assert_eq!(missing(empty), ParseError::MissingField("data.issue.id"));
    let untitled = r#"{"payload": {"action": "opened", "issue": {"id": 1}}}"#;
    assert_eq!(missing(untitled), ParseError::MissingField("payload.issue.subject"));
}
