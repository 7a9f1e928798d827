use mc_connectors::client::Provider;
use mc_connectors::traits::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, all, authors_and_texts, connector, delivered, ids_and_texts};

const PROJECT: &str = "/api/v4/projects/group%2Fsub%2Fproject";

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[tokio::test]
async fn issues_equal_those_of_webhooks() {
    let server = MockServer::start().await;
    let issue = json!({
        "id": 900, "iid": 23, "title": "It breaks", "state": "opened", "description": "Like so.",
        "author": { "name": "Olga", "username": "olga" }, "labels": ["API"], "confidential": false,
        "assignees": [{ "name": "Vera", "username": "vera" }], "user_notes_count": 2,
        "web_url": "https://git.example.org/group/sub/project/-/issues/23",
        "references": { "short": "#23", "relative": "#23", "full": "group/sub/project#23" },
        "created_at": "2026-01-01T00:00:00.000Z", "closed_at": "2026-01-01T06:00:00.000Z",
        "updated_at": "2026-01-02T03:04:05.000Z"
    });
    let secret = json!({ "iid": 24, "title": "secret", "confidential": true,
        "updated_at": "2026-01-02T03:04:05.500Z" });
    Mock::given(method("GET"))
        .and(path(format!("{PROJECT}/issues")))
        .and(header("private-token", TOKEN))
        .and(query_param("order_by", "updated_at"))
        .and(query_param("sort", "asc"))
        .and(query_param("confidential", "false"))
        .respond_with(ok(&json!([issue, secret])))
        .mount(&server)
        .await;
    let notes = json!([
        { "id": 1, "body": "changed the label", "system": true },
        { "id": 2, "body": "Ours alone", "internal": true },
        { "id": 3, "body": "Me too", "author": { "username": "ann" },
        "updated_at": "2026-01-03T00:00:00Z" },
    ]);
    Mock::given(path(format!("{PROJECT}/issues/23/notes")))
        .respond_with(ok(&notes))
        .mount(&server)
        .await;

    let tracker =
        connector(Provider::Gitlab, &server).tracker("group/sub/project").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    let webhook = json!({ "object_kind": "issue",
        "object_attributes": { "iid": 23, "title": "It breaks", "state": "opened",
            "url": "https://git.example.org/group/sub/project/-/issues/23",
            "created_at": "2026-01-01 00:00:00 UTC", "closed_at": "2026-01-01 06:00:00 UTC",
            "updated_at": "2026-01-02 03:04:05 UTC" },
        "labels": [{ "title": "API" }], "assignees": [{ "name": "Vera" }],
        "project": { "path_with_namespace": "group/sub/project" } });
    assert_eq!(threads.len(), 1, "what is confidential is left out");
    assert_eq!(threads[0].issue, delivered(Provider::Gitlab, None, &webhook));
    assert_eq!(authors_and_texts(&threads[0]), [("olga", "Like so."), ("ann", "Me too")]);
}

#[tokio::test]
async fn notes_are_read_newest_first_and_returned_oldest_first() {
    let server = MockServer::start().await;
    let issue = json!({ "iid": 23, "title": "It breaks", "description": "Like so.",
        "user_notes_count": 101, "updated_at": "2026-01-02T03:04:05.000Z" });
    Mock::given(path(format!("{PROJECT}/issues")))
        .respond_with(ok(&json!([issue])))
        .mount(&server)
        .await;
    let note = |id: u32| json!({ "id": id, "body": "Me too" });
    // A note is posted between the requests, so the second page repeats one of the first.
    let newest: Vec<Value> = (3..=102).rev().map(note).collect();
    let rest: Vec<Value> = (1..=3).rev().map(note).collect();
    for (page, notes) in [("1", newest), ("2", rest)] {
        Mock::given(path(format!("{PROJECT}/issues/23/notes")))
            .and(query_param("sort", "desc"))
            .and(query_param("page", page))
            .respond_with(ok(&json!(notes)))
            .expect(1)
            .mount(&server)
            .await;
    }
    let tracker =
        connector(Provider::Gitlab, &server).tracker("group/sub/project").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("a page");
    let listed: Vec<&str> =
        page.items[0].comments.iter().map(|comment| comment.id.as_str()).collect();
    let numbers: Vec<String> = (1..=102).map(|id: u32| id.to_string()).collect();
    assert_eq!(listed[0], "description");
    assert_eq!(listed[1..], numbers);
    assert!(page.items[0].has_all_comments);
}

