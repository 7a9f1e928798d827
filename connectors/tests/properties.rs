//! Properties of the parsers: no body makes them panic, and every event is limited in size.

use http::{HeaderMap, HeaderValue};
use mc_connectors::{Comment, Delivery, Event, parse, verify};
use mc_domain::Provider;
use proptest::prelude::*;
use serde_json::Value;

/// Valid bodies, from which others are derived.
const BODIES: &[&str] = &[
    r#"{"action": "edited", "ref": "refs/heads/main", "ref_type": "tag", "forced": true,
    "after": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "issue": {"number": 1, "title": "T",
    "state": "open", "assignees": [{"login": "vera"}], "labels": [{"name": "bug"}],
    "html_url": "https://a.example/1", "updated_at": "2026-01-02T03:04:05Z"}, "repository":
    {"full_name": "a/b", "default_branch": "main", "clone_url": "https://a.example/b.git",
    "ssh_url": "git@a.example:b.git"}}"#,
    r#"{"object_kind": "push", "event_type": "push", "ref": "refs/tags/v1", "after":
    "0000000000000000000000000000000000000000", "project": {"path_with_namespace": "a/b/c",
    "git_ssh_url": "git@a.example:b.git", "default_branch": "main"}}"#,
    r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T", "action": "open",
    "url": "https://a.example/1", "updated_at": "2026-01-02 03:04:05 UTC"}, "labels":
    [{"title": "bug"}], "assignee": {"name": "V"}, "project": {"path_with_namespace": "a/b"}}"#,
    r#"{"object_kind": "note", "object_attributes": {"noteable_type": "Issue", "url":
    "https://a.example/1#note_2"}, "issue": {"iid": 1, "title": "T", "confidential": false},
    "project": {"path_with_namespace": "a/b"}}"#,
    r#"{"webhookEvent": "jira:issue_updated", "issue": {"key": "A-1", "self":
    "https://a.example/rest/api/2/issue/1", "fields": {"summary": "T", "status": {"name": "S"},
    "assignee": {"displayName": "V"}, "labels": ["x"],
    "updated": "2026-01-02T03:04:05.678+0100"}}}"#,
    r#"{"webhookEvent": "comment_created", "comment": {"updated": "2026-01-02T03:04:05.678+0100"},
    "issue": {"key": "A-1", "fields": {"summary": "T"}}}"#,
    r#"{"type": "issue.updated", "data": {"issue": {"id": 1, "subject": "T", "status":
    {"name": "S"}, "assigned_to": {"name": "V"}, "updated_on": "2026-01-02T03:04:05Z"}}}"#,
    r#"{"payload": {"action": "opened", "url": "https://a.example/1", "issue": {"id": 1,
    "subject": "T", "assignee": {"firstname": "V", "lastname": "B"}}}}"#,
    r#"{"event": "issueUpdated", "timestamp": "2026-01-02T03:04:05.678Z", "id": "2-1",
    "numberInProject": 1, "project": {"shortName": "A"}, "summary": "T", "updated": 1767323045678,
    "changedFields": [{"name": "State", "value": {"name": "S"}}], "tags": ["x"]}"#,
    r#"{"event": "issueDeleted", "issue": {"idReadable": "A-1"}}"#,
    r#"{"event": "page_updated", "page": {"id": 1}}"#,
    r#"{"action": "submitted", "pull_request": {"number": 1, "title": "T",
    "body": "Fixes #2, CS-214",
    "state": "closed", "merged": true,
    "merge_commit_sha": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
    "user": {"login": "vera"}, "head": {"ref": "CS-1",
    "sha": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"},
    "base": {"ref": "main"}, "html_url": "https://a.example/1",
    "updated_at": "2026-01-02T03:04:05Z"},
    "review": {"id": 1, "user": {"login": "omar"}, "state": "approved", "body": "Fine.",
    "submitted_at":
    "2026-01-02T03:04:05Z"}, "comment": {"id": 2, "body": "Why?"},
    "repository": {"full_name": "a/b"}}"#,
    r#"{"action": "completed", "check_run": {"name": "build", "head_sha":
    "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "status": "completed", "conclusion": "success",
    "completed_at": "2026-01-02T03:04:05Z"}, "check_suite": {"id": 1, "head_sha":
    "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "app": {"name": "A"}},
    "workflow_run": {"name": "CI",
    "event": "push", "head_sha": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"}, "sha":
    "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "context": "c", "state": "success",
    "release": {"id": 1,
    "tag_name": "v1", "name": "N", "body": "notes", "draft": false,
    "html_url": "https://a.example/r"},
    "issue": {"number": 1, "title": "T", "pull_request": {}}, "comment": {"id": 1, "body": "Why?"},
    "repository": {"full_name": "a/b", "clone_url": "https://a.example/b.git"}}"#,
    r#"{"object_kind": "merge_request", "object_attributes": {"iid": 1, "title": "T",
    "state": "merged",
    "action": "approved", "description": "Closes #2", "source_branch": "s", "target_branch": "main",
    "last_commit": {"id": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"}, "updated_at":
    "2026-01-02 03:04:05 UTC"}, "user": {"username": "vera"}, "reviewers": [{"username": "omar",
    "state":
    "approved"}], "project": {"path_with_namespace": "a/b"}}"#,
    r#"{"object_kind": "pipeline",
    "object_attributes": {"sha": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
    "status": "failed", "source": "push"}, "project": {"path_with_namespace": "a/b"}}"#,
    r#"{"object_kind": "release", "tag": "v1", "name": "N", "description": "notes",
    "action": "create",
    "project": {"path_with_namespace": "a/b"}}"#,
];

