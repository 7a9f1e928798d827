use mc_connectors::client::{ConnectorConfig, Provider};
use mc_connectors::traits::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{
    body_json, header, method, path, path_regex, query_param, query_param_is_missing,
};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{
    TOKEN, all, authors_and_texts, check_rejects_moved_issue, config, connector, delivered, ids,
    ids_and_texts, introduce,
};

const FIRST: &str = r#"project = "CS" ORDER BY updated ASC, key ASC"#;

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn issue(server: &MockServer, key: &str, updated: &str) -> Value {
    json!({ "id": "1", "key": key, "self": format!("{}/rest/api/2/issue/1", server.uri()),
        "fields": {
        "summary": "It breaks", "status": { "name": "In Progress" },
        "assignee": { "name": "vera", "displayName": "Vera B" },
        "creator": { "displayName": "Olga" },
        "labels": ["a", "b"], "description": "Like so.", "security": null,
        "created": "2026-01-01T00:00:00.000+0000",
        "resolutiondate": "2026-01-01T06:00:00.000+0000", "updated": updated } })
}

#[tokio::test]
async fn data_center_search_has_offsets_and_the_users_zone() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let one = issue(&server, "CS-214", "2026-01-02T03:04:05.000+0000");
    let mut secret = issue(&server, "CS-215", "2026-01-02T03:05:05.000+0000");
    secret["fields"]["security"] = json!({ "id": "10" });
    Mock::given(path("/rest/api/2/search"))
        .and(query_param("jql", FIRST))
        .and(query_param("startAt", "0"))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ok(
            &json!({ "startAt": 0, "maxResults": 2, "total": 3, "issues": [one, secret] }),
        ))
        .expect(1)
        .mount(&server)
        .await;
    // The last issue changed at 03:05 UTC, which is 04:05 in Berlin.
    let rest = r#"project = "CS" AND updated >= "2026-01-02 04:05" ORDER BY updated ASC, key ASC"#;
    let last = issue(&server, "CS-3", "2026-01-02T05:00:00.000+0000");
    Mock::given(path("/rest/api/2/search"))
        .and(query_param("jql", rest))
        .respond_with(ok(
            &json!({ "startAt": 0, "maxResults": 2, "total": 2, "issues": [secret, last] }),
        ))
        .expect(1)
        .mount(&server)
        .await;
    let comments = json!({ "total": 3, "comments": [
        { "id": "1", "author": { "displayName": "Ann" }, "body": "Me too",
        "updated": "2026-01-03T00:00:00.000+0000" },
        { "id": "2", "body": "hidden", "visibility": { "type": "role" } },
        { "id": "3", "body": "internal", "jsdPublic": false } ] });
    for key in ["CS-214", "CS-3"] {
        Mock::given(path(format!("/rest/api/2/issue/{key}/comment")))
            .respond_with(ok(&comments))
            .mount(&server)
            .await;
    }

    let tracker = connector(Provider::Jira, &server).tracker("CS").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    assert_eq!(ids(&threads), ["CS-214", "CS-3"], "what has a security level is left out");
    let webhook = json!({ "webhookEvent": "jira:issue_updated", "issue": one });
    assert_eq!(threads[0].issue, delivered(Provider::Jira, None, &webhook));
    assert_eq!(authors_and_texts(&threads[0]), [("Olga", "Like so."), ("Ann", "Me too")]);
}

#[tokio::test]
async fn comments_are_read_newest_first_and_returned_oldest_first() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let one = issue(&server, "CS-214", "2026-01-02T03:04:05.000+0000");
    Mock::given(path("/rest/api/2/search"))
        .respond_with(ok(&json!({ "total": 1, "issues": [one] })))
        .mount(&server)
        .await;
    let comment = |id: u32| json!({ "id": id.to_string(), "body": "Me too" });
    for page in 0..10 {
        let newest = 1_050 - page * 100;
        let comments: Vec<Value> = (newest - 99..=newest).rev().map(comment).collect();
        Mock::given(path("/rest/api/2/issue/CS-214/comment"))
            .and(query_param("orderBy", "-created"))
            .and(query_param("startAt", (page * 100).to_string()))
            .respond_with(ok(&json!({ "total": 1_050, "comments": comments })))
            .expect(1)
            .mount(&server)
            .await;
    }
    let tracker = connector(Provider::Jira, &server).tracker("CS").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("a page");
    let listed: Vec<&str> =
        page.items[0].comments.iter().map(|comment| comment.id.as_str()).collect();
    assert_eq!((listed[0], listed[1], listed.len()), ("description", "51", 1_001));
    assert_eq!(listed.last(), Some(&"1050"));
    assert!(!page.items[0].has_all_comments);
}

