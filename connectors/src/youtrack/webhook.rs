//! Parser of deliveries of `YouTrack`: of its webhook app, and of scripts with any fields.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::{Visibility, is_limited};
use crate::delivery::{ParseError, from_json, required_text};
use crate::event::{Event, Issue, field};
use crate::provider::ParsedEvent;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    #[serde(deserialize_with = "loose")]
    event: Option<String>,
    /// The event type of some scripts, and the type of the issue of others.
    #[serde(rename = "type", deserialize_with = "loose")]
    kind: Option<String>,
    #[serde(deserialize_with = "loose")]
    timestamp: Option<Timestamp>,
    /// Without it, the body itself is the issue.
    issue: Option<IssueFields>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct IssueFields {
    id_readable: Option<String>,
    /// Makes the readable id, together with the project's name, if `id` is the database's.
    #[serde(deserialize_with = "loose")]
    number_in_project: Option<u64>,
    #[serde(deserialize_with = "loose")]
    project: Option<Project>,
    id: Option<String>,
    summary: Option<String>,
    state: Option<Value>,
    #[serde(rename = "State")]
    state_field: Option<Value>,
    assignee: Option<Value>,
    #[serde(deserialize_with = "loose")]
    fields: Option<BTreeMap<String, Value>>,
    #[serde(deserialize_with = "loose")]
    changed_fields: Option<Vec<ChangedField>>,
    #[serde(deserialize_with = "loose")]
    tags: Option<Vec<Value>>,
    #[serde(deserialize_with = "loose")]
    created: Option<Timestamp>,
    #[serde(deserialize_with = "loose")]
    resolved: Option<Timestamp>,
    #[serde(deserialize_with = "loose")]
    updated: Option<Timestamp>,
    url: Option<String>,
    /// Sent by scripts that request it.
    #[serde(deserialize_with = "loose")]
    visibility: Option<Visibility>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Project {
    short_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct ChangedField {
    name: Option<String>,
    value: Option<Value>,
}

/// A value: its name, or an object with the name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Named(Entity),
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entity {
    full_name: Option<String>,
    name: Option<String>,
    login: Option<String>,
}

/// A time in milliseconds or as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Timestamp {
    Millis(i64),
    Text(String),
}

/// The paths of an issue's id and summary, for messages.
const NESTED: [&str; 2] = ["issue.idReadable", "issue.summary"];
const ROOT: [&str; 2] = ["idReadable", "summary"];

pub(super) fn parse(body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let Body { event, kind, timestamp, issue } = from_json(body)?;
    let name = event.or(kind).unwrap_or_else(|| "issue".to_owned());
    let (issue, paths) = match issue {
        Some(issue) => (issue, NESTED),
        None => (from_json(body)?, ROOT),
    };
    let event = issue_event(&letters(&name), issue, timestamp, paths)?;
    Ok((name, event))
}

fn issue_event(
    name: &str,
    issue: IssueFields,
    timestamp: Option<Timestamp>,
    [id_path, summary_path]: [&'static str; 2],
) -> Result<Event, ParseError> {
    let composed = composed_id(issue.project, issue.number_in_project);
    let readable = issue.id_readable.filter(|id| !id.is_empty()).or(composed);
    let external_id = required_text(readable.or(issue.id), id_path)?;
    let is_deleted = matches!(name, "deleted" | "removed" | "issuedeleted" | "issueremoved");
    // An issue that is not public counts as deleted.
    if is_deleted || is_limited(issue.visibility.as_ref()) {
        return Event::issue_deleted(external_id);
    }
    let mut fields = issue.fields.unwrap_or_default();
    for change in issue.changed_fields.unwrap_or_default() {
        if let (Some(name), Some(value)) = (change.name, change.value) {
            fields.entry(name).or_insert(value);
        }
    }
    let states = [issue.state, issue.state_field, fields.remove("State")];
    let assignees = [issue.assignee, fields.remove("Assignee")];
    let tags = issue.tags.unwrap_or_default().into_iter();
    let issue = Issue {
        external_id,
        title: required_text(issue.summary, summary_path)?,
        status: states.into_iter().flatten().find_map(Value::text),
        assignee: assignees.into_iter().flatten().find_map(Value::text),
        labels: tags.filter_map(Value::text).collect(),
        links: field::links("YouTrack issue", issue.url),
        opened_at: issue.created.and_then(Timestamp::time),
        closed_at: issue.resolved.and_then(Timestamp::time),
        updated_at: issue.updated.or(timestamp).and_then(Timestamp::time),
        // The app sends the state only if it changed, and scripts send any fields.
        is_whole: false,
        comment: None,
    };
    Ok(Event::Issue(issue.truncated()?))
}

fn composed_id(project: Option<Project>, number: Option<u64>) -> Option<String> {
    Some(format!("{}-{}", project?.short_name?, number?))
}

/// Returns the letters of a name: `issueDeleted` and `ISSUE_DELETED` are equal.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

/// Reads a field of an unexpected type as absent: the issue is useful without it.
fn loose<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Loose<T> {
        Known(T),
        Other(IgnoredAny),
    }

    Ok(match Loose::deserialize(deserializer)? {
        Loose::Known(value) => Some(value),
        Loose::Other(IgnoredAny) => None,
    })
}

impl Value {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Named(entity) => entity.full_name.or(entity.name).or(entity.login),
            Self::Other(IgnoredAny) => None,
        }
    }
}

impl Timestamp {
    fn time(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Millis(millis) => DateTime::from_timestamp_millis(millis),
            Self::Text(text) => field::time(&text),
        }
    }
}

#[cfg(test)]
mod tests;
