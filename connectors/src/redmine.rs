//! Redmine: the webhooks that it has itself since version 7, and those of the plugin `redmine_webhook`.

use serde::Deserialize;

use crate::delivery::{ParseError, needed, parse, plain, text};
use crate::event::{self, Event, Issue};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The plugin's, which tells of issues only.
    payload: Option<Action>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Action {
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
    issue: Tracked,
    /// The plugin's alone: Redmine itself doesn't say where it stands.
    url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tracked {
    id: Option<u64>,
    subject: Option<String>,
    status: Option<Status>,
    assigned_to: Option<User>,
    /// In its place with the plugin.
    assignee: Option<User>,
    is_private: Option<bool>,
    updated_on: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    name: Option<String>,
    firstname: Option<String>,
    lastname: Option<String>,
    login: Option<String>,
}

/// Where the fields stand that nothing can be said without.
struct Paths {
    id: &'static str,
    subject: &'static str,
}

const NATIVE: Paths = Paths { id: "data.issue.id", subject: "data.issue.subject" };
const PLUGIN: Paths = Paths { id: "payload.issue.id", subject: "payload.issue.subject" };

pub(crate) fn read(body: &[u8]) -> Result<(String, Event), ParseError> {
    let named: Named = parse(body)?;
    if let Some(payload) = named.payload {
        let action = text(payload.action, "payload.action")?;
        let PluginBody { payload } = parse(body)?;
        let told = match action.as_str() {
            "deleted" => gone(&payload, &PLUGIN)?,
            _ => tracked(payload, &PLUGIN)?,
        };
        return Ok((format!("issue.{action}"), told));
    }
    let name = text(named.kind, "type")?;
    let told = match name.as_str() {
        "issue.created" | "issue.updated" => tracked(parse::<Body>(body)?.data, &NATIVE)?,
        "issue.deleted" => gone(&parse::<Body>(body)?.data, &NATIVE)?,
        _ if name.starts_with("wiki_page.") => Event::ignored("wiki pages are not fetched yet"),
        _ => Event::ignored(format!("{} events are not followed", plain(&name))),
    };
    Ok((name, told))
}

fn gone(data: &Data, paths: &Paths) -> Result<Event, ParseError> {
    Event::gone(external_id(data.issue.id, paths)?)
}

fn tracked(Data { issue, url }: Data, paths: &Paths) -> Result<Event, ParseError> {
    let external_id = external_id(issue.id, paths)?;
    // What was known of it when it was not private is not everybody's any more.
    if issue.is_private == Some(true) {
        return Event::gone(external_id);
    }
    Issue {
        external_id,
        title: text(issue.subject, paths.subject)?,
        status: issue.status.and_then(|status| status.name),
        assignee: issue.assigned_to.or(issue.assignee).and_then(full_name),
        labels: Vec::new(),
        links: event::links("Redmine issue", url),
        updated_at: issue.updated_on.as_deref().and_then(event::time),
        is_whole: true,
        comment: None,
    }
    .bounded()
}

/// Redmine's own ids are numbers, which say nothing beside those of other trackers.
fn external_id(id: Option<u64>, paths: &Paths) -> Result<String, ParseError> {
    Ok(format!("redmine#{}", needed(id, paths.id)?))
}

fn full_name(user: User) -> Option<String> {
    let parts: Vec<String> = [user.firstname, user.lastname].into_iter().flatten().collect();
    let full = (!parts.is_empty()).then(|| parts.join(" "));
    user.name.or(full).or(user.login)
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

    fn expected() -> Issue {
        Issue {
            external_id: "redmine#191".to_owned(),
            title: "It breaks".to_owned(),
            status: Some("New".to_owned()),
            assignee: Some("Vera B".to_owned()),
            labels: Vec::new(),
            links: Vec::new(),
            updated_at: event::time("2026-01-02T03:04:05Z"),
            is_whole: true,
            comment: None,
        }
    }

    #[test]
    fn redmine_tells_of_an_issue() {
        let body = r#"{"type": "issue.updated", "timestamp": "2026-01-02T03:04:06Z", "data": {
            "issue": {"id": 191, "project": {"id": 1, "name": "Shop"}, "subject": "It breaks",
            "status": {"id": 1, "name": "New"}, "assigned_to": {"id": 5, "name": "Vera B"},
            "is_private": false, "updated_on": "2026-01-02T03:04:05Z"}}}"#;
        assert_eq!(told(body), Ok(("issue.updated".to_owned(), Event::Issue(expected()))));
    }

    #[test]
    fn the_plugin_tells_of_an_issue_and_where_it_is() {
        let body = r#"{"payload": {"action": "opened", "url": "https://redmine.example.org/issues/191",
            "issue": {"id": 191, "subject": "It breaks", "status": {"id": 1, "name": "New"},
            "assignee": {"login": "vera", "firstname": "Vera", "lastname": "B"},
            "updated_on": "2026-01-02T03:04:05Z"}}}"#;
        let page = "https://redmine.example.org/issues/191".to_owned();
        let issue = Issue { links: event::links("Redmine issue", Some(page)), ..expected() };
        assert_eq!(told(body), Ok(("issue.opened".to_owned(), Event::Issue(issue))));
    }

    #[test]
    fn an_issue_that_was_deleted_is_gone() {
        let gone = || Event::IssueGone { external_id: "redmine#7".to_owned() };
        let native =
            r#"{"type": "issue.deleted", "data": {"issue": {"id": 7, "is_private": true}}}"#;
        assert_eq!(told(native), Ok(("issue.deleted".to_owned(), gone())));
        let plugin = r#"{"payload": {"action": "deleted", "issue": {"id": 7}}}"#;
        assert_eq!(told(plugin), Ok(("issue.deleted".to_owned(), gone())));
    }

    #[test]
    fn a_private_issue_is_not_told() {
        let issue = r#""issue": {"id": 7, "subject": "secret", "is_private": true}"#;
        let native = format!(r#"{{"type": "issue.created", "data": {{{issue}}}}}"#);
        let gone = Event::gone("redmine#7".to_owned()).expect("an id");
        assert_eq!(told(&native).expect("readable").1, gone);
        let plugin = format!(r#"{{"payload": {{"action": "updated", {issue}}}}}"#);
        assert_eq!(told(&plugin).expect("readable").1, gone);
    }

    #[test]
    fn the_rest_is_ignored_for_a_reason() {
        let page = r#"{"type": "wiki_page.updated", "data": {"wiki_page": {}}}"#;
        assert_eq!(ignored(page), "wiki pages are not fetched yet");
        let entry = r#"{"type": "time_entry.created", "data": []}"#;
        assert_eq!(ignored(entry), "time_entry.created events are not followed");
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |body: &str| told(body).expect_err("unreadable");
        assert_eq!(missing("{}"), ParseError::Missing("type"));
        let empty = r#"{"type": "issue.created"}"#;
        assert_eq!(missing(empty), ParseError::Missing("data.issue.id"));
        let untitled = r#"{"payload": {"action": "opened", "issue": {"id": 1}}}"#;
        assert_eq!(missing(untitled), ParseError::Missing("payload.issue.subject"));
    }
}
