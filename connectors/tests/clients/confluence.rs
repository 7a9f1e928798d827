use mc_connectors::client::{Error, Provider};
use mc_connectors::traits::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{header, path, query_param, query_param_contains, query_param_is_missing};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, all_pages, connector, introduce};

const SEARCH: &str = "/rest/api/content/search";
const FIRST: &str = r#"space = "CS" and type = page order by lastmodified asc"#;

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// Restricts a page to one group, or not at all.
fn readers(group: Option<&str>) -> Value {
    let groups: Vec<Value> = group.into_iter().map(|name| json!({ "name": name })).collect();
    json!({ "read": { "restrictions": { "user": { "results": [] },
        "group": { "results": groups } } } })
}

fn page(id: &str, when: &str) -> Value {
    json!({ "id": id, "type": "page", "status": "current", "title": "ADR 7: Queues",
        "version": { "number": 3, "when": when },
        "body": { "storage": { "value": "<h2>Status</h2><p>Accepted</p>",
        "representation": "storage" } },
        "ancestors": [{ "id": "1", "title": "Home", "restrictions": readers(None) },
            { "id": "2", "title": "Decisions", "restrictions": readers(None) }],
        "metadata": { "labels": { "results": [{ "prefix": "global", "name": "adr" }] } },
        "children": { "attachment": { "results": [{ "title": "plan.png" }] } },
        "restrictions": readers(None),
        "_links": { "webui": "/spaces/CS/pages/77/ADR+7" } })
}

#[tokio::test]
async fn page_has_labels_ancestors_and_attachments() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let mut secret = page("78", "2026-01-02T03:04:06.000Z");
    secret["restrictions"] = readers(Some("hr"));
    let found =
        json!({ "results": [page("77", "2026-01-02T03:04:05.000Z"), secret], "_links": {} });
    Mock::given(path(SEARCH))
        .and(query_param("cql", FIRST))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ok(&found))
        .mount(&server)
        .await;
    let wiki = connector(Provider::Confluence, &server).wiki("CS").expect("a wiki");
    let (pages, cursor) = all_pages(&*wiki).await;
    let [page] = &pages[..] else { panic!("what is restricted is left out: {pages:?}") };
    assert_eq!((page.id.as_str(), page.title.as_str()), ("77", "ADR 7: Queues"));
    assert_eq!(page.body.to_markdown(), "## Status\n\nAccepted");
    assert_eq!(page.url, format!("{}/spaces/CS/pages/77/ADR+7", server.uri()));
    assert_eq!(
        (&page.labels[..], &page.path[..]),
        (&["adr".to_owned()][..], &["Home".to_owned(), "Decisions".to_owned()][..])
    );
    assert_eq!(page.attachments, ["plan.png"]);
    assert_ne!(cursor, Cursor::default());
    assert_eq!(wiki.list_ids(&Cursor::default()).await.expect("ids").items, ["77"]);
}

/// Returns the ids of the synced pages, and checks that the list of ids is equal.
async fn shown(server: &MockServer, pages: &[Value]) -> Vec<String> {
    introduce(server).await;
    let found = json!({ "results": pages, "_links": {} });
    Mock::given(path(SEARCH))
        .and(query_param_contains("expand", "ancestors.restrictions.read.restrictions.group"))
        .respond_with(ok(&found))
        .mount(server)
        .await;
    let wiki = connector(Provider::Confluence, server).wiki("CS").expect("a wiki");
    let (pages, _) = all_pages(&*wiki).await;
    let shown: Vec<String> = pages.into_iter().map(|page| page.id).collect();
    assert_eq!(wiki.list_ids(&Cursor::default()).await.expect("ids").items, shown);
    shown
}

#[tokio::test]
async fn pages_below_a_restricted_page_are_left_out() {
    let server = MockServer::start().await;
    let open = page("77", "2026-01-02T03:04:05.000Z");
    let mut below = page("78", "2026-01-02T03:04:06.000Z");
    below["ancestors"][0]["restrictions"] = readers(Some("hr"));
    assert_eq!(shown(&server, &[open, below]).await, ["77"]);
}

#[tokio::test]
async fn restrictions_missing_in_the_list_are_read_once() {
    let server = MockServer::start().await;
    for (id, restrictions) in [("1", readers(None)), ("2", readers(Some("hr"))), ("3", json!({}))] {
        Mock::given(path(format!("/rest/api/content/{id}")))
            .and(query_param(
                "expand",
                "restrictions.read.restrictions.user,restrictions.read.restrictions.group",
            ))
            .respond_with(ok(&json!({ "id": id, "restrictions": restrictions })))
            .expect(1)
            .mount(&server)
            .await;
    }
    // Page 4 has no restrictions in the response, and an ancestor of page 80 has no id.
    let above = |id: &str, number: &str| {
        let mut page = page(id, "2026-01-02T03:04:05.000Z");
        page["ancestors"] = json!([{ "id": "1", "title": "Home" }, { "id": number }]);
        page
    };
    let mut unknown = above("80", "1");
    unknown["ancestors"][1] = json!({ "title": "Somewhere" });
    let mut own = page("81", "2026-01-02T03:04:05.000Z");
    own["id"] = json!("3");
    own["restrictions"] = json!({ "read": { "restrictions": { "user": { "results": [] } } } });
    let pages =
        [above("76", "1"), above("77", "2"), above("78", "2"), above("79", "4"), unknown, own];
    assert_eq!(shown(&server, &pages).await, ["76"]);
}

#[tokio::test]
async fn next_page_is_where_the_response_says() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let at = "2026-01-02T03:04:05.000Z";
    let next = format!("{SEARCH}?cql=anything&cursor=c%2B1&limit=2");
    let first = json!({ "results": [page("1", at), page("2", at)], "_links": { "next": next } });
    Mock::given(path(SEARCH))
        .and(query_param_is_missing("cursor"))
        .respond_with(ok(&first))
        .mount(&server)
        .await;
    let rest = json!({ "results": [page("3", at)], "_links": {} });
    Mock::given(path(SEARCH))
        .and(query_param("cursor", "c+1"))
        .respond_with(ok(&rest))
        .mount(&server)
        .await;
    let wiki = connector(Provider::Confluence, &server).wiki("CS").expect("a wiki");
    let (pages, _) = all_pages(&*wiki).await;
    let ids: Vec<&str> = pages.iter().map(|page| page.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn wrong_token_is_not_an_empty_space() {
    let server = MockServer::start().await;
    let anonymous = json!({ "type": "anonymous", "displayName": "Anonymous" });
    Mock::given(path("/rest/api/user/current")).respond_with(ok(&anonymous)).mount(&server).await;
    let none = json!({ "results": [], "_links": {} });
    Mock::given(path(SEARCH)).respond_with(ok(&none)).expect(0).mount(&server).await;
    let wiki = connector(Provider::Confluence, &server).wiki("CS").expect("a wiki");
    let refused = wiki.list_ids(&Cursor::default()).await.expect_err("refused");
    assert!(refused.to_string().contains("is wrong or has expired"), "{refused}");
}

#[tokio::test]
async fn hidden_space_is_not_an_empty_space() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let none = json!({ "results": [], "_links": {} });
    Mock::given(path(SEARCH)).respond_with(ok(&none)).mount(&server).await;
    let wiki = connector(Provider::Confluence, &server).wiki("CS").expect("a wiki");
    let missing = wiki.list_ids(&Cursor::default()).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}
