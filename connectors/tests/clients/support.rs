//! Systems on this machine, and what tests ask them for.

use std::time::Duration;

use http::HeaderMap;
use mc_connectors::client::{Connector, ConnectorConfig, Error, Limits, Provider, Token};
use mc_connectors::traits::{Cursor, IssueWithComments, Page, Tracker, WikiPage};
use mc_connectors::{Comment, Event, Issue, read};
use serde_json::Value;
use wiremock::matchers::{any, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub const TOKEN: &str = "s3cret-t0ken";

/// The system's settings, as patient as tests are.
pub fn settings(kind: Provider, url: &str) -> ConnectorConfig {
    ConnectorConfig {
        name: "ours".to_owned(),
        kind,
        url: url.parse().expect("a URL"),
        user: None,
        token: Some(Token::from(TOKEN.to_owned())),
        limits: Limits {
            retry_delay: Duration::from_millis(5),
            longest_wait: Duration::from_secs(1),
            request_timeout: Duration::from_secs(10),
            page_size: 2,
            ..Limits::default()
        },
    }
}

pub fn system(kind: Provider, server: &MockServer) -> Connector {
    Connector::new(settings(kind, &server.uri())).expect("settings")
}

/// What is there of such a system, by name.
pub fn what(kind: Provider) -> &'static str {
    match kind {
        Provider::Github => "octocat/hello",
        Provider::Gitlab => "group/sub/project",
        Provider::Jira | Provider::Youtrack | Provider::Confluence => "CS",
        Provider::Redmine => "shop",
    }
}

/// Answers what a client asks beside the lists: what the system is, and as whom it is asked, in Berlin.
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

/// Everything else is answered so.
pub async fn answer(server: &MockServer, answer: ResponseTemplate) {
    Mock::given(any()).respond_with(answer).with_priority(5).mount(server).await;
}

/// Asks for the first page of whatever it has.
pub async fn first(system: &Connector) -> Result<Page<IssueWithComments>, Error> {
    let what = what(system.kind());
    if system.kind() == Provider::Confluence {
        let page = system.wiki(what)?.changed(&Cursor::default()).await?;
        return Ok(Page { items: Vec::new(), next: page.next, is_last: page.is_last });
    }
    system.tracker(what)?.list_changed(&Cursor::default(), false).await
}

/// Nothing is said about an issue that has left for another project, nor is it looked for there.
pub async fn refuses_what_has_left(tracker: &dyn Tracker, issue: &str) {
    let refusals = [
        tracker.list_own_comments(issue).await.err(),
        tracker.comment(issue, None, "Known.").await.err(),
        tracker.comment(issue, Some("1"), "Known. More.").await.err(),
    ];
    for refused in refusals {
        assert!(matches!(refused, Some(Error::Moved { .. })), "{refused:?}");
    }
}

/// All that changed, page by page; each cursor goes through JSON, as it would through a database.
pub async fn all(
    tracker: &dyn Tracker,
    since: Cursor,
    include_comments: bool,
) -> (Vec<IssueWithComments>, Cursor) {
    let (mut threads, mut cursor) = (Vec::new(), since);
    for _ in 0..100 {
        let page = tracker.list_changed(&cursor, include_comments).await.expect("a page");
        threads.extend(page.items);
        let written = serde_json::to_string(&page.next).expect("JSON");
        cursor = serde_json::from_str(&written).expect("a cursor");
        if page.is_last {
            return (threads, cursor);
        }
    }
    panic!("it has no end");
}

/// The same of a wiki.
pub async fn all_pages(wiki: &dyn mc_connectors::traits::Wiki) -> (Vec<WikiPage>, Cursor) {
    let (mut pages, mut cursor) = (Vec::new(), Cursor::default());
    for _ in 0..100 {
        let page = wiki.changed(&cursor).await.expect("a page");
        pages.extend(page.items);
        cursor = page.next;
        if page.is_last {
            return (pages, cursor);
        }
    }
    panic!("it has no end");
}

/// What the reader of the system's webhooks makes of a delivery.
pub fn delivered(kind: Provider, event: Option<&'static str>, body: &Value) -> Issue {
    let mut headers = HeaderMap::new();
    if let Some(event) = event {
        headers.insert("x-github-event", event.parse().expect("a header's value"));
    }
    let delivery = read(kind, &headers, body.to_string().as_bytes()).expect("readable");
    match delivery.event {
        Event::Issue(issue) => issue,
        other => panic!("{other:?}"),
    }
}

/// Who said what of an issue.
pub fn said(of: &IssueWithComments) -> Vec<(&str, &str)> {
    let said = of.comments.iter();
    said.map(|one| (one.author.as_deref().unwrap_or_default(), one.text.as_str())).collect()
}

/// Which comments say what.
pub fn texts(comments: &[Comment]) -> Vec<(&str, &str)> {
    comments.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect()
}

pub fn ids(threads: &[IssueWithComments]) -> Vec<&str> {
    threads.iter().map(|thread| thread.issue.external_id.as_str()).collect()
}
