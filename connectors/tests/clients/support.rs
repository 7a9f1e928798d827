//! Providers on this machine, and requests to them.

use std::time::Duration;

use http::HeaderMap;
use mc_connectors::client::{Connector, ConnectorConfig, Error, Limits, Provider};
use mc_connectors::traits::{Cursor, IssueWithComments, Page, Tracker, WikiPage};
use mc_connectors::{Comment, Event, Issue, parse};
use serde_json::Value;
use wiremock::matchers::{any, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub const TOKEN: &str = "s3cret-t0ken";

/// A configuration with short delays.
pub fn config(kind: Provider, url: &str) -> ConnectorConfig {
    ConnectorConfig {
        name: "ours".to_owned(),
        kind,
        url: url.parse().expect("a URL"),
        user: None,
        token: Some(TOKEN.into()),
        limits: Limits {
            retry_delay: Duration::from_millis(5),
            longest_wait: Duration::from_secs(1),
            request_timeout: Duration::from_secs(10),
            page_size: 2,
            ..Limits::default()
        },
    }
}

pub fn connector(kind: Provider, server: &MockServer) -> Connector {
    Connector::new(config(kind, &server.uri())).expect("a valid config")
}

/// The name of a resource of the provider.
pub fn resource(kind: Provider) -> &'static str {
    match kind {
        Provider::Github => "octocat/hello",
        Provider::Gitlab => "group/sub/project",
        Provider::Jira | Provider::Youtrack | Provider::Confluence => "CS",
        Provider::Redmine => "shop",
    }
}

/// Responds to requests other than lists: for the edition, and for the user, who is in Berlin.
pub async fn introduce(server: &MockServer) {
    let berlin = "Europe/Berlin";
    let answers = [
        ("/rest/api/2/serverInfo", serde_json::json!({ "deploymentType": "Server" })),
        ("/rest/api/2/myself", serde_json::json!({ "displayName": "Vera", "timeZone": berlin })),
        ("/rest/api/user/current", serde_json::json!({ "type": "known", "timeZone": berlin })),
        ("/api/users/me/profiles/general", serde_json::json!({ "timezone": { "id": berlin } })),
    ];
    for (place, body) in answers {
        let answer = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(method("GET"))
            .and(path(place))
            .respond_with(answer)
            .with_priority(1)
            .mount(server)
            .await;
    }
}

/// Responds to all other requests.
pub async fn answer(server: &MockServer, answer: ResponseTemplate) {
    Mock::given(any()).respond_with(answer).with_priority(5).mount(server).await;
}

/// Reads the first page of a list.
pub async fn first(connector: &Connector) -> Result<Page<IssueWithComments>, Error> {
    let resource = resource(connector.kind());
    if connector.kind() == Provider::Confluence {
        let page = connector.wiki(resource)?.list_changed(&Cursor::default()).await?;
        return Ok(Page { items: Vec::new(), next: page.next, is_last: page.is_last });
    }
    connector.tracker(resource)?.list_changed(&Cursor::default(), false).await
}

/// Checks that nothing is posted to a moved issue, nor read of it.
pub async fn check_rejects_moved_issue(tracker: &dyn Tracker, issue: &str) {
    let results = [
        tracker.list_own_comments(issue).await.err(),
        tracker.upsert_comment(issue, None, "Known.").await.err(),
        tracker.upsert_comment(issue, Some("1"), "Known. More.").await.err(),
    ];
    for error in results {
        assert!(matches!(error, Some(Error::ResourceMoved { .. })), "{error:?}");
    }
}

/// Reads all changes page by page. Each cursor goes through JSON, as it does through the database.
pub async fn all(
    tracker: &dyn Tracker,
    since: Cursor,
    include_comments: bool,
) -> (Vec<IssueWithComments>, Cursor) {
    let (mut issues, mut cursor) = (Vec::new(), since);
    for _ in 0..100 {
        let page = tracker.list_changed(&cursor, include_comments).await.expect("a page");
        issues.extend(page.items);
        let written = serde_json::to_string(&page.next).expect("JSON");
        cursor = serde_json::from_str(&written).expect("a cursor");
        if page.is_last {
            return (issues, cursor);
        }
    }
    panic!("the list does not end");
}

/// Reads all pages of a wiki.
pub async fn all_pages(wiki: &dyn mc_connectors::traits::Wiki) -> (Vec<WikiPage>, Cursor) {
    let (mut pages, mut cursor) = (Vec::new(), Cursor::default());
    for _ in 0..100 {
        let page = wiki.list_changed(&cursor).await.expect("a page");
        pages.extend(page.items);
        cursor = page.next;
        if page.is_last {
            return (pages, cursor);
        }
    }
    panic!("the list does not end");
}

/// Returns the issue of a delivery.
pub fn delivered(kind: Provider, event: Option<&'static str>, body: &Value) -> Issue {
    let mut headers = HeaderMap::new();
    if let Some(event) = event {
        headers.insert("x-github-event", event.parse().expect("a header's value"));
    }
    let delivery = parse(kind, &headers, body.to_string().as_bytes()).expect("readable");
    match delivery.event {
        Event::Issue(issue) => issue,
        other => panic!("{other:?}"),
    }
}

/// Returns authors and texts of the comments on an issue.
pub fn authors_and_texts(issue: &IssueWithComments) -> Vec<(&str, &str)> {
    let comments = issue.comments.iter();
    comments
        .map(|comment| (comment.author.as_deref().unwrap_or_default(), comment.text.as_str()))
        .collect()
}

/// Returns ids and texts of comments.
pub fn ids_and_texts(comments: &[Comment]) -> Vec<(&str, &str)> {
    comments.iter().map(|comment| (comment.id.as_str(), comment.text.as_str())).collect()
}

pub fn ids(threads: &[IssueWithComments]) -> Vec<&str> {
    threads.iter().map(|thread| thread.issue.external_id.as_str()).collect()
}
