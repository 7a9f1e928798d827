//! `YouTrack`: its app Webhook Triggers, and workflow scripts, whose authors choose what they send.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::delivery::{ParseError, parse, text};
use crate::event::{self, Event, Issue};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    #[serde(deserialize_with = "loose")]
    event: Option<String>,
    /// In its place with some scripts; with others the issue's type.
    #[serde(rename = "type", deserialize_with = "loose")]
    kind: Option<String>,
    #[serde(deserialize_with = "loose")]
    timestamp: Option<Moment>,
    /// Without it the body itself is the issue.
    issue: Option<Tracked>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tracked {
    id_readable: Option<String>,
    /// With the project's, the readable id, where only the database's comes along.
    #[serde(deserialize_with = "loose")]
    number_in_project: Option<u64>,
    #[serde(deserialize_with = "loose")]
    project: Option<Project>,
    id: Option<String>,
    summary: Option<String>,
    state: Option<Word>,
    #[serde(rename = "State")]
    state_field: Option<Word>,
    assignee: Option<Word>,
    #[serde(deserialize_with = "loose")]
    fields: Option<BTreeMap<String, Word>>,
    #[serde(deserialize_with = "loose")]
    changed_fields: Option<Vec<Change>>,
    #[serde(deserialize_with = "loose")]
    tags: Option<Vec<Word>>,
    #[serde(deserialize_with = "loose")]
    updated: Option<Moment>,
    url: Option<String>,
    /// Sent by those scripts that ask for it.
    #[serde(deserialize_with = "loose")]
    visibility: Option<Visibility>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Visibility {
    #[serde(rename = "$type")]
    kind: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Project {
    short_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    name: Option<String>,
    value: Option<Word>,
}

/// A value that is written as its name or as what bears the name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
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

/// A time in milliseconds, or written out.
#[derive(Deserialize)]
#[serde(untagged)]
enum Moment {
    Millis(i64),
    Text(String),
}

/// Where the fields stand that nothing can be said without.
struct Paths {
    id: &'static str,
    summary: &'static str,
}

const NESTED: Paths = Paths { id: "issue.idReadable", summary: "issue.summary" };
const ROOT: Paths = Paths { id: "idReadable", summary: "summary" };

/// The type of a visibility that not everybody has.
pub(crate) const LIMITED: &str = "LimitedVisibility";

pub(crate) fn read(body: &[u8]) -> Result<(String, Event), ParseError> {
    let Body { event, kind, timestamp, issue } = parse(body)?;
    let name = event.or(kind).unwrap_or_else(|| "issue".to_owned());
    let (issue, paths) = match issue {
        Some(issue) => (issue, NESTED),
        None => (parse(body)?, ROOT),
    };
    let told = told(&letters(&name), issue, timestamp, &paths)?;
    Ok((name, told))
}

fn told(
    name: &str,
    issue: Tracked,
    timestamp: Option<Moment>,
    paths: &Paths,
) -> Result<Event, ParseError> {
    let composed = composed_id(issue.project, issue.number_in_project);
    let readable = issue.id_readable.filter(|id| !id.is_empty()).or(composed);
    let external_id = text(readable.or(issue.id), paths.id)?;
    let is_deleted = matches!(name, "deleted" | "removed" | "issuedeleted" | "issueremoved");
    let visibility = issue.visibility.and_then(|visibility| visibility.kind);
    // What is for some alone is as good as gone.
    if is_deleted || visibility.as_deref() == Some(LIMITED) {
        return Event::gone(external_id);
    }
    let mut fields = issue.fields.unwrap_or_default();
    for change in issue.changed_fields.unwrap_or_default() {
        if let (Some(name), Some(value)) = (change.name, change.value) {
            fields.entry(name).or_insert(value);
        }
    }
    let said = [issue.state, issue.state_field, fields.remove("State")];
    let status = said.into_iter().flatten().find_map(Word::text);
    let assignees = [issue.assignee, fields.remove("Assignee")];
    let tags = issue.tags.unwrap_or_default().into_iter();
    Issue {
        external_id,
        title: text(issue.summary, paths.summary)?,
        status,
        assignee: assignees.into_iter().flatten().find_map(Word::text),
        labels: tags.filter_map(Word::text).collect(),
        links: event::links("YouTrack issue", issue.url),
        updated_at: issue.updated.or(timestamp).and_then(Moment::time),
        // The app sends the state where that changed, and scripts what they like.
        is_whole: false,
        comment: None,
    }
    .bounded()
}

fn composed_id(project: Option<Project>, number: Option<u64>) -> Option<String> {
    Some(format!("{}-{}", project?.short_name?, number?))
}

/// `issueDeleted`, `issue.deleted` and `ISSUE_DELETED` are one.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

/// What has another shape than expected counts as not said, where an issue is worth having without.
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

impl Word {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Named(entity) => entity.full_name.or(entity.name).or(entity.login),
            Self::Other(IgnoredAny) => None,
        }
    }
}