const EVENTS: &[&str] = &[
    "push",
    "delete",
    "issues",
    "issue_comment",
    "ping",
    "gollum",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "check_run",
    "check_suite",
    "workflow_run",
    "status",
    "release",
];

const CREDENTIAL_HEADERS: &[&str] = &[
    "x-hub-signature-256",
    "x-hub-signature",
    "x-redmine-signature-256",
    "x-gitlab-token",
    "x-youtrack-token",
    "webhook-signature",
    "authorization",
];

fn provider() -> impl Strategy<Value = Provider> {
    prop::sample::select(Provider::ALL)
}

/// A text of any length, or a word of [`BODIES`].
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        words().prop_map(|word| word.trim_matches('"').to_owned()),
        any::<String>(),
        "[\\PC\n\u{0}\u{2028}]{0,600}",
        "https?://[a-z.:/@ -]{0,40}",
        "(refs/heads/|refs/tags/|-)[a-z/.\n -]{0,20}",
        "[0a-f]{40}",
    ]
}

/// The keys and values of [`BODIES`].
fn words() -> impl Strategy<Value = String> {
    let parts = BODIES.iter().flat_map(|body| body.split(['{', '}', '[', ']', ':', ',']));
    prop::sample::select(parts.map(|part| part.trim().to_owned()).collect::<Vec<_>>())
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..100).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ]
}

/// One of [`BODIES`] with some values replaced.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), scalar()), 0..4);
    (prop::sample::select(BODIES), changes).prop_map(|(body, changes)| {
        let mut body: Value = serde_json::from_str(body).expect("JSON");
        for (place, value) in changes {
            let mut places = Vec::new();
            paths(&body, String::new(), &mut places);
            let path = place.get(&places);
            *body.pointer_mut(path).expect("a value") = value;
        }
        body.to_string().into_bytes()
    })
}

/// Collects the pointers of all values in a value.
fn paths(value: &Value, path: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                paths(field, format!("{path}/{name}"), into);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                paths(item, format!("{path}/{index}"), into);
            }
        }
        _ => {}
    }
    into.push(path);
}

fn headers(event: &str, id: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(event) = HeaderValue::from_str(event) {
        headers.insert("x-github-event", event);
    }
    if let Ok(id) = HeaderValue::from_bytes(id) {
        for name in ["x-github-delivery", "webhook-id", "x-atlassian-webhook-identifier"] {
            headers.insert(name, id.clone());
        }
    }
    headers
}

