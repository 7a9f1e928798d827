//! GitLab: hooks of projects and groups, and system hooks.

use http::HeaderMap;
use serde::Deserialize;

use crate::comment::{Comment, Release, Thread};
use crate::delivery::{ParseError, header, needed, parse, plain, text};
use crate::event::{self, Event, Issue, Push, WikiPush};

mod ci;
mod merge_requests;

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
    commits: Option<Vec<Commit>>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commit {
    id: Option<String>,
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
    object_attributes: Written,
    user: Option<User>,
    issue: Option<Tracked>,
    merge_request: Option<Tracked>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReleaseBody {
    id: Option<u64>,
    tag: Option<String>,
    name: Option<String>,
    description: Option<String>,
    action: Option<String>,
    url: Option<String>,
    released_at: Option<String>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WikiBody {
    project: Project,
    wiki: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Repository {
    path_with_namespace: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    id: Option<u64>,
    note: Option<String>,
    noteable_type: Option<String>,
    url: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    /// What GitLab itself notes down, such as that a label was added.
    system: bool,
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

pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<(String, Event), ParseError> {
    let named: Named = parse(body)?;
    let is_confidential = is_confidential(headers, named.event_type.as_deref());
    let kind = text(named.object_kind.or(named.event_name), "object_kind")?;
    let told = match kind.as_str() {
        "push" | "tag_push" => pushed(parse(body)?)?,
        "issue" => tracked(parse(body)?, is_confidential)?,
        "note" if is_confidential => Event::ignored("the issue or the note is confidential"),
        "note" => noted(parse(body)?)?,
        "merge_request" => merge_requests::read(parse(body)?)?,
        "pipeline" => ci::pipeline(parse(body)?)?,
        "build" => ci::job(parse(body)?)?,
        "release" => released(parse(body)?)?,
        "wiki_page" => wiki(parse(body)?)?,
        _ => Event::ignored(format!("{} events are not followed", plain(&kind))),
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

fn pushed(body: PushBody) -> Result<Event, ParseError> {
    let reference = text(body.reference, "ref")?;
    let after = text(body.after, "after")?;
    let commits = body.commits.unwrap_or_default();
    let project = body.project;
    let urls = [project.git_http_url, project.git_ssh_url, project.web_url];
    Push {
        path: text(project.path_with_namespace, "project.path_with_namespace")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: event::is_branch(&reference, project.default_branch.as_deref()),
        reference,
        after: event::target(after),
        is_forced: false,
        commits: commits.into_iter().filter_map(|commit| commit.id).collect(),
    }
    .bounded()
}

fn tracked(body: IssueBody, is_confidential: bool) -> Result<Event, ParseError> {
    let mut issue = body.object_attributes;
    if is_confidential {
        issue.confidential = Some(true);
    }
    let iid = needed(issue.iid, "object_attributes.iid")?;
    let title = text(issue.title.take(), "object_attributes.title")?;
    issue.labels = body.labels.or(issue.labels);
    let people = body.assignees.unwrap_or_default().into_iter().chain(body.assignee).collect();
    told(iid, title, issue, Some(people), None, body.project)
}

/// A note brings its issue along, without the names of those who work on it.
fn noted(body: NoteBody) -> Result<Event, ParseError> {
    let mut note = body.object_attributes;
    // The note's address is that of what it is on, with a fragment.
    let page = note.url.take().and_then(|url| url.split('#').next().map(str::to_owned));
    let on = text(note.noteable_type.take(), "object_attributes.noteable_type")?;
    let comment = note.told(body.user);
    match on.as_str() {
        "Issue" => {}
        "MergeRequest" => {
            let merge = body.merge_request.unwrap_or_default();
            return noted_on_merge(merge, page, comment, body.project);
        }
        _ => return Ok(Event::ignored("only notes on issues and merge requests are followed")),
    }
    let mut issue = body.issue.unwrap_or_default();
    let iid = needed(issue.iid, "issue.iid")?;
    let title = text(issue.title.take(), "issue.title")?;
    issue.url = issue.url.or(page);
    told(iid, title, issue, None, comment, body.project)
}

/// What a note says of its merge request is less than what the merge request's own events say.
fn noted_on_merge(
    merge: Tracked,
    page: Option<String>,
    comment: Option<Comment>,
    project: Project,
) -> Result<Event, ParseError> {
    let Some(comment) = comment else {
        return Ok(Event::ignored("GitLab itself noted that"));
    };
    let external_id = merge_requests::external_id(merge.iid, project, "merge_request.iid")?;
    let title = merge.title.unwrap_or_default();
    let thread = Thread { external_id, title, url: event::page(merge.url.or(page)) }.truncated()?;
    Ok(Event::Said { thread, comment: comment.bounded() })
}

fn released(body: ReleaseBody) -> Result<Event, ParseError> {
    let tag = text(body.tag, "tag")?;
    let at = body.released_at.as_deref().and_then(event::time);
    Release {
        path: text(body.project.path_with_namespace, "project.path_with_namespace")?,
        id: body.id.map_or_else(|| tag.clone(), |id| id.to_string()),
        tag,
        title: body.name.unwrap_or_default(),
        author: None,
        notes: body.description.unwrap_or_default(),
        url: event::page(body.url),
        sent_at: at,
        // GitLab says when it was published, and never when it was changed.
        updated_at: None,
        is_deleted: body.action.as_deref() == Some("delete"),
    }
    .bounded()
}

/// GitLab keeps the pages in a repository beside the one that they are about.
fn wiki(body: WikiBody) -> Result<Event, ParseError> {
    let Repository { path_with_namespace, git_http_url, git_ssh_url } = body.wiki;
    let path = if let Some(path) = path_with_namespace {
        path
    } else {
        let path = text(body.project.path_with_namespace, "project.path_with_namespace")?;
        format!("{path}.wiki")
    };
    WikiPush { path, urls: [git_http_url, git_ssh_url].into_iter().flatten().collect() }.bounded()
}

impl Written {
    /// What somebody wrote; `None` for what GitLab itself did.
    fn told(self, user: Option<User>) -> Option<Comment> {
        let time = |at: Option<String>| at.as_deref().and_then(event::time);
        let sent_at = time(self.created_at);
        Some(Comment {
            id: self.id.filter(|_| !self.system)?.to_string(),
            author: user.and_then(|user| user.username.or(user.name)),
            text: self.note.unwrap_or_default(),
            sent_at,
            updated_at: time(self.updated_at).or(sent_at),
            is_deleted: false,
        })
    }
}

/// Who works on it a note does not say.
fn told(
    iid: u64,
    title: String,
    issue: Tracked,
    people: Option<Vec<User>>,
    comment: Option<Comment>,
    project: Project,
) -> Result<Event, ParseError> {
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
        comment,
    }
    .bounded()
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

    fn told(body: &str) -> Result<(String, Event), ParseError> {
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
        let commit = "ab".repeat(20);
        let rest = format!(
            r#""ref": "refs/heads/main", "after": "{after}", "commits": [{{"id": "{commit}"}}]"#
        );
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
            commits: vec!["ab".repeat(20)],
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
            comment: None,
        });
        assert_eq!(told(body), Ok(("issue.update".to_owned(), issue)));
    }

    #[test]
    fn a_note_tells_of_its_issue() {
        let body = r#""object_kind": "note", "object_attributes": {"noteable_type": "Issue",
            "id": 1, "note": "Since May.", "action": "create", "system": false,
            "url": "https://git.example.org/p/issues/17#note_1",
            "updated_at": "2026-01-02 03:04:05 UTC"}, "user": {"name": "Vera B", "username": "vera"},
            "issue": {"iid": 17, "title": "T", "state": "closed", "labels": [{"title": "a"}]}"#;
        let Ok((name, Event::Issue(issue))) = told(body) else { panic!("no issue") };
        assert_eq!(name, "note.create");
        let comment = issue.comment.as_ref().expect("a comment");
        assert_eq!((comment.id.as_str(), comment.text.as_str()), ("1", "Since May."));
        assert_eq!(comment.author.as_deref(), Some("vera"));
        assert_eq!(issue.external_id, "group/sub/project#17");
        assert_eq!(issue.links[0].url, "https://git.example.org/p/issues/17");
        assert_eq!((issue.labels, issue.assignee), (vec!["a".to_owned()], None));
    }

    #[test]
    fn notes_on_merge_requests_are_told_and_those_on_other_things_ignored() {
        let on = |what: &str, system: bool| {
            let body = format!(
                r#""object_kind": "note", "object_attributes": {{"noteable_type": "{what}", "id": 7,
                "note": "Why?", "system": {system}, "url": "https://git.example.org/p/-/merge_requests/5#note_7"}},
                "merge_request": {{"iid": 5, "title": "T"}}"#
            );
            told(&body).expect("readable").1
        };
        let Event::Said { thread, comment } = on("MergeRequest", false) else { panic!("nothing") };
        assert_eq!(thread.external_id, "group/sub/project!5");
        assert_eq!(thread.url, "https://git.example.org/p/-/merge_requests/5");
        assert_eq!((comment.id.as_str(), comment.text.as_str()), ("7", "Why?"));
        assert!(matches!(on("MergeRequest", true), Event::Ignored { .. }), "GitLab's own");
        assert!(matches!(on("Commit", false), Event::Ignored { .. }));
    }

    #[test]
    fn a_release_is_told_until_it_is_taken_back() {
        let release = |action: &str| {
            let body = format!(
                r#""object_kind": "release", "id": 9, "tag": "v1.2", "name": "Retries", "action": "{action}",
                "description": "More of them.", "released_at": "2026-01-02 03:04:05 UTC""#
            );
            match told(&body) {
                Ok((_, Event::Release(release))) => release,
                other => panic!("{other:?}"),
            }
        };
        let created = release("create");
        assert_eq!((created.id.as_str(), created.title.as_str()), ("9", "Retries"));
        assert_eq!((created.notes.as_str(), created.is_deleted), ("More of them.", false));
        assert!(release("delete").is_deleted);
    }

    #[test]
    fn pages_of_a_wiki_are_a_repository_beside_it() {
        let body = r#""object_kind": "wiki_page", "wiki": {
            "path_with_namespace": "group/sub/project.wiki",
            "git_http_url": "https://git.example.org/group/sub/project.wiki.git"}"#;
        let Ok((_, Event::Wiki(wiki))) = told(body) else { panic!("no wiki") };
        assert_eq!(wiki.path, "group/sub/project.wiki");
        assert!(wiki.is_of("https://git.example.org/group/sub/project.wiki"));
        let Ok((_, Event::Wiki(bare))) = told(r#""object_kind": "wiki_page""#) else {
            panic!("no wiki")
        };
        assert_eq!(bare.path, "group/sub/project.wiki");
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
        let emoji = r#""object_kind": "emoji""#;
        assert_eq!(ignored(emoji), "emoji events are not followed");
        let created = r#""event_name": "project_create""#;
        assert_eq!(ignored(created), "project_create events are not followed");
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing =
            |body: &str| read(&HeaderMap::new(), body.as_bytes()).expect_err("unreadable");
        assert_eq!(missing("{}"), ParseError::Missing("object_kind"));
        let issue = r#"{"object_kind": "issue", "object_attributes": {"iid": 1, "title": "T"}}"#;
        assert_eq!(missing(issue), ParseError::Missing("project.path_with_namespace"));
        let note = r#"{"object_kind": "note", "object_attributes": {"noteable_type": "Issue"}}"#;
        assert_eq!(missing(note), ParseError::Missing("issue.iid"));
    }
}