#[tokio::test]
async fn note_is_posted_and_own_notes_are_found() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path(format!("{PROJECT}/issues/23/notes")))
        .and(body_json(json!({ "body": "Known." })))
        .respond_with(ResponseTemplate::new(201).set_body_json(json!({ "id": 1 })))
        .expect(1)
        .mount(&server)
        .await;
    let user = json!({ "username": "bot", "name": "The bot" });
    Mock::given(path("/api/v4/user")).respond_with(ok(&user)).mount(&server).await;
    let connector = connector(Provider::Gitlab, &server);
    let tracker = connector.tracker("group/sub/project").expect("a tracker");
    let id = tracker.upsert_comment("group/sub/project#23", None, "Known.").await;
    assert_eq!(id.as_deref(), Ok("1"));
    Mock::given(method("PUT"))
        .and(path(format!("{PROJECT}/issues/23/notes/1")))
        .and(body_json(json!({ "body": "Known. More." })))
        .respond_with(ok(&json!({ "id": 1 })))
        .expect(1)
        .mount(&server)
        .await;
    let id = tracker.upsert_comment("group/sub/project#23", Some("1"), "Known. More.").await;
    assert_eq!(id.as_deref(), Ok("1"));
    Mock::given(method("GET"))
        .and(path(format!("{PROJECT}/issues/23/notes")))
        .respond_with(ok(&json!([
            { "id": 4, "author": { "username": "bot" }, "body": "closed", "system": true },
            { "id": 3, "author": { "username": "eve", "name": "bot" }, "body": "Known." },
            { "id": 2, "body": "Known." },
            { "id": 1, "author": { "username": "bot" }, "body": "Known.", "internal": true }])))
        .mount(&server)
        .await;
    let own = tracker.list_own_comments("group/sub/project#23").await.expect("notes");
    assert_eq!(ids_and_texts(&own), [("1", "Known.")], "others may say the same");
    assert_eq!(connector.check_access().await.as_deref(), Ok("bot"));
}

#[tokio::test]
async fn refs_are_branches_and_tags() {
    let server = MockServer::start().await;
    let project = json!({ "default_branch": "main" });
    Mock::given(path(PROJECT)).respond_with(ok(&project)).mount(&server).await;
    let branch = json!({ "name": "main", "commit": { "id": "ab" } });
    Mock::given(path(format!("{PROJECT}/repository/branches/main")))
        .respond_with(ok(&branch))
        .mount(&server)
        .await;
    let tag = json!({ "name": "v1", "target": "cd", "commit": { "id": "ef" } });
    Mock::given(path(format!("{PROJECT}/repository/tags/v1")))
        .respond_with(ok(&tag))
        .mount(&server)
        .await;
    let host = connector(Provider::Gitlab, &server).git_host("group/sub/project").expect("a host");
    for (reference, expected) in [
        (None, Some("ab")),
        (Some("main"), Some("ab")),
        (Some("refs/heads/main"), Some("ab")),
        (Some("v1"), Some("cd")),
        (Some("refs/tags/v1"), Some("cd")),
        (Some("refs/heads/gone"), None),
    ] {
        assert_eq!(
            host.resolve_ref(reference).await.expect("an answer").as_deref(),
            expected,
            "{reference:?}"
        );
    }
}

#[tokio::test]
async fn files_of_a_merge_request_have_counted_lines() {
    let server = MockServer::start().await;
    let file = |old: &str, new: &str, diff: &str| {
        json!({ "old_path": old, "new_path": new, "a_mode": "100644", "b_mode": "100644",
            "new_file": old.is_empty(), "renamed_file": !old.is_empty() && old != new,
            "deleted_file": false, "generated_file": false, "diff": diff })
    };
    let files = json!([
        file("a.rb", "a.rb", "@@ -1,2 +1,2 @@\n-old\n+new\n kept\n"),
        file("b.rb", "c.rb", ""),
        file("", "d.rb", "@@ -0,0 +1 @@\n+new\n"),
    ]);
    Mock::given(method("GET"))
        .and(path(format!("{PROJECT}/merge_requests/7/diffs")))
        .and(header("private-token", TOKEN))
        .and(query_param("page", "1"))
        .respond_with(ok(&files))
        .expect(1)
        .mount(&server)
        .await;
    let host = connector(Provider::Gitlab, &server).git_host("group/sub/project").expect("a host");
    let found = host.list_changed_files("group/sub/project!7").await.expect("files");
    assert!(found.is_complete);
    let summary: Vec<_> = found
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.change.as_str(), file.additions, file.deletions))
        .collect();
    let expected = [
        ("a.rb", "modified", Some(1), Some(1)),
        ("c.rb", "renamed", None, None),
        ("d.rb", "added", Some(1), Some(0)),
    ];
    assert_eq!(summary, expected);
    assert_eq!(found.files[1].previous_path.as_deref(), Some("b.rb"));
    assert_eq!(found.files[2].previous_path, None);
}