fn assert_bounds(delivery: &Delivery) {
    let is_plain = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-'))
    };
    let is_id = |id: &String| (1..=128).contains(&id.len()) && is_plain(id);
    assert!(delivery.id.iter().all(is_id), "{delivery:?}");
    assert!((1..=64).contains(&delivery.name.len()) && is_plain(&delivery.name), "{delivery:?}");
    let is_line =
        |text: &str, max: usize| text.chars().count() <= max && !text.chars().any(char::is_control);
    let is_url = |url: &str| url.is_empty() || url.starts_with("http") && is_line(url, 2048);
    let is_comment = |comment: &Comment| {
        is_line(&comment.id, 128)
            && comment.author.iter().all(|name| is_line(name, 128))
            && comment.text.chars().count() <= 8_000
            && comment.is_deleted == comment.text.is_empty()
    };
    let is_in_bounds = match &delivery.event {
        Event::Push(push) => {
            is_line(&push.path, 512)
                && is_line(&push.reference, 512)
                && push.reference.starts_with("refs/")
                && push.after.as_ref().is_none_or(|id| hex::decode(id).is_ok())
                && push.urls.iter().all(|url| is_line(url, 2048) && !url.starts_with('-'))
                && push.commits.iter().all(|id| hex::decode(id).is_ok())
        }
        Event::WikiPush(wiki) => {
            is_line(&wiki.path, 512)
                && wiki.urls.iter().all(|url| is_line(url, 2048) && !url.starts_with('-'))
        }
        Event::PullRequest(pull_request) => {
            let commits = pull_request.head_sha.iter().chain(&pull_request.merge_sha);
            is_line(&pull_request.external_id, 200)
                && is_line(&pull_request.title, 512)
                && pull_request
                    .author
                    .iter()
                    .chain(&pull_request.base_ref)
                    .all(|name| is_line(name, 128))
                && commits.into_iter().all(|id| hex::decode(id).is_ok())
                && is_url(&pull_request.url)
                && pull_request.tasks.len() <= 16
                && pull_request.tasks.iter().all(|task| is_line(task, 200))
                && pull_request.reviews.iter().all(|review| is_line(&review.reviewer, 128))
                && pull_request.comment.iter().all(is_comment)
        }
        Event::CiRun(run) => {
            is_line(&run.repository, 512)
                && hex::decode(&run.sha).is_ok()
                && is_line(&run.name, 128)
                && is_url(&run.url)
        }
        Event::Comment { thread, comment } => {
            is_line(&thread.external_id, 200)
                && is_line(&thread.title, 512)
                && is_url(&thread.url)
                && is_comment(comment)
        }
        Event::Release(release) => {
            is_line(&release.path, 512)
                && is_line(&release.id, 200)
                && is_line(&release.title, 512)
                && release.notes.chars().count() <= 8_000
                && is_url(&release.url)
        }
        Event::PageChanged { id } | Event::PageDeleted { id } => is_line(id, 200),
        Event::Issue(issue) => {
            is_line(&issue.external_id, 128)
                && is_line(&issue.title, 512)
                && issue.status.iter().chain(&issue.assignee).all(|name| is_line(name, 128))
                && issue.labels.len() <= 32
                && issue.labels.iter().all(|label| is_line(label, 64))
                && issue.links.len() <= 16
                && issue.links.iter().all(|link| link.url.starts_with("http"))
                && issue.comment.iter().all(is_comment)
        }
        Event::IssueDeleted { external_id } => is_line(external_id, 128),
        Event::Ignored { reason } => is_line(reason, 128),
    };
    assert!(is_in_bounds, "{delivery:?}");
    let decoded = Event::decode(&delivery.event.encode());
    assert_eq!(decoded.expect("an event"), delivery.event);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parser_accepts_any_bytes(
        provider in provider(),
        event in prop::sample::select(EVENTS),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Ok(delivery) = parse(provider, &headers(event, b"1"), &body) {
            assert_bounds(&delivery);
        }
    }

    #[test]
    fn parsed_events_are_limited_in_size(
        provider in provider(),
        event in prop_oneof![prop::sample::select(EVENTS).prop_map(str::to_owned), text()],
        id in prop::collection::vec(any::<u8>(), 0..140),
        body in body(),
    ) {
        if let Ok(delivery) = parse(provider, &headers(&event, &id), &body) {
            assert_bounds(&delivery);
        }
    }

    #[test]
    fn parser_accepts_damaged_bodies(
        provider in provider(),
        event in prop::sample::select(EVENTS),
        body in prop::sample::select(BODIES),
        cut in any::<prop::sample::Index>(),
        over in any::<(prop::sample::Index, u8)>(),
    ) {
        let mut body = body.as_bytes().to_vec();
        let at = over.0.index(body.len());
        body[at] = over.1;
        for body in [&body[..], &body[..cut.index(body.len())]] {
            if let Ok(delivery) = parse(provider, &headers(event, b"1"), body) {
                assert_bounds(&delivery);
            }
        }
    }

    #[test]
    fn random_signature_is_rejected(
        provider in provider(),
        name in prop::sample::select(CREDENTIAL_HEADERS),
        value in prop_oneof![
            "sha256=[0-9a-f]{64}",
            "v1,[a-zA-Z0-9+/]{43}=",
            "Bearer [a-z]{1,8}",
            "\\PC*",
        ],
        secrets in prop::collection::vec("[A-Z]{1,8}", 0..3),
    ) {
        let mut headers = headers("push", b"1");
        headers.insert("webhook-timestamp", HeaderValue::from_static("0"));
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
        let secrets: Vec<&[u8]> = secrets.iter().map(String::as_bytes).collect();
        prop_assume!(!secrets.contains(&value.as_bytes()));
        let now = chrono::DateTime::from_timestamp(0, 0).expect("a time");
        let verified = verify(provider, &headers, b"{}", &secrets, now);
        prop_assert!(verified.is_err());
    }
}

