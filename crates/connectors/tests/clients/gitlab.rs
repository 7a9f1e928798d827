use mc_connectors::client::SystemKind;
use mc_connectors::system::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, all, delivered, system};

const PROJECT: &str = "/api/v4/projects/group%2Fsub%2Fproject";

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[tokio::test]
async fn issues_come_as_webhooks_tell_of_them() {
    let server = MockServer::start().await;
    let issue = json!({
        "id": 900, "iid": 23, "title": "It breaks", "state": "opened", "description": "Like so.",
        "author": { "name": "Olga", "username": "olga" }, "labels": ["API"], "confidential": false,
        "assignees": [{ "name": "Vera", "username": "vera" }], "user_notes_count": 2,
        "web_url": "https://git.example.org/group/sub/project/-/issues/23",
        "references": { "short": "#23", "relative": "#23", "full": "group/sub/project#23" },
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-02T03:04:05.000Z"
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
        { "id": 3, "body": "Me too", "author": { "username": "ann" }, "updated_at": "2026-01-03T00:00:00Z" },
    ]);
    Mock::given(path(format!("{PROJECT}/issues/23/notes")))
        .respond_with(ok(&notes))
        .mount(&server)
        .await;

    let tracker =
        system(SystemKind::Gitlab, &server).tracker("group/sub/project").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    let webhook = json!({ "object_kind": "issue",
        "object_attributes": { "iid": 23, "title": "It breaks", "state": "opened",
            "url": "https://git.example.org/group/sub/project/-/issues/23", "updated_at": "2026-01-02 03:04:05 UTC" },
        "labels": [{ "title": "API" }], "assignees": [{ "name": "Vera" }],
        "project": { "path_with_namespace": "group/sub/project" } });
    assert_eq!(threads.len(), 1, "what is confidential is left out");
    assert_eq!(threads[0].issue, delivered(SystemKind::Gitlab, None, &webhook));
    let said: Vec<_> =
        threads[0].comments.iter().map(|said| (&*said.author, &*said.text)).collect();
    assert_eq!(said, [("Olga", "Like so."), ("ann", "Me too")]);
}

#[tokio::test]
async fn a_note_is_written_and_who_writes_is_known() {
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
    let system = system(SystemKind::Gitlab, &server);
    let tracker = system.tracker("group/sub/project").expect("a tracker");
    tracker.comment("group/sub/project#23", "Known.").await.expect("written");
    assert_eq!(system.health().check().await.as_deref(), Ok("bot"));
}

#[tokio::test]
async fn heads_are_those_of_branches_and_tags() {
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
    let host = system(SystemKind::Gitlab, &server).git_host("group/sub/project").expect("a host");
    for (reference, expected) in [
        (None, Some("ab")),
        (Some("main"), Some("ab")),
        (Some("refs/heads/main"), Some("ab")),
        (Some("v1"), Some("cd")),
        (Some("refs/tags/v1"), Some("cd")),
        (Some("refs/heads/gone"), None),
    ] {
        assert_eq!(
            host.head(reference).await.expect("an answer").as_deref(),
            expected,
            "{reference:?}"
        );
    }
}