impl Moment {
    fn time(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Millis(millis) => DateTime::from_timestamp_millis(millis),
            Self::Text(text) => event::time(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> Result<(String, Event), ParseError> {
        read(body.as_bytes())
    }

    fn issue(body: &str) -> Issue {
        match told(body) {
            Ok((_, Event::Issue(issue))) => issue,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_app_tells_of_an_issue() {
        let created = r#"{"event": "issueCreated", "timestamp": "2026-01-02T03:04:05.000Z",
            "id": "2-123", "numberInProject": 7, "summary": "It breaks",
            "project": {"id": "0-1", "name": "Shop", "shortName": "SP"}}"#;
        let expected = Issue {
            external_id: "SP-7".to_owned(),
            title: "It breaks".to_owned(),
            status: None,
            assignee: None,
            labels: Vec::new(),
            links: Vec::new(),
            updated_at: event::time("2026-01-02T03:04:05Z"),
            is_whole: false,
            comment: None,
        };
        let expected = Ok(("issueCreated".to_owned(), Event::Issue(expected)));
        assert_eq!(told(created), expected);
    }

    #[test]
    fn the_app_tells_of_a_state_as_a_change() {
        let updated = issue(
            r#"{"event": "issueUpdated", "id": "SP-7", "summary": "T", "updated": 1767323045000,
            "changedFields": [{"name": "State", "oldValue": null, "value": {"name": "Done"}},
            {"name": "Assignee", "value": {"login": "vera", "fullName": "Vera B"}}]}"#,
        );
        assert_eq!(updated.status.as_deref(), Some("Done"));
        assert_eq!(updated.assignee.as_deref(), Some("Vera B"));
        assert_eq!(updated.updated_at, event::time("2026-01-02T03:04:05Z"));
    }

    #[test]
    fn a_script_may_write_an_issue_as_it_likes() {
        let nested = issue(
            r#"{"type": "issueUpdated", "issue": {"id": "2-123", "idReadable": "SP-7",
            "summary": "T", "fields": {"State": {"name": "Open"}, "Points": 5, "Team": null},
            "assignee": {"login": "vera"}, "tags": [{"name": "a"}, "b", 5],
            "url": "https://youtrack.example.org/issue/SP-7"}}"#,
        );
        assert_eq!(nested.external_id, "SP-7");
        assert_eq!(nested.status.as_deref(), Some("Open"));
        assert_eq!(nested.assignee.as_deref(), Some("vera"));
        assert_eq!(nested.labels, ["a", "b"]);
        assert_eq!(nested.links.len(), 1);

        let flat = issue(
            r#"{"idReadable": "", "id": "SP-7", "summary": "T", "State": "Open",
            "assignee": "vera", "type": {"name": "Bug"}, "fields": [{"name": "State"}],
            "tags": "none", "project": "Shop", "updated": {}}"#,
        );
        assert_eq!(flat.external_id, "SP-7");
        assert_eq!(flat.status.as_deref(), Some("Open"));
        assert_eq!(flat.assignee.as_deref(), Some("vera"));
        assert_eq!((flat.labels.len(), flat.updated_at), (0, None));
    }

    #[test]
    fn only_a_deleted_issue_is_gone() {
        for event in ["issueDeleted", "issue.deleted", "ISSUE_DELETED", "deleted", "removed"] {
            let body = format!(r#"{{"event": "{event}", "idReadable": "SP-7"}}"#);
            let gone = Event::IssueGone { external_id: "SP-7".to_owned() };
            assert_eq!(told(&body), Ok((event.to_owned(), gone)));
        }
        for event in ["commentDeleted", "workItemDeleted", "issueAttachmentDeleted"] {
            let body = format!(r#"{{"event": "{event}", "id": "SP-7", "summary": "T"}}"#);
            assert!(!issue(&body).is_whole, "{event}");
        }
    }

    #[test]
    fn an_issue_for_some_alone_is_gone() {
        let seen_by = |visibility: &str| {
            let fields =
                format!(r#""idReadable": "SP-7", "summary": "T", "visibility": {visibility}"#);
            [format!("{{{fields}}}"), format!(r#"{{"issue": {{{fields}}}}}"#)]
                .map(|body| told(&body).expect("readable").1)
        };
        let gone = Event::IssueGone { external_id: "SP-7".to_owned() };
        let limited = r#"{"$type": "LimitedVisibility", "permittedGroups": [{"name": "Staff"}]}"#;
        assert_eq!(seen_by(limited), [gone.clone(), gone]);
        for open in [r#"{"$type": "UnlimitedVisibility"}"#, "null", r#""public""#, "{}"] {
            let told = seen_by(open);
            assert!(told.iter().all(|event| matches!(event, Event::Issue(_))), "{open}: {told:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |body: &str| told(body).expect_err("unreadable");
        assert_eq!(missing("{}"), ParseError::Missing("idReadable"));
        assert_eq!(missing(r#"{"issue": {}}"#), ParseError::Missing("issue.idReadable"));
        assert_eq!(missing(r#"{"id": "SP-7"}"#), ParseError::Missing("summary"));
    }
}