#[test]
fn example_bodies_are_parsed() {
    for (provider, event, body) in [
        (Provider::Github, "push", BODIES[0]),
        (Provider::Github, "delete", BODIES[0]),
        (Provider::Github, "issues", BODIES[0]),
        (Provider::Gitlab, "", BODIES[1]),
        (Provider::Gitlab, "", BODIES[2]),
        (Provider::Gitlab, "", BODIES[3]),
        (Provider::Jira, "", BODIES[4]),
        (Provider::Jira, "", BODIES[5]),
        (Provider::Redmine, "", BODIES[6]),
        (Provider::Redmine, "", BODIES[7]),
        (Provider::Youtrack, "", BODIES[8]),
        (Provider::Youtrack, "", BODIES[9]),
        (Provider::Confluence, "", BODIES[10]),
        (Provider::Github, "pull_request", BODIES[11]),
        (Provider::Github, "pull_request_review", BODIES[11]),
        (Provider::Github, "pull_request_review_comment", BODIES[11]),
        (Provider::Github, "check_run", BODIES[12]),
        (Provider::Github, "check_suite", BODIES[12]),
        (Provider::Github, "workflow_run", BODIES[12]),
        (Provider::Github, "status", BODIES[12]),
        (Provider::Github, "release", BODIES[12]),
        (Provider::Github, "issue_comment", BODIES[12]),
        (Provider::Github, "gollum", BODIES[12]),
        (Provider::Gitlab, "", BODIES[13]),
        (Provider::Gitlab, "", BODIES[14]),
        (Provider::Gitlab, "", BODIES[15]),
    ] {
        let delivery = parse(provider, &headers(event, b"1"), body.as_bytes()).expect("readable");
        assert_bounds(&delivery);
        assert!(!matches!(delivery.event, Event::Ignored { .. }), "{provider} {delivery:?}");
    }
}

#[test]
fn parser_accepts_a_deeply_nested_body() {
    let headers = headers("issues", b"1");
    let openings = [("[", "]"), (r#"{"issue":"#, "}"), (r#"{"fields":{"State":"#, "}}")];
    for (opening, closing) in openings {
        for provider in Provider::ALL {
            let open = opening.repeat(100_000);
            let event = parse(*provider, &headers, open.as_bytes()).map(|delivery| delivery.event);
            assert!(matches!(event, Err(_) | Ok(Event::Ignored { .. })), "{provider} {opening}");
            let closed = format!("{open}1{}", closing.repeat(100_000));
            if let Ok(delivery) = parse(*provider, &headers, closed.as_bytes()) {
                assert_bounds(&delivery);
            }
        }
    }
}
