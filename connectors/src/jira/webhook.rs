//! Parser of Jira's deliveries.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::adf::Text;
use super::wire::{Status, User};
use crate::delivery::{ParseError, from_json, required_text, unsupported};
use crate::event::{Comment, Event, Issue, field};
use crate::provider::ParsedEvent;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Envelope {
    webhook_event: Option<String>,
}

#[derive(Default, Deserialize)]
struct Body {
    issue: Option<IssueFields>,
    comment: Option<CommentFields>,
}

#[derive(Default, Deserialize)]
struct IssueFields {
    key: Option<String>,
    /// The address of the issue in the REST API.
    #[serde(rename = "self")]
    address: Option<String>,
    fields: Option<Fields>,
}

#[derive(Default, Deserialize)]
struct Fields {
    summary: Option<String>,
    status: Option<Status>,
    assignee: Option<User>,
    labels: Option<Vec<String>>,
    created: Option<String>,
    #[serde(rename = "resolutiondate")]
    resolved: Option<String>,
    updated: Option<String>,
    /// Present if only some users of the project may see the issue.
    security: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CommentFields {
    id: Option<String>,
    author: Option<User>,
    /// Text in Jira's own markup, or in some versions a document (ADF).
    body: Option<Text>,
    created: Option<String>,
    updated: Option<String>,
    /// Present if only some readers of the issue may see the comment.
    visibility: Option<IgnoredAny>,
    /// False if the customers of a service desk may not see the comment.
    jsd_public: Option<bool>,
}

pub(super) fn parse(body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let envelope: Envelope = from_json(body)?;
    let name = required_text(envelope.webhook_event, "webhookEvent")?;
    let event = match name.as_str() {
        "jira:issue_created" | "jira:issue_updated" => issue(from_json(body)?, true, None)?,
        "comment_created" | "comment_updated" => comment_event(from_json(body)?, false)?,
        "comment_deleted" => comment_event(from_json(body)?, true)?,
        "jira:issue_deleted" => {
            let body: Body = from_json(body)?;
            let key = body.issue.unwrap_or_default().key;
            Event::issue_deleted(required_text(key, "issue.key")?)?
        }
        _ => unsupported(&name),
    };
    Ok((name, event))
}

/// Data Center sends comments without the issue, or with some of its fields.
fn comment_event(mut body: Body, is_deleted: bool) -> Result<Event, ParseError> {
    let fields = body.issue.as_ref().and_then(|issue| issue.fields.as_ref());
    if fields.is_some_and(|fields| fields.summary.is_some() || fields.security.is_some()) {
        let comment = body.comment.as_mut().and_then(|fields| fields.comment(is_deleted));
        issue(body, false, comment)
    } else {
        Ok(Event::ignored("the comment came without its issue"))
    }
}

fn issue(body: Body, is_whole: bool, comment: Option<Comment>) -> Result<Event, ParseError> {
    let issue = body.issue.unwrap_or_default();
    let fields = issue.fields.unwrap_or_default();
    let key = required_text(issue.key, "issue.key")?;
    // An issue that is not public counts as deleted.
    if fields.security.is_some() {
        return Event::issue_deleted(key);
    }
    // The issue of a comment may lack its time. The comment changed the issue at its own time.
    let updated = fields.updated.or(body.comment.and_then(|comment| comment.updated));
    let page = issue.address.and_then(|address| page_url(&address, &key));
    let issue = Issue {
        title: required_text(fields.summary, "issue.fields.summary")?,
        status: fields.status.and_then(|status| status.name),
        assignee: fields.assignee.as_ref().and_then(User::shown_name),
        labels: fields.labels.unwrap_or_default(),
        links: field::links("Jira issue", page),
        opened_at: field::optional_time(fields.created),
        closed_at: field::optional_time(fields.resolved),
        updated_at: field::optional_time(updated.as_deref()),
        is_whole,
        comment,
        external_id: key,
    };
    Ok(Event::Issue(issue.truncated()?))
}

impl CommentFields {
    /// Returns the comment. One that not every reader of the issue may see counts as deleted.
    fn comment(&mut self, is_deleted: bool) -> Option<Comment> {
        let is_internal = self.visibility.is_some() || self.jsd_public == Some(false);
        let sent_at = field::optional_time(self.created.take());
        Some(Comment {
            id: self.id.take()?,
            author: self.author.as_ref().and_then(User::shown_name),
            text: self.body.as_ref().map(Text::to_markdown).unwrap_or_default(),
            sent_at,
            updated_at: field::optional_time(self.updated.clone()).or(sent_at),
            is_deleted: is_deleted || is_internal,
        })
    }
}

/// Returns the page of an issue from its address in the REST API, whose host may have a path.
fn page_url(address: &str, key: &str) -> Option<String> {
    let (base, _) = address.split_once("/rest/")?;
    Some(format!("{base}/browse/{key}"))
}

#[cfg(test)]
mod tests;
