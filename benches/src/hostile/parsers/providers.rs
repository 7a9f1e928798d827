//! Deliveries of webhooks, and texts of trackers and wikis.

use std::hint::black_box;

use http::{HeaderMap, HeaderValue};
use mc_connectors::testing::confluence_to_markdown;
use mc_connectors::{parse, parse_plain_git};
use mc_domain::Provider;

use super::{Parser, json_string};
use crate::growth::special;

/// Start of a document of Jira (ADF).
const ADF: &str = r#"{"type":"doc""#;

/// Returns the parsers.
pub fn parsers() -> Vec<Parser> {
    let webhook =
        |name, provider, wrap| webhook(name, provider, "issue_comment").with_wrapper(wrap);
    vec![
        self::webhook("GitHub: body", Provider::Github, "issue_comment"),
        self::webhook("GitHub: pull request", Provider::Github, "pull_request")
            .with_wrapper(github_pull_request),
        webhook("GitHub: comment", Provider::Github, github_comment),
        webhook("GitLab: note", Provider::Gitlab, gitlab_note),
        webhook("Jira: comment", Provider::Jira, jira_comment),
        webhook("Jira: document", Provider::Jira, jira_document).with(special::adf()),
        webhook("YouTrack: issue", Provider::Youtrack, youtrack_issue),
        webhook("Redmine: issue", Provider::Redmine, redmine_issue),
        webhook("Confluence: page event", Provider::Confluence, confluence_event),
        Parser::new("GitHub: form", |body| {
            let mut headers = github("issue_comment");
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert("content-type", form);
            drop(black_box(parse(Provider::Github, &headers, body.as_bytes())));
        })
        .with_wrapper(|text| format!("payload={text}")),
        Parser::new("Confluence: page", |page| drop(black_box(confluence_to_markdown(page))))
            .with(special::storage()),
        Parser::new("git URL of an integration", |text| _ = black_box(parse_plain_git(text)))
            .with_max_bytes(4_096),
    ]
}

fn webhook(name: &'static str, provider: Provider, event: &'static str) -> Parser {
    Parser::new(name, move |body| {
        drop(black_box(parse(provider, &github(event), body.as_bytes())));
    })
}

/// Returns the headers of a delivery of GitHub; other providers ignore them.
fn github(event: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("x-github-event", HeaderValue::from_static(event));
    headers
}

fn github_comment(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"action":"created","issue":{{"number":1,"title":{text},"state":"open"}},
        "comment":{{"id":1,"body":{text},"user":{{"login":"vera"}}}},
        "repository":{{"full_name":"a/b"}}}}"#
    )
}

fn github_pull_request(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"action":"opened","pull_request":{{"number":1,"title":"T","body":{text},
        "state":"open","head":{{"ref":{text}}},"base":{{"ref":"main"}},
        "user":{{"login":"vera"}}}},"repository":{{"full_name":"a/b"}}}}"#
    )
}

fn gitlab_note(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"object_kind":"note","object_attributes":{{"id":1,"noteable_type":"Issue",
        "note":{text}}},"issue":{{"iid":1,"title":{text}}},
        "project":{{"path_with_namespace":"a/b"}}}}"#
    )
}

fn jira_comment(text: &str) -> String {
    jira(&json_string(text))
}

/// Returns the comment with a document: the text itself, or one with the text in it.
fn jira_document(text: &str) -> String {
    if text.starts_with(ADF) {
        return jira(text);
    }
    let text = json_string(text);
    jira(&format!(
        r#"{ADF},"version":1,"content":[{{"type":"codeBlock","content":[
        {{"type":"text","text":{text}}}]}},{{"type":"table","content":[{{"type":"tableRow",
        "content":[{{"type":"tableCell","content":[{{"type":"text","text":{text}}}]}}]}}]}}]}}"#
    ))
}

fn jira(body: &str) -> String {
    format!(
        r#"{{"webhookEvent":"comment_created","issue":{{"key":"A-1","fields":{{"summary":"T"}}}},
        "comment":{{"id":"1","body":{body}}}}}"#
    )
}

fn youtrack_issue(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"event":"issueUpdated","idReadable":"A-1","summary":{text},"tags":[{text}],
        "changedFields":[{{"name":"State","value":{{"name":{text}}}}}]}}"#
    )
}

fn redmine_issue(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"type":"issue.updated","data":{{"issue":{{"id":1,"subject":{text},
        "status":{{"name":{text}}}}}}}}}"#
    )
}

fn confluence_event(text: &str) -> String {
    let text = json_string(text);
    format!(r#"{{"event":{text},"page":{{"id":{text}}}}}"#)
}
