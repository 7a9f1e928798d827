//! Parser of deliveries of Redmine 7 and later, and of the plugin `redmine_webhook`.

use serde::Deserialize;

use crate::delivery::{ParseError, from_json, required, required_text, unsupported};
use crate::event::{Event, Issue, field};
use crate::provider::ParsedEvent;

#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Sent by the plugin, which knows issues only.
    payload: Option<PluginAction>,
}

#[derive(Default, Deserialize)]
struct PluginAction {
    action: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PluginBody {
    payload: Data,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    issue: IssueFields,
    /// The address of the issue, sent only by the plugin.
    url: Option<String>,
}

#[derive(Default, Deserialize)]
struct IssueFields {
    id: Option<u64>,
    subject: Option<String>,
    status: Option<Status>,
    assigned_to: Option<User>,
    /// Sent by the plugin in place of `assigned_to`.
    assignee: Option<User>,
    is_private: Option<bool>,
    created_on: Option<String>,
    closed_on: Option<String>,
    updated_on: Option<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    name: Option<String>,
    is_closed: Option<bool>,
}

#[derive(Default, Deserialize)]
struct User {
    name: Option<String>,
    firstname: Option<String>,
    lastname: Option<String>,
    login: Option<String>,
}

/// The paths of an issue's id and subject, for messages.
type Paths = [&'static str; 2];

const NATIVE: Paths = ["data.issue.id", "data.issue.subject"];
const PLUGIN: Paths = ["payload.issue.id", "payload.issue.subject"];

pub(super) fn parse(body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let envelope: Envelope = from_json(body)?;
    if let Some(payload) = envelope.payload {
        let action = required_text(payload.action, "payload.action")?;
        let PluginBody { payload } = from_json(body)?;
        let event = match action.as_str() {
            "deleted" => Event::issue_deleted(external_id(&payload, PLUGIN)?)?,
            _ => issue(payload, PLUGIN)?,
        };
        return Ok((format!("issue.{action}"), event));
    }
    let name = required_text(envelope.kind, "type")?;
    let event = match name.as_str() {
        "issue.created" | "issue.updated" => issue(from_json::<Body>(body)?.data, NATIVE)?,
        "issue.deleted" => {
            Event::issue_deleted(external_id(&from_json::<Body>(body)?.data, NATIVE)?)?
        }
        _ => unsupported(&name),
    };
    Ok((name, event))
}

fn issue(data: Data, paths: Paths) -> Result<Event, ParseError> {
    let external_id = external_id(&data, paths)?;
    let Data { issue, url } = data;
    // The data from before the issue was private is no longer public.
    if issue.is_private == Some(true) {
        return Event::issue_deleted(external_id);
    }
    // A reopened issue still has the time when it was closed.
    let is_open = issue.status.as_ref().is_some_and(|status| status.is_closed == Some(false));
    let closed_on = issue.closed_on.filter(|_| !is_open);
    let issue = Issue {
        external_id,
        title: required_text(issue.subject, paths[1])?,
        status: issue.status.and_then(|status| status.name),
        assignee: issue.assigned_to.or(issue.assignee).and_then(full_name),
        labels: Vec::new(),
        links: field::links("Redmine issue", url),
        opened_at: field::optional_time(issue.created_on),
        closed_at: field::optional_time(closed_on),
        updated_at: field::optional_time(issue.updated_on.as_deref()),
        is_whole: true,
        comment: None,
    };
    Ok(Event::Issue(issue.truncated()?))
}

/// Redmine's own ids are numbers, which other trackers may have as well. Hence the prefix.
fn external_id(data: &Data, paths: Paths) -> Result<String, ParseError> {
    Ok(format!("redmine#{}", required(data.issue.id, paths[0])?))
}

fn full_name(user: User) -> Option<String> {
    let parts: Vec<String> = [user.firstname, user.lastname].into_iter().flatten().collect();
    let full = (!parts.is_empty()).then(|| parts.join(" "));
    user.name.or(full).or(user.login)
}

#[cfg(test)]
mod tests;
