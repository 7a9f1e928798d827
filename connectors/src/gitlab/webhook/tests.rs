use http::HeaderValue;

use super::*;
use crate::event::contains_repository;

const PROJECT: &str = r#""project": {
    "path_with_namespace": "group/sub/project", "default_branch": "main",
    "git_http_url": "https://git.example.org/group/sub/project.git",
    "git_ssh_url": "git@git.example.org:group/sub/project.git",
    "web_url": "https://git.example.org/group/sub/project"}"#;

fn parsed(body: &str) -> Result<(String, Event), ParseError> {
    parse(&HeaderMap::new(), format!("{{{body}, {PROJECT}}}").as_bytes())
}

fn ignored(body: &str) -> String {
    match parsed(body) {
        Ok((_, Event::Ignored { reason })) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn push_comes_from_project_and_system_hooks() {
    let after = "cd".repeat(20);
    let commit = "ab".repeat(20);
    let rest = format!(
        r#""ref": "refs/heads/main", "after": "{after}", "commits": [{{"id": "{commit}"}}]"#
    );
    let push = Event::Push(Push {
        path: "group/sub/project".to_owned(),
        urls: vec![
            "https://git.example.org/group/sub/project.git".to_owned(),
            "git@git.example.org:group/sub/project.git".to_owned(),
            "https://git.example.org/group/sub/project".to_owned(),
        ],
        reference: "refs/heads/main".to_owned(),
        is_default: true,
        after: Some(after),
        is_forced: false,
        commits: vec!["ab".repeat(20)],
    });
    let expected = Ok(("push".to_owned(), push));
    assert_eq!(parsed(&format!(r#""object_kind": "push", {rest}"#)), expected);
    assert_eq!(parsed(&format!(r#""event_name": "push", {rest}"#)), expected);
}

#[test]
fn push_of_a_deleted_tag_has_no_target() {
    let zeros = "0".repeat(40);
    let body = format!(r#""object_kind": "tag_push", "ref": "refs/tags/v1", "after": "{zeros}""#);
    let Ok((name, Event::Push(push))) = parsed(&body) else { panic!("no push") };
    assert_eq!((name.as_str(), push.after, push.is_default), ("tag_push", None, false));
}

#[test]
fn issue_has_its_present_fields() {
    let body = r#""object_kind": "issue", "event_type": "issue", "object_attributes": {
        "iid": 23, "title": "It breaks", "state": "opened", "action": "update",
        "confidential": false, "url": "https://git.example.org/group/sub/project/-/issues/23",
        "created_at": "2026-01-01 00:00:00 UTC", "closed_at": "2026-01-02 03:04:05 UTC",
        "updated_at": "2026-01-02 03:04:05 UTC"},
        "labels": [{"title": "API"}], "assignees": [{"name": "Vera", "username": "vera"}]"#;
    let issue = Event::Issue(Issue {
        external_id: "group/sub/project#23".to_owned(),
        title: "It breaks".to_owned(),
        status: Some("opened".to_owned()),
        assignee: Some("Vera".to_owned()),
        labels: vec!["API".to_owned()],
        links: field::links(
            "GitLab issue",
            Some("https://git.example.org/group/sub/project/-/issues/23".to_owned()),
        ),
        opened_at: field::time("2026-01-01T00:00:00Z"),
        closed_at: field::time("2026-01-02T03:04:05Z"),
        updated_at: field::time("2026-01-02T03:04:05Z"),
        is_whole: true,
        comment: None,
    });
    assert_eq!(parsed(body), Ok(("issue.update".to_owned(), issue)));
}

#[test]
fn note_comes_with_its_issue() {
    let body = r#""object_kind": "note", "object_attributes": {"noteable_type": "Issue",
        "id": 1, "note": "Since May.", "action": "create", "system": false,
        "url": "https://git.example.org/p/issues/17#note_1",
        "updated_at": "2026-01-02 03:04:05 UTC"}, "user": {"name": "Vera B", "username": "vera"},
        "issue": {"iid": 17, "title": "T", "state": "closed", "labels": [{"title": "a"}]}"#;
    let Ok((name, Event::Issue(issue))) = parsed(body) else { panic!("no issue") };
    assert_eq!(name, "note.create");
    let comment = issue.comment.as_ref().expect("a comment");
    assert_eq!((comment.id.as_str(), comment.text.as_str()), ("1", "Since May."));
    assert_eq!(comment.author.as_deref(), Some("vera"));
    assert_eq!(issue.external_id, "group/sub/project#17");
    assert_eq!(issue.links[0].url, "https://git.example.org/p/issues/17");
    assert_eq!((issue.labels, issue.assignee), (vec!["a".to_owned()], None));
}

#[test]
fn notes_on_merge_requests_are_comments_and_others_ignored() {
    let on = |what: &str, system: bool| {
        let body = format!(
            r#""object_kind": "note", "object_attributes": {{"noteable_type": "{what}", "id": 7,
            "note": "Why?", "system": {system},
            "url": "https://git.example.org/p/-/merge_requests/5#note_7"}},
            "merge_request": {{"iid": 5, "title": "T"}}"#
        );
        parsed(&body).expect("readable").1
    };
    let Event::Comment { thread, comment } = on("MergeRequest", false) else { panic!("nothing") };
    assert_eq!(thread.external_id, "group/sub/project!5");
    assert_eq!(thread.url, "https://git.example.org/p/-/merge_requests/5");
    assert_eq!((comment.id.as_str(), comment.text.as_str()), ("7", "Why?"));
    assert!(matches!(on("MergeRequest", true), Event::Ignored { .. }), "GitLab's own");
    assert!(matches!(on("Commit", false), Event::Ignored { .. }));
}

#[test]
fn release_is_deleted_when_withdrawn() {
    let release = |action: &str| {
        let body = format!(
            r#""object_kind": "release", "id": 9, "tag": "v1.2", "name": "Retries",
                "action": "{action}",
            "description": "More of them.", "released_at": "2026-01-02 03:04:05 UTC""#
        );
        match parsed(&body) {
            Ok((_, Event::Release(release))) => release,
            other => panic!("{other:?}"),
        }
    };
    let created = release("create");
    assert_eq!((created.id.as_str(), created.title.as_str()), ("9", "Retries"));
    assert_eq!((created.notes.as_str(), created.is_deleted), ("More of them.", false));
    assert!(release("delete").is_deleted);
}

#[test]
fn wiki_is_a_repository_of_its_own() {
    let body = r#""object_kind": "wiki_page", "wiki": {
        "path_with_namespace": "group/sub/project.wiki",
        "git_http_url": "https://git.example.org/group/sub/project.wiki.git"}"#;
    let Ok((_, Event::WikiPush(wiki))) = parsed(body) else { panic!("no wiki") };
    assert_eq!(wiki.path, "group/sub/project.wiki");
    assert!(contains_repository(&wiki.urls, "https://git.example.org/group/sub/project.wiki"));
    let Ok((_, Event::WikiPush(bare))) = parsed(r#""object_kind": "wiki_page""#) else {
        panic!("no wiki")
    };
    assert_eq!(bare.path, "group/sub/project.wiki");
}

#[test]
fn confidential_issue_is_deleted_however_it_is_marked() {
    let deleted = Event::issue_deleted("group/sub/project#1".to_owned()).expect("an id");
    let event_of = |body: &str| {
        let body = format!("{{{body}, {PROJECT}}}");
        parse(&HeaderMap::new(), body.as_bytes()).expect("readable").1
    };
    let fields = r#""object_attributes": {"iid": 1, "title": "secret""#;
    let by_field = format!(r#""object_kind": "issue", {fields}, "confidential": true}}"#);
    assert_eq!(event_of(&by_field), deleted);
    let by_type =
        format!(r#""object_kind": "issue", "event_type": "confidential_issue", {fields}}}"#);
    assert_eq!(event_of(&by_type), deleted);
    let of_note = r#""object_kind": "note", "object_attributes": {"noteable_type": "Issue"},
        "issue": {"iid": 1, "title": "secret", "confidential": true}"#;
    assert_eq!(event_of(of_note), deleted);

    let mut headers = HeaderMap::new();
    headers.insert("x-gitlab-event", HeaderValue::from_static("Confidential Issue Hook"));
    let body = format!(r#"{{"object_kind": "issue", {fields}}}, {PROJECT}}}"#);
    let by_header = parse(&headers, body.as_bytes()).expect("readable").1;
    assert_eq!(by_header, deleted);
}

#[test]
fn other_events_are_ignored_with_a_reason() {
    let emoji = r#""object_kind": "emoji""#;
    assert_eq!(ignored(emoji), "emoji events are not used");
    let created = r#""event_name": "project_create""#;
    assert_eq!(ignored(created), "project_create events are not used");
}

#[test]
fn missing_field_is_named() {
    let missing = |body: &str| parse(&HeaderMap::new(), body.as_bytes()).expect_err("unreadable");
    assert_eq!(missing("{}"), ParseError::MissingField("object_kind"));
    let issue = r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T"}}"#;
    assert_eq!(missing(issue), ParseError::MissingField("project.path_with_namespace"));
    let note = r#"{"object_kind": "note", "object_attributes": {"noteable_type": "Issue"}}"#;
    assert_eq!(missing(note), ParseError::MissingField("issue.iid"));
}
