//! GitLab: hooks of projects and groups, and system hooks.

use http::HeaderMap;
use serde::Deserialize;

use crate::delivery::{Unreadable, header, needed, parse, plain, text};
use crate::event::{self, Event, Issue, Push};

const MERGE_REQUESTS: &str = "merge requests are not followed yet";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    object_kind: Option<String>,
    /// In its place with system hooks.
    event_name: Option<String>,
    event_type: Option<String>,
    object_attributes: Option<Action>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Action {
    action: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PushBody {
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IssueBody {
    object_attributes: Tracked,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    labels: Option<Vec<Label>>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NoteBody {
    object_attributes: Note,
    issue: Option<Tracked>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Note {
    noteable_type: Option<String>,
    url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Project {
    path_with_namespace: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
    default_branch: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tracked {
    iid: Option<u64>,
    title: Option<String>,
    state: Option<String>,
    confidential: Option<bool>,
    labels: Option<Vec<Label>>,
    url: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    name: Option<String>,
    username: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Label {
    title: Option<String>,
}

pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<(String, Event), Unreadable> {
    let named: Named = parse(body)?;
    let is_confidential = is_confidential(headers, named.event_type.as_deref());
    let kind = text(named.object_kind.or(named.event_name), "object_kind")?;
    let told = match kind.as_str() {
        "push" | "tag_push" => pushed(parse(body)?)?,
        "issue" => tracked(parse(body)?, is_confidential)?,
        "note" if is_confidential => Event::ignored("the issue or the note is confidential"),
        "note" => noted(parse(body)?)?,
        _ => Event::ignored(why_ignored(&kind)),
    };
    let name = match named.object_attributes.and_then(|object| object.action) {
        Some(action) => format!("{kind}.{action}"),
        None => kind,
    };
    Ok((name, told))
}

/// Older versions say so by the kind of the hook alone.
fn is_confidential(headers: &HeaderMap, event_type: Option<&str>) -> bool {
    let said = [header(headers, "X-Gitlab-Event"), event_type];
    said.into_iter().flatten().any(|kind| kind.to_ascii_lowercase().starts_with("confidential"))
}

fn pushed(body: PushBody) -> Result<Event, Unreadable> {
    let reference = text(body.reference, "ref")?;
    let after = text(body.after, "after")?;
    let project = body.project;
    let urls = [project.git_http_url, project.git_ssh_url, project.web_url];
    Push {
        path: text(project.path_with_namespace, "project.path_with_namespace")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: event::is_branch(&reference, project.default_branch.as_deref()),
        reference,
        after: event::target(after),
        is_forced: false,
    }
    .bounded()
}

fn tracked(body: IssueBody, is_confidential: bool) -> Result<Event, Unreadable> {
    let mut issue = body.object_attributes;
    if is_confidential {
        issue.confidential = Some(true);
    }
    let iid = needed(issue.iid, "object_attributes.iid")?;
    let title = text(issue.title.take(), "object_attributes.title")?;
    issue.labels = body.labels.or(issue.labels);
    let people = body.assignees.unwrap_or_default().into_iter().chain(body.assignee).collect();
    told(iid, title, issue, Some(people), body.project)
}

/// A note brings its issue along, without the names of those who work on it.
fn noted(body: NoteBody) -> Result<Event, Unreadable> {
    let note = body.object_attributes;
    match text(note.noteable_type, "object_attributes.noteable_type")?.as_str() {
        "Issue" => {}
        "MergeRequest" => return Ok(Event::ignored(MERGE_REQUESTS)),
        _ => return Ok(Event::ignored("only notes on issues are followed")),
    }
    let mut issue = body.issue.unwrap_or_default();
    let iid = needed(issue.iid, "issue.iid")?;
    let title = text(issue.title.take(), "issue.title")?;
    // The note's address is the issue's with a fragment.
    let page = note.url.and_then(|url| url.split('#').next().map(str::to_owned));
    issue.url = issue.url.or(page);
    told(iid, title, issue, None, body.project)
}

/// Who works on it a note does not say.
fn told(
    iid: u64,
    title: String,
    issue: Tracked,
    people: Option<Vec<User>>,
    project: Project,
) -> Result<Event, Unreadable> {
    let is_whole = people.is_some();
    let mut people = people.unwrap_or_default().into_iter();
    let path = text(project.path_with_namespace, "project.path_with_namespace")?;
    let external_id = format!("{path}#{iid}");
    // What was known of it when it was not confidential is not everybody's any more.
    if issue.confidential == Some(true) {
        return Event::gone(external_id);
    }
    let labels = issue.labels.unwrap_or_default().into_iter();
    Issue {
        external_id,
        title,
        status: issue.state,
        assignee: people.find_map(|user| user.name.or(user.username)),
        labels: labels.filter_map(|label| label.title).collect(),
        links: event::links("GitLab issue", issue.url),
        updated_at: issue.updated_at.as_deref().and_then(event::time),
        is_whole,
    }
    .bounded()
}

fn why_ignored(kind: &str) -> String {
    match kind {
        "merge_request" => MERGE_REQUESTS.to_owned(),
        "release" => "releases are not followed".to_owned(),
        "wiki_page" => "wiki pages are not fetched yet".to_owned(),
        _ => format!("{} events are not followed", plain(kind)),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const PROJECT: &str = r#""project": {
        "path_with_namespace": "group/sub/project", "default_branch": "main",
        "git_http_url": "https://git.example.org/group/sub/project.git",
        "git_ssh_url": "git@git.example.org:group/sub/project.git",
        "web_url": "https://git.example.org/group/sub/project"}"#;

    fn told(body: &str) -> Result<(String, Event), Unreadable> {
        read(&HeaderMap::new(), format!("{{{body}, {PROJECT}}}").as_bytes())
    }

    fn ignored(body: &str) -> String {
        match told(body) {
            Ok((_, Event::Ignored { reason })) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_push_is_told_by_hooks_of_projects_and_of_the_system() {
        let after = "cd".repeat(20);
        let rest = format!(r#""ref": "refs/heads/main", "after": "{after}""#);
        let push = Event::Push(Push {
            path: "group/sub/project".to_owned(),
            urls: vec![
                "https://git.example.org/group/sub/project.git".to_owned(),
                "git@git.example.org:group/sub/project.git".to_owned(),
                "https://git.example.org/group/sub/project".to_owned(),
            ],
            reference: "refs/heads/main".to_owned(),
            is_default: true,
            after: Some(after),
            is_forced: false,
        });
        let expected = Ok(("push".to_owned(), push));
        assert_eq!(told(&format!(r#""object_kind": "push", {rest}"#)), expected);
        assert_eq!(told(&format!(r#""event_name": "push", {rest}"#)), expected);
    }

    #[test]
    fn a_tag_that_went_away_points_nowhere() {
        let zeros = "0".repeat(40);
        let body =
            format!(r#""object_kind": "tag_push", "ref": "refs/tags/v1", "after": "{zeros}""#);
        let Ok((name, Event::Push(push))) = told(&body) else { panic!("no push") };
        assert_eq!((name.as_str(), push.after, push.is_default), ("tag_push", None, false));
    }

    #[test]
    fn an_issue_is_told_with_what_it_is_now() {
        let body = r#""object_kind": "issue", "event_type": "issue", "object_attributes": {
            "iid": 23, "title": "It breaks", "state": "opened", "action": "update",
            "confidential": false, "url": "https://git.example.org/group/sub/project/-/issues/23",
            "updated_at": "2026-01-02 03:04:05 UTC"},
            "labels": [{"title": "API"}], "assignees": [{"name": "Vera", "username": "vera"}]"#;
        let issue = Event::Issue(Issue {
            external_id: "group/sub/project#23".to_owned(),
            title: "It breaks".to_owned(),
            status: Some("opened".to_owned()),
            assignee: Some("Vera".to_owned()),
            labels: vec!["API".to_owned()],
            links: event::links(
                "GitLab issue",
                Some("https://git.example.org/group/sub/project/-/issues/23".to_owned()),
            ),
            updated_at: event::time("2026-01-02T03:04:05Z"),
            is_whole: true,
        });
        assert_eq!(told(body), Ok(("issue.update".to_owned(), issue)));
    }

    #[test]
    fn a_note_tells_of_its_issue() {
        let body = r#""object_kind": "note", "object_attributes": {"noteable_type": "Issue",
            "action": "create", "url": "https://git.example.org/p/issues/17#note_1"},
            "issue": {"iid": 17, "title": "T", "state": "closed", "labels": [{"title": "a"}]}"#;
        let Ok((name, Event::Issue(issue))) = told(body) else { panic!("no issue") };
        assert_eq!(name, "note.create");
        assert_eq!(issue.external_id, "group/sub/project#17");
        assert_eq!(issue.links[0].url, "https://git.example.org/p/issues/17");
        assert_eq!((issue.labels, issue.assignee), (vec!["a".to_owned()], None));
    }

    #[test]
    fn notes_on_other_things_are_ignored() {
        let on = |what: &str| {
            ignored(&format!(
                r#""object_kind": "note", "object_attributes": {{"noteable_type": "{what}"}}"#
            ))
        };
        assert_eq!(on("MergeRequest"), MERGE_REQUESTS);
        assert_eq!(on("Commit"), "only notes on issues are followed");
    }

    #[test]
    fn what_is_confidential_is_not_told_however_that_is_said() {
        let gone = Event::gone("group/sub/project#1".to_owned()).expect("an id");
        let told = |body: &str| {
            let body = format!("{{{body}, {PROJECT}}}");
            read(&HeaderMap::new(), body.as_bytes()).expect("readable").1
        };
        let fields = r#""object_attributes": {"iid": 1, "title": "secret""#;
        let by_field = format!(r#""object_kind": "issue", {fields}, "confidential": true}}"#);
        assert_eq!(told(&by_field), gone);
        let by_type =
            format!(r#""object_kind": "issue", "event_type": "confidential_issue", {fields}}}"#);
        assert_eq!(told(&by_type), gone);
        let of_note = r#""object_kind": "note", "object_attributes": {"noteable_type": "Issue"},
            "issue": {"iid": 1, "title": "secret", "confidential": true}"#;
        assert_eq!(told(of_note), gone);

        let mut headers = HeaderMap::new();
        headers.insert("x-gitlab-event", HeaderValue::from_static("Confidential Issue Hook"));
        let body = format!(r#"{{"object_kind": "issue", {fields}}}, {PROJECT}}}"#);
        let by_header = read(&headers, body.as_bytes()).expect("readable").1;
        assert_eq!(by_header, gone);
    }

    #[test]
    fn the_rest_is_ignored_for_a_reason() {
        assert_eq!(ignored(r#""object_kind": "merge_request""#), MERGE_REQUESTS);
        assert_eq!(ignored(r#""object_kind": "wiki_page""#), "wiki pages are not fetched yet");
        let created = r#""event_name": "project_create""#;
        assert_eq!(ignored(created), "project_create events are not followed");
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing =
            |body: &str| read(&HeaderMap::new(), body.as_bytes()).expect_err("unreadable");
        assert_eq!(missing("{}"), Unreadable::Missing("object_kind"));
        let issue = r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T"}}"#;
        assert_eq!(missing(issue), Unreadable::Missing("project.path_with_namespace"));
        let note = r#"{"object_kind": "note", "object_attributes": {"noteable_type": "Issue"}}"#;
        assert_eq!(missing(note), Unreadable::Missing("issue.iid"));
    }
}
