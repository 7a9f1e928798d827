//! Jira, Cloud and Data Center.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::text::adf;
use crate::comment::Comment as Said;
use crate::delivery::{ParseError, parse, plain, text};
use crate::event::{self, Event, Issue};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Named {
    webhook_event: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    issue: Option<Tracked>,
    comment: Option<Comment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tracked {
    key: Option<String>,
    /// The issue in the REST API.
    #[serde(rename = "self")]
    address: Option<String>,
    fields: Option<Fields>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    summary: Option<String>,
    status: Option<Status>,
    assignee: Option<User>,
    labels: Option<Vec<String>>,
    updated: Option<String>,
    /// There where not everybody in the project may see the issue.
    security: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct User {
    display_name: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Comment {
    id: Option<String>,
    author: Option<User>,
    /// Text in Jira's own markup; of some versions a tree.
    body: Option<Value>,
    created: Option<String>,
    updated: Option<String>,
    /// There where not everybody who sees the issue may see it.
    visibility: Option<IgnoredAny>,
    /// False where customers may not.
    jsd_public: Option<bool>,
}

pub(crate) fn read(body: &[u8]) -> Result<(String, Event), ParseError> {
    let named: Named = parse(body)?;
    let name = text(named.webhook_event, "webhookEvent")?;
    let told = match name.as_str() {
        "jira:issue_created" | "jira:issue_updated" => tracked(parse(body)?, true, None)?,
        "comment_created" | "comment_updated" => commented(parse(body)?, false)?,
        "comment_deleted" => commented(parse(body)?, true)?,
        "jira:issue_deleted" => gone(parse(body)?)?,
        _ if name.starts_with("sprint_") => Event::ignored("sprints are not followed"),
        _ => Event::ignored(format!("{} events are not followed", plain(&name))),
    };
    Ok((name, told))
}

/// Data Center sends comments without the issue, or with some of it.
fn commented(mut body: Body, is_deleted: bool) -> Result<Event, ParseError> {
    let fields = body.issue.as_ref().and_then(|issue| issue.fields.as_ref());
    if fields.is_some_and(|fields| fields.summary.is_some() || fields.security.is_some()) {
        let said = body.comment.as_mut().and_then(|comment| comment.told(is_deleted));
        tracked(body, false, said)
    } else {
        Ok(Event::ignored("the comment came without its issue"))
    }
}

fn tracked(body: Body, is_whole: bool, said: Option<Said>) -> Result<Event, ParseError> {
    let issue = body.issue.unwrap_or_default();
    let fields = issue.fields.unwrap_or_default();
    let key = text(issue.key, "issue.key")?;
    // What is for some alone is as good as gone.
    if fields.security.is_some() {
        return Event::gone(key);
    }
    // An issue that comes with a comment lacks some of its fields. Its time is the comment's, which changed the issue.
    let updated = fields.updated.or(body.comment.and_then(|comment| comment.updated));
    Issue {
        title: text(fields.summary, "issue.fields.summary")?,
        status: fields.status.and_then(|status| status.name),
        assignee: fields.assignee.and_then(|user| user.display_name.or(user.name)),
        labels: fields.labels.unwrap_or_default(),
        links: event::links("Jira issue", issue.address.and_then(|address| page(&address, &key))),
        updated_at: updated.as_deref().and_then(event::time),
        is_whole,
        comment: said,
        external_id: key,
    }
    .bounded()
}

fn gone(body: Body) -> Result<Event, ParseError> {
    Event::gone(text(body.issue.unwrap_or_default().key, "issue.key")?)
}

impl Comment {
    /// What it says, unless that is not for everybody who sees the issue: then it is as good as gone.
    fn told(&mut self, is_deleted: bool) -> Option<Said> {
        let is_internal = self.visibility.is_some() || self.jsd_public == Some(false);
        let sent_at = self.created.as_deref().and_then(event::time);
        Some(Said {
            id: self.id.take()?,
            author: self.author.take().and_then(|user| user.display_name.or(user.name)),
            text: self.body.as_ref().map(adf::markdown).unwrap_or_default(),
            sent_at,
            updated_at: self.updated.as_deref().and_then(event::time).or(sent_at),
            is_deleted: is_deleted || is_internal,
        })
    }
}

/// What people open, beside the REST API. Data Center may stand below a path of its host.
fn page(address: &str, key: &str) -> Option<String> {
    let (base, _) = address.split_once("/rest/")?;
    Some(format!("{base}/browse/{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> Result<(String, Event), ParseError> {
        read(body.as_bytes())
    }

    fn ignored(body: &str) -> String {
        match told(body) {
            Ok((_, Event::Ignored { reason })) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_issue_is_told_with_what_it_is_now() {
        let body = r#"{"webhookEvent": "jira:issue_updated", "timestamp": 1767323045000,
            "issue": {"id": "1", "key": "CS-214", "self": "https://jira.example.org/rest/api/2/issue/1",
            "fields": {"summary": "It breaks", "status": {"name": "In Progress"},
            "assignee": {"name": "vera", "displayName": "Vera B"}, "labels": ["a", "b"],
            "updated": "2026-01-02T03:04:05.000+0000"}}}"#;
        let issue = Event::Issue(Issue {
            external_id: "CS-214".to_owned(),
            title: "It breaks".to_owned(),
            status: Some("In Progress".to_owned()),
            assignee: Some("Vera B".to_owned()),
            labels: vec!["a".to_owned(), "b".to_owned()],
            links: event::links(
                "Jira issue",
                Some("https://jira.example.org/browse/CS-214".to_owned()),
            ),
            updated_at: event::time("2026-01-02T03:04:05Z"),
            is_whole: true,
            comment: None,
        });
        assert_eq!(told(body), Ok(("jira:issue_updated".to_owned(), issue)));
    }

    #[test]
    fn nobody_and_nothing_are_said_as_null() {
        let body = r#"{"webhookEvent": "jira:issue_created", "issue": {"key": "A-1",
            "fields": {"summary": "T", "status": null, "assignee": null, "labels": null}}}"#;
        let Ok((_, Event::Issue(issue))) = told(body) else { panic!("no issue") };
        assert_eq!((issue.status, issue.assignee, issue.links), (None, None, Vec::new()));
    }

    #[test]
    fn a_comment_tells_of_its_issue_where_it_comes_with_it() {
        let body = r#"{"webhookEvent": "comment_created",
            "comment": {"updated": "2026-01-02T03:04:05.000+0000"},
            "issue": {"key": "A-1", "fields": {"summary": "T"}}}"#;
        let Ok((_, Event::Issue(issue))) = told(body) else { panic!("no issue") };
        assert_eq!(issue.updated_at, event::time("2026-01-02T03:04:05Z"));
        for alone in [
            r#"{"webhookEvent": "comment_created", "comment": {"id": "1"}}"#,
            r#"{"webhookEvent": "comment_updated", "issue": {"key": "A-1"}}"#,
            r#"{"webhookEvent": "comment_deleted", "issue": {"key": "A-1", "fields": {}}}"#,
        ] {
            assert_eq!(ignored(alone), "the comment came without its issue");
        }
    }

    #[test]
    fn what_a_comment_says_is_told_unless_it_is_for_some_alone() {
        let comment = |name: &str, rest: &str| {
            let body = format!(
                r#"{{"webhookEvent": "{name}", "comment": {{"id": "7", "body": "Since May.", {rest}
                "author": {{"displayName": "Vera B"}}, "created": "2026-01-02T03:04:05.000+0000"}},
                "issue": {{"key": "A-1", "fields": {{"summary": "T"}}}}}}"#
            );
            let Ok((_, Event::Issue(issue))) = told(&body) else { panic!("no issue") };
            issue.comment.expect("a comment")
        };
        let said = comment("comment_created", "");
        assert_eq!((said.id.as_str(), said.text.as_str()), ("7", "Since May."));
        assert_eq!((said.author.as_deref(), said.is_deleted), (Some("Vera B"), false));
        assert_eq!(said.updated_at, event::time("2026-01-02T03:04:05Z"));
        assert!(comment("comment_deleted", "").is_deleted);
        for some in
            [r#""visibility": {"type": "role", "value": "Staff"},"#, r#""jsdPublic": false,"#]
        {
            let said = comment("comment_updated", some);
            assert_eq!((said.is_deleted, said.text.as_str()), (true, ""), "{some}");
        }
    }

    #[test]
    fn a_comment_that_is_a_tree_says_what_its_text_says() {
        let body = r#"{"webhookEvent": "comment_created", "comment": {"id": "7", "body": {"type": "doc",
            "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Since May."}]}]}},
            "issue": {"key": "A-1", "fields": {"summary": "T"}}}"#;
        let Ok((_, Event::Issue(issue))) = told(body) else { panic!("no issue") };
        let said = issue.comment.expect("a comment");
        assert_eq!((said.text.as_str(), said.is_deleted), ("Since May.", false));
    }

    #[test]
    fn an_issue_for_some_alone_is_gone_whatever_is_told_of_it() {
        let issue = |name: &str, fields: &str| {
            let body = format!(
                r#"{{"webhookEvent": "{name}", "comment": {{"id": "7", "body": "Since May."}},
                "issue": {{"key": "A-1", "fields": {{{fields}}}}}}}"#
            );
            told(&body).expect("readable").1
        };
        let gone = Event::IssueGone { external_id: "A-1".to_owned() };
        let secret = r#""summary": "T", "security": {"id": "10", "name": "Staff"}"#;
        let events =
            ["jira:issue_created", "jira:issue_updated", "comment_created", "comment_deleted"];
        for name in events {
            assert_eq!(issue(name, secret), gone, "{name}");
        }
        assert_eq!(issue("comment_updated", r#""security": {"id": "10"}"#), gone);
        let open = issue("jira:issue_updated", r#""summary": "T", "security": null"#);
        assert!(matches!(open, Event::Issue(_)), "{open:?}");
    }

    #[test]
    fn a_deleted_issue_is_gone() {
        let body = r#"{"webhookEvent": "jira:issue_deleted", "issue": {"key": "A-1"}}"#;
        let gone = Event::IssueGone { external_id: "A-1".to_owned() };
        assert_eq!(told(body), Ok(("jira:issue_deleted".to_owned(), gone)));
    }

    #[test]
    fn the_page_stands_beside_the_api() {
        let at = |address: &str| page(address, "A-1");
        let below = at("http://example.org:8080/jira/rest/api/2/issue/1");
        assert_eq!(below.as_deref(), Some("http://example.org:8080/jira/browse/A-1"));
        assert_eq!(at("https://example.org/issue/1"), None);
    }

    #[test]
    fn the_rest_is_ignored_for_a_reason() {
        assert_eq!(ignored(r#"{"webhookEvent": "sprint_started"}"#), "sprints are not followed");
        let released = r#"{"webhookEvent": "jira:version_released", "issue": 5}"#;
        assert_eq!(ignored(released), "jira:version_released events are not followed");
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |body: &str| told(body).expect_err("unreadable");
        let keyless = r#"{"webhookEvent": "jira:issue_deleted"}"#;
        assert_eq!(missing(keyless), ParseError::Missing("issue.key"));
        let untitled = r#"{"webhookEvent": "jira:issue_updated", "issue": {"key": "A-1"}}"#;
        assert_eq!(missing(untitled), ParseError::Missing("issue.fields.summary"));
    }
}
