use mc_connectors::client::{Error, SystemKind};
use mc_connectors::system::Cursor;
use serde_json::{Value, json};
use wiremock::matchers::{header, path, query_param, query_param_is_missing};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, all_pages, introduce, system};

const SEARCH: &str = "/rest/api/content/search";
const FIRST: &str = r#"space = "CS" and type = page order by lastmodified asc"#;

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn page(id: &str, when: &str) -> Value {
    json!({ "id": id, "type": "page", "status": "current", "title": "ADR 7: Queues",
        "version": { "number": 3, "when": when },
        "body": { "storage": { "value": "<h2>Status</h2><p>Accepted</p>", "representation": "storage" } },
        "ancestors": [{ "id": "1", "title": "Home" }, { "id": "2", "title": "Decisions" }],
        "metadata": { "labels": { "results": [{ "prefix": "global", "name": "adr" }] } },
        "children": { "attachment": { "results": [{ "title": "plan.png" }] } },
        "restrictions": { "read": { "restrictions": { "user": { "results": [] }, "group": { "results": [] } } } },
        "_links": { "webui": "/spaces/CS/pages/77/ADR+7" } })
}

#[tokio::test]
async fn a_page_comes_with_all_that_belongs_to_it() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let mut secret = page("78", "2026-01-02T03:04:06.000Z");
    secret["restrictions"]["read"]["restrictions"]["group"]["results"] = json!([{ "name": "hr" }]);
    let found =
        json!({ "results": [page("77", "2026-01-02T03:04:05.000Z"), secret], "_links": {} });
    Mock::given(path(SEARCH))
        .and(query_param("cql", FIRST))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ok(&found))
        .mount(&server)
        .await;
    let wiki = system(SystemKind::Confluence, &server).wiki("CS").expect("a wiki");
    let (pages, cursor) = all_pages(&*wiki).await;
    let [page] = &pages[..] else { panic!("what is restricted is left out: {pages:?}") };
    assert_eq!((page.id.as_str(), page.title.as_str()), ("77", "ADR 7: Queues"));
    assert_eq!(page.markdown, "## Status\n\nAccepted");
    assert_eq!(page.url, format!("{}/spaces/CS/pages/77/ADR+7", server.uri()));
    assert_eq!(
        (&page.labels[..], &page.path[..]),
        (&["adr".to_owned()][..], &["Home".to_owned(), "Decisions".to_owned()][..])
    );
    assert_eq!(page.attachments, ["plan.png"]);
    assert_ne!(cursor, Cursor::default());
    assert_eq!(wiki.ids(&Cursor::default()).await.expect("ids").items, ["77"]);
}

#[tokio::test]
async fn the_rest_is_where_the_answer_says() {
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
    let wiki = system(SystemKind::Confluence, &server).wiki("CS").expect("a wiki");
    let (pages, _) = all_pages(&*wiki).await;
    let ids: Vec<&str> = pages.iter().map(|page| page.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_wrong_token_is_not_taken_for_an_empty_space() {
    let server = MockServer::start().await;
    let nobody = json!({ "type": "anonymous", "displayName": "Anonymous" });
    Mock::given(path("/rest/api/user/current")).respond_with(ok(&nobody)).mount(&server).await;
    let none = json!({ "results": [], "_links": {} });
    Mock::given(path(SEARCH)).respond_with(ok(&none)).expect(0).mount(&server).await;
    let wiki = system(SystemKind::Confluence, &server).wiki("CS").expect("a wiki");
    let refused = wiki.ids(&Cursor::default()).await.expect_err("refused");
    assert!(refused.to_string().contains("is wrong or has expired"), "{refused}");
}

#[tokio::test]
async fn a_space_that_nobody_sees_is_not_taken_for_an_empty_one() {
    let server = MockServer::start().await;
    introduce(&server).await;
    let none = json!({ "results": [], "_links": {} });
    Mock::given(path(SEARCH)).respond_with(ok(&none)).mount(&server).await;
    let wiki = system(SystemKind::Confluence, &server).wiki("CS").expect("a wiki");
    let gone = wiki.ids(&Cursor::default()).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
}