/// Makes the server an instance of Cloud.
async fn cloud(server: &MockServer) -> mc_connectors::client::Connector {
    let info = json!({ "deploymentType": "Cloud" });
    Mock::given(path("/rest/api/2/serverInfo")).respond_with(ok(&info)).mount(server).await;
    let me = json!({ "accountId": "5b10", "displayName": "Bot", "timeZone": "UTC" });
    Mock::given(path("/rest/api/3/myself")).respond_with(ok(&me)).mount(server).await;
    let settings = ConnectorConfig {
        user: Some("bot@example.org".to_owned()),
        ..config(Provider::Jira, &server.uri())
    };
    mc_connectors::client::Connector::new(settings).expect("a valid config")
}

#[tokio::test]
async fn cloud_search_has_tokens_and_documents() {
    let server = MockServer::start().await;
    let connector = cloud(&server).await;
    let mut page = Vec::new();
    for key in ["CS-1", "CS-2", "CS-3"] {
        let mut issue = issue(&server, key, "2026-01-02T03:04:05.000+0000");
        issue["fields"]["description"] = json!({ "type": "doc", "version": 1, "content": [
            { "type": "paragraph", "content": [{ "type": "text", "text": "Like so." }] }] });
        page.push(issue);
    }
    let search = || Mock::given(path("/rest/api/3/search/jql"));
    // All issues changed in one minute, so the sync continues by the token.
    search()
        .and(header("authorization", "Basic Ym90QGV4YW1wbGUub3JnOnMzY3JldC10MGtlbg=="))
        .and(query_param_is_missing("nextPageToken"))
        .respond_with(ok(&json!({ "issues": page[..2], "nextPageToken": "t1" })))
        .mount(&server)
        .await;
    search()
        .and(query_param("nextPageToken", "t1"))
        .respond_with(ok(&json!({ "issues": page[2..], "isLast": true })))
        .mount(&server)
        .await;
    let none = json!({ "total": 0, "comments": [] });
    for key in ["CS-1", "CS-2", "CS-3"] {
        Mock::given(path(format!("/rest/api/3/issue/{key}/comment")))
            .respond_with(ok(&none))
            .mount(&server)
            .await;
    }
    let tracker = connector.tracker("CS").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    assert_eq!(ids(&threads), ["CS-1", "CS-2", "CS-3"]);
    assert!(threads.iter().all(|thread| thread.comments[0].text == "Like so."));
    assert_eq!(connector.check_access().await.as_deref(), Ok("Bot"));
}

/// Gives the issue CS-214 another key.
async fn respond_with_key(server: &MockServer, api: u8, key: &str) {
    let found =
        json!({ "id": "1", "key": key, "fields": { "updated": "2026-01-02T03:04:05.000+0000" } });
    Mock::given(method("GET"))
        .and(path(format!("/rest/api/{api}/issue/CS-214")))
        .respond_with(ok(&found))
        .mount(server)
        .await;
}

fn document(text: &str) -> Value {
    json!({ "type": "doc", "version": 1, "content": [
        { "type": "paragraph", "content": [{ "type": "text", "text": text }] }] })
}

/// The body of a posted comment, hidden from the customers of a service desk.
fn internal(body: &Value) -> Value {
    json!({ "body": body, "properties": [{ "key": "sd.public.comment",
        "value": { "internal": true } }] })
}

#[tokio::test]
async fn comment_is_posted_as_an_internal_document() {
    let server = MockServer::start().await;
    let connector = cloud(&server).await;
    respond_with_key(&server, 3, "CS-214").await;
    Mock::given(method("POST"))
        .and(path("/rest/api/3/issue/CS-214/comment"))
        .and(body_json(internal(&document("Known."))))
        .respond_with(ResponseTemplate::new(201).set_body_json(json!({ "id": "1" })))
        .expect(1)
        .mount(&server)
        .await;
    let tracker = connector.tracker("CS").expect("a tracker");
    let id = tracker.upsert_comment("CS-214", None, "Known.").await;
    assert_eq!(id.as_deref(), Ok("1"));
    assert!(tracker.upsert_comment("OTHER-1", None, "Known.").await.is_err());
    Mock::given(method("PUT"))
        .and(path("/rest/api/3/issue/CS-214/comment/1"))
        .and(body_json(internal(&document("Known. More."))))
        .respond_with(ok(&json!({ "id": "1" })))
        .expect(1)
        .mount(&server)
        .await;
    let id = tracker.upsert_comment("CS-214", Some("1"), "Known. More.").await;
    assert_eq!(id.as_deref(), Ok("1"));
}

#[tokio::test]
async fn own_internal_comments_are_found_by_their_author() {
    let server = MockServer::start().await;
    let connector = cloud(&server).await;
    respond_with_key(&server, 3, "CS-214").await;
    let comments = json!({ "total": 3, "comments": [
        { "id": "1", "author": { "accountId": "5b10" }, "body": document("Known."),
        "jsdPublic": false },
        { "id": "2", "author": { "accountId": "6c20", "displayName": "Bot" },
        "body": document("Known.") },
        { "id": "3", "body": document("Known.") } ] });
    Mock::given(method("GET"))
        .and(path("/rest/api/3/issue/CS-214/comment"))
        .respond_with(ok(&comments))
        .mount(&server)
        .await;
    let tracker = connector.tracker("CS").expect("a tracker");
    let own = tracker.list_own_comments("CS-214").await.expect("comments");
    assert_eq!(ids_and_texts(&own), [("1", "Known.")], "others may say the same");
}

