use http::HeaderValue;

use super::*;
use crate::event::contains_repository;

const REPOSITORY: &str = r#""repository": {
    "full_name": "octocat/hello", "default_branch": "main",
    "clone_url": "https://git.example.org/octocat/hello.git",
    "ssh_url": "git@git.example.org:octocat/hello.git",
    "html_url": "https://git.example.org/octocat/hello"}"#;

fn parsed(kind: &'static str, body: &str) -> Result<(String, Event), ParseError> {
    let mut headers = HeaderMap::new();
    headers.insert("x-github-event", HeaderValue::from_static(kind));
    parse(&headers, body.as_bytes())
}

fn push(body: &str) -> Push {
    match parsed("push", &format!("{{{body}, {REPOSITORY}}}")) {
        Ok((name, Event::Push(push))) if name == "push" => push,
        other => panic!("{other:?}"),
    }
}

fn ignored(kind: &'static str, body: &str) -> String {
    match parsed(kind, body) {
        Ok((_, Event::Ignored { reason })) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn push_has_ref_target_and_commits() {
    let after = "ab".repeat(20);
    let body = format!(
        r#""ref": "refs/heads/main", "after": "{after}", "forced": true,
        "commits": [{{"id": "{}"}}, {{"id": "no commit"}}]"#,
        "CD".repeat(20)
    );
    let expected = Push {
        path: "octocat/hello".to_owned(),
        urls: vec![
            "https://git.example.org/octocat/hello.git".to_owned(),
            "git@git.example.org:octocat/hello.git".to_owned(),
            "https://git.example.org/octocat/hello".to_owned(),
        ],
        reference: "refs/heads/main".to_owned(),
        is_default: true,
        after: Some(after),
        is_forced: true,
        commits: vec!["cd".repeat(20)],
    };
    assert_eq!(push(&body), expected);
}

#[test]
fn push_omits_commits_that_another_ref_had() {
    let [new, unmarked, old] = ["1", "2", "3"].map(|digit| digit.repeat(40));
    let body = format!(
        r#""ref": "refs/heads/x", "after": "{new}", "commits": [
        {{"id": "{new}", "distinct": true}}, {{"id": "{unmarked}"}},
        {{"id": "{old}", "distinct": false}}]"#
    );
    assert_eq!(push(&body).commits, [new, unmarked]);
}

#[test]
fn push_of_a_deleted_ref_has_no_target() {
    let zeros = "0".repeat(40);
    assert_eq!(push(&format!(r#""ref": "refs/heads/x", "after": "{zeros}""#)).after, None);
    let tag = push(&format!(r#""ref": "refs/tags/main", "after": "{zeros}", "deleted": true"#));
    assert_eq!((tag.after, tag.is_default), (None, false));
}

#[test]
fn delete_event_is_a_push() {
    let deleted = |kind: &str| {
        let body = format!(r#"{{"ref": "main", "ref_type": "{kind}", {REPOSITORY}}}"#);
        parsed("delete", &body).expect("readable").1
    };
    let Event::Push(branch) = deleted("branch") else { panic!("no push") };
    assert_eq!((branch.reference.as_str(), branch.is_default), ("refs/heads/main", true));
    let Event::Push(tag) = deleted("tag") else { panic!("no push") };
    assert_eq!((tag.reference.as_str(), tag.after), ("refs/tags/main", None));
    assert!(matches!(deleted("other"), Event::Ignored { .. }));
}

#[test]
fn issue_has_its_present_fields() {
    let body = format!(
        r#"{{"action": "opened", "issue": {{"number": 12, "title": "It breaks", "state": "closed",
        "assignee": null, "assignees": [{{"login": "vera"}}], "labels": [{{"name": "bug"}}],
        "html_url": "https://git.example.org/octocat/hello/issues/12",
        "created_at": "2026-01-01T00:00:00Z", "closed_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z"}}, {REPOSITORY}}}"#
    );
    let expected = Issue {
        external_id: "octocat/hello#12".to_owned(),
        title: "It breaks".to_owned(),
        status: Some("closed".to_owned()),
        assignee: Some("vera".to_owned()),
        labels: vec!["bug".to_owned()],
        links: field::links(
            "GitHub issue",
            Some("https://git.example.org/octocat/hello/issues/12".to_owned()),
        ),
        opened_at: field::time("2026-01-01T00:00:00Z"),
        closed_at: field::time("2026-01-02T03:04:05Z"),
        updated_at: field::time("2026-01-02T03:04:05Z"),
        is_whole: true,
        comment: None,
    };
    let opened = Ok(("issues.opened".to_owned(), Event::Issue(expected.clone())));
    assert_eq!(parsed("issues", &body), opened);
    let commented = Ok(("issue_comment.opened".to_owned(), Event::Issue(expected)));
    assert_eq!(parsed("issue_comment", &body), commented);
}

#[test]
fn deleted_or_transferred_issue_is_deleted() {
    for action in ["deleted", "transferred"] {
        let body = format!(r#"{{"action": "{action}", "issue": {{"number": 12}}, {REPOSITORY}}}"#);
        let deleted = Event::IssueDeleted { external_id: "octocat/hello#12".to_owned() };
        assert_eq!(parsed("issues", &body), Ok((format!("issues.{action}"), deleted)));
    }
}

#[test]
fn deleted_comment_leaves_the_issue() {
    let body =
        format!(r#"{{"action": "deleted", "issue": {{"number": 1, "title": "T"}}, {REPOSITORY}}}"#);
    assert!(matches!(parsed("issue_comment", &body), Ok((_, Event::Issue(_)))));
}

#[test]
fn pull_request_is_not_an_issue() {
    let body = format!(r#"{{"issue": {{"number": 2, "pull_request": {{}}}}, {REPOSITORY}}}"#);
    assert_eq!(
        ignored("issues", &body),
        "the pull_request event of the pull request has more data"
    );
}

#[test]
fn comment_comes_with_its_issue_or_pull_request() {
    let comment = |on: &str, action: &str| {
        let body = format!(
            r#"{{"action": "{action}", "issue": {{"number": 2, "title": "T", {on}
            "html_url": "https://git.example.org/octocat/hello/pull/2"}},
            "comment": {{"id": 7, "user": {{"login": "vera"}}, "body": "Mended.",
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:05:00Z"}},
            {REPOSITORY}}}"#
        );
        parsed("issue_comment", &body).expect("readable").1
    };
    let expected = Comment {
        id: "7".to_owned(),
        author: Some("vera".to_owned()),
        text: "Mended.".to_owned(),
        sent_at: field::time("2026-01-02T03:04:05Z"),
        updated_at: field::time("2026-01-02T03:05:00Z"),
        is_deleted: false,
    };
    let Event::Issue(issue) = comment("", "created") else { panic!("no issue") };
    assert_eq!(issue.comment, Some(expected.clone()));
    let Event::Comment { thread, comment: posted } = comment(r#""pull_request": {},"#, "created")
    else {
        panic!("no comment")
    };
    assert_eq!((thread.external_id.as_str(), posted), ("octocat/hello!2", expected));
    let Event::Issue(issue) = comment("", "deleted") else { panic!("no issue") };
    assert!(issue.comment.is_some_and(|comment| comment.is_deleted && comment.text.is_empty()));
}

#[test]
fn release_is_deleted_when_withdrawn() {
    let release = |action: &str, draft: bool| {
        let body = format!(
            r##"{{"action": "{action}", "release": {{"id": 9, "tag_name": "v1.2", "name": null,
            "body": "# New\r\nRetries.", "draft": {draft}, "author": {{"login": "vera"}},
            "published_at": "2026-01-02T03:04:05Z"}}, {REPOSITORY}}}"##
        );
        match parsed("release", &body) {
            Ok((_, Event::Release(release))) => release,
            other => panic!("{other:?}"),
        }
    };
    let published = release("published", false);
    assert_eq!((published.path.as_str(), published.id.as_str()), ("octocat/hello", "9"));
    assert_eq!((published.title.as_str(), published.notes.as_str()), ("v1.2", "# New\nRetries."));
    assert!(!published.is_deleted);
    for deleted in
        [release("deleted", false), release("unpublished", false), release("edited", true)]
    {
        assert_eq!((deleted.is_deleted, deleted.notes.as_str()), (true, ""));
    }
}

#[test]
fn wiki_is_a_repository_of_its_own() {
    let event = parsed("gollum", &format!(r#"{{"pages": [], {REPOSITORY}}}"#));
    let Ok((_, Event::WikiPush(wiki))) = event else { panic!("{event:?}") };
    assert_eq!(wiki.path, "octocat/hello.wiki");
    assert!(contains_repository(&wiki.urls, "https://git.example.org/octocat/hello.wiki.git"));
    assert!(contains_repository(&wiki.urls, "git@git.example.org:octocat/hello.wiki"));
    assert!(!contains_repository(&wiki.urls, "https://git.example.org/octocat/hello.git"));
}

#[test]
fn other_events_are_ignored_with_a_reason() {
    assert_eq!(ignored("ping", "{}"), "ping");
    assert_eq!(ignored("create", "{}"), "the push event of the new ref has more data");
    assert_eq!(ignored("star", r#"{"action": "created"}"#), "star events are not used");
}

#[test]
fn missing_field_is_named() {
    let missing = |kind, body: &str| parsed(kind, body).expect_err("unreadable");
    let whole = r#"{"ref": "refs/heads/x", "after": "0", "repository": {}}"#;
    assert_eq!(missing("push", whole), ParseError::MissingField("repository.full_name"));
    assert_eq!(missing("push", "{}"), ParseError::MissingField("ref"));
    assert_eq!(missing("delete", r#"{"ref": "x"}"#), ParseError::MissingField("ref_type"));
    let untitled = format!(r#"{{"issue": {{"number": 1, "title": " "}}, {REPOSITORY}}}"#);
    assert_eq!(missing("issues", &untitled), ParseError::MissingField("issue.title"));
    assert_eq!(parse(&HeaderMap::new(), b"{}"), Err(ParseError::MissingHeader("X-GitHub-Event")));
}
