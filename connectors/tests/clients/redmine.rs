use mc_connectors::client::Provider;
use mc_connectors::traits::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{
    body_json, header, method, path, path_regex, query_param, query_param_is_missing,
};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{
    TOKEN, all, authors_and_texts, check_rejects_moved_issue, connector, delivered, ids_and_texts,
};

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[tokio::test]
async fn issues_equal_those_of_webhooks() {
    let server = MockServer::start().await;
    let issue = json!({ "id": 7, "subject": "It breaks", "description": "Like so.",
        "status": { "id": 1, "name": "New" }, "author": { "id": 1, "name": "Olga" },
        "assigned_to": { "id": 2, "name": "Vera B" }, "is_private": false,
        "created_on": "2026-01-01T00:00:00Z", "closed_on": "2026-01-01T06:00:00Z",
        "updated_on": "2026-01-02T03:04:05Z" });
    let secret = json!({ "id": 8, "subject": "secret", "is_private": true,
        "updated_on": "2026-01-02T03:04:06Z" });
    Mock::given(path("/projects/shop/issues.json"))
        .and(query_param("status_id", "*"))
        .and(query_param("sort", "updated_on,id"))
        .and(header("x-redmine-api-key", TOKEN))
        .respond_with(ok(
            &json!({ "issues": [issue, secret], "total_count": 2, "offset": 0, "limit": 2 }),
        ))
        .mount(&server)
        .await;
    let detailed = json!({ "issue": { "id": 7, "journals": [
        { "id": 1, "user": { "name": "Ann" }, "notes": "Me too",
        "created_on": "2026-01-02T00:00:00Z" },
        { "id": 2, "notes": "" },
        { "id": 3, "notes": "Ours alone", "private_notes": true } ] } });
    Mock::given(path("/issues/7.json"))
        .and(query_param("include", "journals"))
        .respond_with(ok(&detailed))
        .mount(&server)
        .await;
    let tracker = connector(Provider::Redmine, &server).tracker("shop").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    let url = format!("{}/issues/7", server.uri());
    let webhook = json!({ "payload": { "action": "updated", "url": url, "issue": { "id": 7,
        "subject": "It breaks", "status": { "name": "New" }, "assigned_to": { "name": "Vera B" },
        "created_on": "2026-01-01T00:00:00Z", "closed_on": "2026-01-01T06:00:00Z",
        "updated_on": "2026-01-02T03:04:05Z" } } });
    assert_eq!(threads.len(), 1, "what is private is left out");
    assert_eq!(threads[0].issue, delivered(Provider::Redmine, None, &webhook));
    assert_eq!(authors_and_texts(&threads[0]), [("Olga", "Like so."), ("Ann", "Me too")]);
}

const SHOP: u32 = 3;

/// Moves issue 7 to a project.
async fn respond_with_project(server: &MockServer, project: u32) {
    Mock::given(method("GET"))
        .and(path("/issues/7.json"))
        .and(query_param_is_missing("include"))
        .respond_with(ok(
            &json!({ "issue": { "id": 7, "project": { "id": project, "name": "It" } } }),
        ))
        .mount(server)
        .await;
    let shop = json!({ "project": { "id": SHOP, "identifier": "shop", "name": "Shop" } });
    Mock::given(path("/projects/shop.json")).respond_with(ok(&shop)).mount(server).await;
}

#[tokio::test]
async fn no_comment_is_posted_to_a_moved_issue() {
    let server = MockServer::start().await;
    respond_with_project(&server, 4).await;
    let written = ResponseTemplate::new(204);
    Mock::given(method("PUT")).respond_with(written).expect(0).mount(&server).await;
    let other = Mock::given(path_regex("^/(users|journals)/"));
    other.respond_with(ok(&json!({}))).expect(0).mount(&server).await;
    let tracker = connector(Provider::Redmine, &server).tracker("shop").expect("a tracker");
    check_rejects_moved_issue(&*tracker, "redmine#7").await;
}

#[tokio::test]
async fn note_is_posted_and_own_notes_are_found() {
    let server = MockServer::start().await;
    respond_with_project(&server, SHOP).await;
    Mock::given(method("PUT"))
        .and(path("/issues/7.json"))
        .and(body_json(json!({ "issue": { "notes": "Known." } })))
        .respond_with(ResponseTemplate::new(204))
        .expect(1)
        .mount(&server)
        .await;
    let user = json!({ "user": { "id": 1, "login": "bot" } });
    Mock::given(path("/users/current.json")).respond_with(ok(&user)).mount(&server).await;
    // Redmine does not return the id of the note.
    let journals = json!({ "issue": { "id": 7, "journals": [
        { "id": 1, "user": { "id": 1 }, "notes": "Me too" },
        { "id": 2, "user": { "id": 1 }, "notes": "Known.", "private_notes": true },
        { "id": 3, "user": { "id": 1 }, "notes": "" },
        { "id": 4, "user": { "id": 9, "name": "bot" }, "notes": "Known." }, { "id": 5,
        "notes": "Known." } ] } });
    Mock::given(method("GET"))
        .and(path("/issues/7.json"))
        .and(query_param("include", "journals"))
        .respond_with(ok(&journals))
        .mount(&server)
        .await;
    let connector = connector(Provider::Redmine, &server);
    let tracker = connector.tracker("shop").expect("a tracker");
    let id = tracker.upsert_comment("redmine#7", None, "Known.").await;
    assert_eq!(id.as_deref(), Ok("2"));
    let own = tracker.list_own_comments("redmine#7").await.expect("notes");
    assert_eq!(ids_and_texts(&own), [("1", "Me too"), ("2", "Known.")], "others may say the same");
    assert_eq!(connector.check_access().await.as_deref(), Ok("bot"));
}

#[tokio::test]
async fn note_is_updated_when_redmine_supports_it() {
    let server = MockServer::start().await;
    respond_with_project(&server, SHOP).await;
    Mock::given(method("PUT"))
        .and(path("/journals/2.json"))
        .and(body_json(json!({ "journal": { "notes": "Known. More." } })))
        .respond_with(ResponseTemplate::new(204))
        .expect(1)
        .mount(&server)
        .await;
    let tracker = connector(Provider::Redmine, &server).tracker("shop").expect("a tracker");
    let id = tracker.upsert_comment("redmine#7", Some("2"), "Known. More.").await;
    assert_eq!(id.as_deref(), Ok("2"));
    let refused = tracker.upsert_comment("redmine#7", Some("3"), "Known. More.").await;
    let refused = refused.expect_err("there is no such thing").to_string();
    assert!(refused.contains("Redmine 5.0"), "{refused}");
}