#[tokio::test]
async fn no_comment_is_posted_to_a_moved_issue() {
    let server = MockServer::start().await;
    let connector = cloud(&server).await;
    // Jira accepts comments by the former key.
    respond_with_key(&server, 3, "HELP-9").await;
    let comments = Mock::given(path_regex("^/rest/api/3/issue/CS-214/comment"));
    let taken = json!({ "id": "1", "total": 0, "comments": [] });
    comments.respond_with(ok(&taken)).expect(0).mount(&server).await;
    check_rejects_moved_issue(&*connector.tracker("CS").expect("a tracker"), "CS-214").await;
}

#[tokio::test]
async fn data_center_identifies_users_by_key() {
    let server = MockServer::start().await;
    let info = json!({ "deploymentType": "Server" });
    Mock::given(path("/rest/api/2/serverInfo")).respond_with(ok(&info)).mount(&server).await;
    respond_with_key(&server, 2, "CS-214").await;
    let me = json!({ "key": "JIRAUSER1", "name": "bot" });
    Mock::given(path("/rest/api/2/myself")).respond_with(ok(&me)).mount(&server).await;
    let comments = json!({ "total": 2, "comments": [
        { "id": "1", "author": { "key": "JIRAUSER1", "name": "renamed" }, "body": "Known." },
        { "id": "2", "author": { "key": "JIRAUSER2", "name": "bot" }, "body": "Known." } ] });
    Mock::given(path("/rest/api/2/issue/CS-214/comment"))
        .respond_with(ok(&comments))
        .mount(&server)
        .await;
    let tracker = connector(Provider::Jira, &server).tracker("CS").expect("a tracker");
    let own = tracker.list_own_comments("CS-214").await.expect("comments");
    assert_eq!(ids_and_texts(&own), [("1", "Known.")]);
}

#[tokio::test]
async fn list_of_ids_requests_no_texts() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let seen = json!({ "key": "CS-1", "fields": { "updated": "2026-01-02T03:04:05.000+0000" } });
    let mut secret = seen.clone();
    secret["key"] = json!("CS-2");
    secret["fields"]["security"] = json!({ "id": "1" });
    Mock::given(path("/rest/api/2/search"))
        .and(query_param("fields", "security,updated"))
        .respond_with(ok(&json!({ "issues": [seen, secret], "total": 2 })))
        .expect(1)
        .mount(&server)
        .await;
    let tracker = connector(Provider::Jira, &server).tracker("CS").expect("a tracker");
    let page = tracker.list_ids(&Cursor::default()).await.expect("ids");
    assert_eq!((page.items, page.is_last), (vec!["CS-1".to_owned()], true));
}

#[tokio::test]
async fn wrong_token_is_not_an_empty_project() {
    let server = MockServer::start().await;
    let info = json!({ "deploymentType": "Cloud" });
    Mock::given(path("/rest/api/2/serverInfo")).respond_with(ok(&info)).mount(&server).await;
    Mock::given(path("/rest/api/3/myself"))
        .respond_with(ResponseTemplate::new(401))
        .mount(&server)
        .await;
    Mock::given(path("/rest/api/3/search/jql"))
        .respond_with(ok(&json!({ "issues": [], "isLast": true })))
        .expect(0)
        .mount(&server)
        .await;
    let tracker = connector(Provider::Jira, &server).tracker("CS").expect("a tracker");
    assert!(tracker.list_ids(&Cursor::default()).await.is_err());
}

#[tokio::test]
async fn expired_page_token_restarts_the_list() {
    let server = MockServer::start().await;
    let connector = cloud(&server).await;
    let stale =
        Mock::given(path("/rest/api/3/search/jql")).and(query_param("nextPageToken", "old"));
    stale.respond_with(ResponseTemplate::new(400)).expect(1).mount(&server).await;
    let page = json!({ "issues": [issue(&server, "CS-1", "2026-01-02T03:04:05.000+0000")] });
    let anew =
        Mock::given(path("/rest/api/3/search/jql")).and(query_param_is_missing("nextPageToken"));
    anew.respond_with(ok(&page)).expect(1).mount(&server).await;
    let tracker = connector.tracker("CS").expect("a tracker");
    let cursor = Cursor(json!({ "since": null, "marker": { "token": "old" } }));
    let page = tracker.list_changed(&cursor, false).await.expect("a page");
    assert_eq!(ids(&page.items), ["CS-1"]);
}
