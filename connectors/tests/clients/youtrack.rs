use mc_connectors::client::Provider;
use mc_connectors::traits::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, path_regex, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{
    TOKEN, all, authors_and_texts, check_rejects_moved_issue, connector, delivered, ids,
    ids_and_texts, introduce,
};

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn issue(id: &str, updated: i64) -> Value {
    json!({ "$type": "Issue", "id": "2-123", "idReadable": id, "summary": "It breaks",
        "description": "Like so.", "created": 1_767_225_600_000_i64,
        "resolved": 1_767_247_200_000_i64, "updated": updated,
        "reporter": { "login": "olga", "fullName": "Olga" }, "tags": [{ "name": "a" }],
        "customFields": [
            { "name": "Priority", "value": null }, { "name": "Points", "value": 5 },
            { "name": "State", "value": { "name": "Open" } },
            { "name": "Assignee", "value": { "login": "vera", "fullName": "Vera B" } }],
        "comments": [
            { "id": "4-1", "text": "Me too", "author": { "login": "ann" },
            "created": 1_767_323_045_000_i64 },
            { "id": "4-2", "text": "gone", "deleted": true },
            { "id": "4-3", "text": "hidden", "visibility": { "$type": "LimitedVisibility" } }] })
}

#[tokio::test]
async fn issues_equal_those_of_webhooks() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let mut secret = issue("CS-8", 1_767_323_045_000);
    secret["visibility"] = json!({ "$type": "LimitedVisibility" });
    Mock::given(path("/api/issues"))
        .and(query_param("query", "project: {CS} sort by: updated asc"))
        .and(query_param("$top", "2"))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ok(&json!([secret, issue("CS-7", 1_767_323_045_000)])))
        .expect(1)
        .mount(&server)
        .await;
    // 03:04:05 UTC is 04:04:05 in Berlin.
    Mock::given(path("/api/issues"))
        .and(query_param(
            "query",
            "project: {CS} updated: 2026-01-02T04:04:05 .. * sort by: updated asc",
        ))
        .respond_with(ok(&json!([issue("CS-9", 1_767_323_046_000)])))
        .expect(1)
        .mount(&server)
        .await;
    let tracker = connector(Provider::Youtrack, &server).tracker("CS").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    assert_eq!(ids(&threads), ["CS-7", "CS-9"], "what is limited to some is left out");
    let url = format!("{}/issue/CS-7", server.uri());
    let webhook = json!({ "event": "issueUpdated", "issue": { "idReadable": "CS-7",
        "summary": "It breaks",
        "state": "Open", "assignee": "Vera B", "tags": ["a"], "updated": 1_767_323_045_000_i64,
        "created": 1_767_225_600_000_i64, "resolved": 1_767_247_200_000_i64,
        "url": url } });
    let expected =
        mc_connectors::Issue { is_whole: true, ..delivered(Provider::Youtrack, None, &webhook) };
    assert_eq!(threads[0].issue, expected);
    assert_eq!(authors_and_texts(&threads[0]), [("Olga", "Like so."), ("ann", "Me too")]);
}

/// Gives the issue CS-7 another id.
async fn respond_with_id(server: &MockServer, id: &str) {
    Mock::given(method("GET"))
        .and(path("/api/issues/CS-7"))
        .and(query_param("fields", "idReadable"))
        .respond_with(ok(&json!({ "idReadable": id, "$type": "Issue" })))
        .mount(server)
        .await;
}

#[tokio::test]
async fn no_comment_is_posted_to_a_moved_issue() {
    let server = MockServer::start().await;
    // YouTrack accepts comments by the former id.
    respond_with_id(&server, "HELP-9").await;
    let comments = Mock::given(path_regex("^/api/issues/CS-7/comments"));
    comments.respond_with(ok(&json!({ "id": "4-9" }))).expect(0).mount(&server).await;
    let tracker = connector(Provider::Youtrack, &server).tracker("CS").expect("a tracker");
    check_rejects_moved_issue(&*tracker, "CS-7").await;
}

#[tokio::test]
async fn comment_is_posted_and_own_comments_are_found() {
    let server = MockServer::start().await;
    respond_with_id(&server, "CS-7").await;
    Mock::given(method("POST"))
        .and(path("/api/issues/CS-7/comments"))
        .and(body_json(json!({ "text": "Known." })))
        .respond_with(ok(&json!({ "id": "4-9" })))
        .expect(1)
        .mount(&server)
        .await;
    Mock::given(path("/api/users/me"))
        .respond_with(ok(&json!({ "id": "1-1", "login": "bot" })))
        .mount(&server)
        .await;
    let connector = connector(Provider::Youtrack, &server);
    let tracker = connector.tracker("CS").expect("a tracker");
    let id = tracker.upsert_comment("CS-7", None, "Known.").await;
    assert_eq!(id.as_deref(), Ok("4-9"));
    assert_eq!(connector.check_access().await.as_deref(), Ok("bot"));
    Mock::given(method("POST"))
        .and(path("/api/issues/CS-7/comments/4-9"))
        .and(body_json(json!({ "text": "Known. More." })))
        .respond_with(ok(&json!({ "id": "4-9" })))
        .expect(1)
        .mount(&server)
        .await;
    let id = tracker.upsert_comment("CS-7", Some("4-9"), "Known. More.").await;
    assert_eq!(id.as_deref(), Ok("4-9"));
    let comments = json!([
        { "id": "4-6", "text": "Known.", "author": { "id": "1-2", "login": "eve",
        "fullName": "bot" } },
        { "id": "4-7", "text": "Known." },
        { "id": "4-8", "text": "Known.", "author": { "id": "1-1" }, "deleted": true },
        { "id": "4-9", "text": "Known.", "author": { "id": "1-1" },
        "visibility": { "$type": "LimitedVisibility" } }]);
    Mock::given(method("GET"))
        .and(path("/api/issues/CS-7/comments"))
        .respond_with(ok(&comments))
        .mount(&server)
        .await;
    let own = tracker.list_own_comments("CS-7").await.expect("comments");
    assert_eq!(ids_and_texts(&own), [("4-9", "Known.")], "others may say the same");
}

#[tokio::test]
async fn list_of_ids_requests_no_texts() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let updated = 1_767_323_045_000_i64;
    let secret = json!({ "idReadable": "CS-8", "updated": updated,
        "visibility": { "$type": "LimitedVisibility" } });
    Mock::given(path("/api/issues"))
        .and(query_param("fields", "idReadable,updated,visibility($type)"))
        .respond_with(ok(&json!([{ "idReadable": "CS-7", "updated": updated }, secret])))
        .expect(1)
        .mount(&server)
        .await;
    let tracker = connector(Provider::Youtrack, &server).tracker("CS").expect("a tracker");
    let page = tracker.list_ids(&Cursor::default()).await.expect("ids");
    assert_eq!(page.items, ["CS-7"]);
}
