use super::*;

fn parsed(body: &str) -> Result<(String, Event), ParseError> {
    parse(body.as_bytes())
}

fn issue(body: &str) -> Issue {
    match parsed(body) {
        Ok((_, Event::Issue(issue))) => issue,
        other => panic!("{other:?}"),
    }
}

#[test]
fn app_webhook_has_an_issue() {
    let created = r#"{"event": "issueCreated", "timestamp": "2026-01-02T03:04:05.000Z",
        "id": "2-123", "numberInProject": 7, "summary": "It breaks",
        "project": {"id": "0-1", "name": "Shop", "shortName": "SP"}}"#;
    let expected = Issue {
        external_id: "SP-7".to_owned(),
        title: "It breaks".to_owned(),
        status: None,
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: None,
        closed_at: None,
        updated_at: field::time("2026-01-02T03:04:05Z"),
        is_whole: false,
        comment: None,
    };
    let expected = Ok(("issueCreated".to_owned(), Event::Issue(expected)));
    assert_eq!(parsed(created), expected);
}

#[test]
fn app_webhook_has_the_state_as_a_change() {
    let updated = issue(
        r#"{"event": "issueUpdated", "id": "SP-7", "summary": "T", "updated": 1767323045000,
        "created": 1767323040000, "resolved": 1767323045000,
        "changedFields": [{"name": "State", "oldValue": null, "value": {"name": "Done"}},
        {"name": "Assignee", "value": {"login": "vera", "fullName": "Vera B"}}]}"#,
    );
    assert_eq!(updated.status.as_deref(), Some("Done"));
    assert_eq!(updated.assignee.as_deref(), Some("Vera B"));
    assert_eq!(updated.opened_at, field::time("2026-01-02T03:04:00Z"));
    assert_eq!(updated.closed_at, field::time("2026-01-02T03:04:05Z"));
    assert_eq!(updated.updated_at, field::time("2026-01-02T03:04:05Z"));
}

#[test]
fn script_webhook_may_have_any_shape() {
    let nested = issue(
        r#"{"type": "issueUpdated", "issue": {"id": "2-123", "idReadable": "SP-7",
        "summary": "T", "fields": {"State": {"name": "Open"}, "Points": 5, "Team": null},
        "assignee": {"login": "vera"}, "tags": [{"name": "a"}, "b", 5],
        "url": "https://youtrack.example.org/issue/SP-7"}}"#,
    );
    assert_eq!(nested.external_id, "SP-7");
    assert_eq!(nested.status.as_deref(), Some("Open"));
    assert_eq!(nested.assignee.as_deref(), Some("vera"));
    assert_eq!(nested.labels, ["a", "b"]);
    assert_eq!(nested.links.len(), 1);

    let flat = issue(
        r#"{"idReadable": "", "id": "SP-7", "summary": "T", "State": "Open",
        "assignee": "vera", "type": {"name": "Bug"}, "fields": [{"name": "State"}],
        "tags": "none", "project": "Shop", "updated": {}}"#,
    );
    assert_eq!(flat.external_id, "SP-7");
    assert_eq!(flat.status.as_deref(), Some("Open"));
    assert_eq!(flat.assignee.as_deref(), Some("vera"));
    assert_eq!((flat.labels.len(), flat.updated_at), (0, None));
}

#[test]
fn only_a_deletion_of_the_issue_deletes_it() {
    for event in ["issueDeleted", "issue.deleted", "ISSUE_DELETED", "deleted", "removed"] {
        let body = format!(r#"{{"event": "{event}", "idReadable": "SP-7"}}"#);
        let deleted = Event::IssueDeleted { external_id: "SP-7".to_owned() };
        assert_eq!(parsed(&body), Ok((event.to_owned(), deleted)));
    }
    for event in ["commentDeleted", "workItemDeleted", "issueAttachmentDeleted"] {
        let body = format!(r#"{{"event": "{event}", "id": "SP-7", "summary": "T"}}"#);
        assert!(!issue(&body).is_whole, "{event}");
    }
}

#[test]
fn issue_that_is_not_public_is_deleted() {
    let seen_by = |visibility: &str| {
        let fields = format!(r#""idReadable": "SP-7", "summary": "T", "visibility": {visibility}"#);
        [format!("{{{fields}}}"), format!(r#"{{"issue": {{{fields}}}}}"#)]
            .map(|body| parsed(&body).expect("readable").1)
    };
    let deleted = Event::IssueDeleted { external_id: "SP-7".to_owned() };
    let limited = r#"{"$type": "LimitedVisibility", "permittedGroups": [{"name": "Staff"}]}"#;
    assert_eq!(seen_by(limited), [deleted.clone(), deleted]);
    for open in [r#"{"$type": "UnlimitedVisibility"}"#, "null", r#""public""#, "{}"] {
        let events = seen_by(open);
        assert!(events.iter().all(|event| matches!(event, Event::Issue(_))), "{open}: {events:?}");
    }
}

#[test]
fn missing_field_is_named() {
    let missing = |body: &str| parsed(body).expect_err("unreadable");
    assert_eq!(missing("{}"), ParseError::MissingField("idReadable"));
    assert_eq!(missing(r#"{"issue": {}}"#), ParseError::MissingField("issue.idReadable"));
    assert_eq!(missing(r#"{"id": "SP-7"}"#), ParseError::MissingField("summary"));
}
