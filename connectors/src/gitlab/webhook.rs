//! Parser of GitLab's deliveries: webhooks of projects and groups, and system hooks.

mod ci;
mod merge_requests;

use http::HeaderMap;
use serde::Deserialize;

use crate::delivery::{ParseError, from_json, header, required, required_text, unsupported};
use crate::event::{Comment, Event, Issue, Push, Release, Thread, WikiPush, field};
use crate::provider::ParsedEvent;

#[derive(Default, Deserialize)]
struct Envelope {
    object_kind: Option<String>,
    /// The event type of system hooks.
    event_name: Option<String>,
    event_type: Option<String>,
    object_attributes: Option<ActionFields>,
}

#[derive(Default, Deserialize)]
struct ActionFields {
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
struct Commit {
    id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IssueBody {
    object_attributes: IssueFields,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    labels: Option<Vec<Label>>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NoteBody {
    object_attributes: NoteFields,
    user: Option<User>,
    issue: Option<IssueFields>,
    merge_request: Option<IssueFields>,
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
    wiki: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NoteFields {
    id: Option<u64>,
    note: Option<String>,
    noteable_type: Option<String>,
    url: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    /// Whether GitLab wrote the note, such as that a label was added.
    system: bool,
}

#[derive(Default, Deserialize)]
struct Project {
    path_with_namespace: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
    default_branch: Option<String>,
}

#[derive(Default, Deserialize)]
struct IssueFields {
    iid: Option<u64>,
    title: Option<String>,
    state: Option<String>,
    confidential: Option<bool>,
    labels: Option<Vec<Label>>,
    url: Option<String>,
    created_at: Option<String>,
    closed_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
struct User {
    name: Option<String>,
    username: Option<String>,
}

#[derive(Default, Deserialize)]
struct Label {
    title: Option<String>,
}

pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let envelope: Envelope = from_json(body)?;
    let is_confidential = is_confidential(headers, envelope.event_type.as_deref());
    let kind = required_text(envelope.object_kind.or(envelope.event_name), "object_kind")?;
    let event = match kind.as_str() {
        "push" | "tag_push" => push(from_json(body)?)?,
        "issue" => issue_event(from_json(body)?, is_confidential)?,
        "note" if is_confidential => Event::ignored("the issue or the note is confidential"),
        "note" => note(from_json(body)?)?,
        "merge_request" => merge_requests::parse(from_json(body)?)?,
        "pipeline" => ci::pipeline(from_json(body)?)?,
        "build" => ci::job(from_json(body)?)?,
        "release" => release(from_json(body)?)?,
        "wiki_page" => wiki_push(from_json(body)?)?,
        _ => unsupported(&kind),
    };
    let name = match envelope.object_attributes.and_then(|object| object.action) {
        Some(action) => format!("{kind}.{action}"),
        None => kind,
    };
    Ok((name, event))
}

/// Older versions mark a confidential issue by the event type only.
fn is_confidential(headers: &HeaderMap, event_type: Option<&str>) -> bool {
    let types = [header(headers, "X-Gitlab-Event"), event_type];
    types.into_iter().flatten().any(|kind| kind.to_ascii_lowercase().starts_with("confidential"))
}

fn push(body: PushBody) -> Result<Event, ParseError> {
    let reference = required_text(body.reference, "ref")?;
    let after = required_text(body.after, "after")?;
    let commits = body.commits.unwrap_or_default();
    let project = body.project;
    let urls = [project.git_http_url, project.git_ssh_url, project.web_url];
    let push = Push {
        path: required_text(project.path_with_namespace, "project.path_with_namespace")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: field::is_branch(&reference, project.default_branch.as_deref()),
        reference,
        after: field::ref_target(after),
        is_forced: false,
        commits: commits.into_iter().filter_map(|commit| commit.id).collect(),
    };
    Ok(Event::Push(push.truncated()?))
}

fn issue_event(body: IssueBody, is_confidential: bool) -> Result<Event, ParseError> {
    let mut fields = body.object_attributes;
    if is_confidential {
        fields.confidential = Some(true);
    }
    let iid = required(fields.iid, "object_attributes.iid")?;
    let title = required_text(fields.title.take(), "object_attributes.title")?;
    fields.labels = body.labels.or(fields.labels);
    let assignees = body.assignees.unwrap_or_default().into_iter().chain(body.assignee).collect();
    issue(iid, title, fields, Some(assignees), None, body.project)
}

/// The issue of a note has no names of assignees.
fn note(body: NoteBody) -> Result<Event, ParseError> {
    let mut note = body.object_attributes;
    // The address of the note is that of its issue or merge request, with a fragment.
    let page = note.url.take().and_then(|url| url.split('#').next().map(str::to_owned));
    let target = required_text(note.noteable_type.take(), "object_attributes.noteable_type")?;
    let comment = note.comment(body.user);
    match target.as_str() {
        "Issue" => {}
        "MergeRequest" => {
            let merge_request = body.merge_request.unwrap_or_default();
            return merge_request_note(merge_request, page, comment, body.project);
        }
        _ => return Ok(Event::ignored("only notes on issues and merge requests are used")),
    }
    let mut fields = body.issue.unwrap_or_default();
    let iid = required(fields.iid, "issue.iid")?;
    let title = required_text(fields.title.take(), "issue.title")?;
    fields.url = fields.url.or(page);
    issue(iid, title, fields, None, comment, body.project)
}

/// The merge request of a note has fewer fields than in its own events, so only the note is used.
fn merge_request_note(
    merge_request: IssueFields,
    page: Option<String>,
    comment: Option<Comment>,
    project: Project,
) -> Result<Event, ParseError> {
    let Some(comment) = comment else {
        return Ok(Event::ignored("GitLab itself wrote the note"));
    };
    let external_id = merge_requests::external_id(merge_request.iid, project, "merge_request.iid")?;
    let title = merge_request.title.unwrap_or_default();
    let url = field::web_url(merge_request.url.or(page));
    let thread = Thread { external_id, title, url }.truncated()?;
    Ok(Event::Comment { thread, comment: comment.truncated() })
}

fn release(body: ReleaseBody) -> Result<Event, ParseError> {
    let tag = required_text(body.tag, "tag")?;
    let release = Release {
        path: required_text(body.project.path_with_namespace, "project.path_with_namespace")?,
        id: body.id.map_or_else(|| tag.clone(), |id| id.to_string()),
        tag,
        title: body.name.unwrap_or_default(),
        author: None,
        notes: body.description.unwrap_or_default(),
        url: field::web_url(body.url),
        sent_at: field::optional_time(body.released_at.as_deref()),
        // GitLab sends no time of the last change.
        updated_at: None,
        is_deleted: body.action.as_deref() == Some("delete"),
    };
    Ok(Event::Release(release.truncated()?))
}

/// The wiki is a repository of its own, apart from the one that it documents.
fn wiki_push(body: WikiBody) -> Result<Event, ParseError> {
    let Project { path_with_namespace, git_http_url, git_ssh_url, .. } = body.wiki;
    let path = if let Some(path) = path_with_namespace {
        path
    } else {
        let project = body.project.path_with_namespace;
        format!("{}.wiki", required_text(project, "project.path_with_namespace")?)
    };
    let push = WikiPush { path, urls: [git_http_url, git_ssh_url].into_iter().flatten().collect() };
    Ok(Event::WikiPush(push.truncated()?))
}

impl NoteFields {
    /// Returns the comment; `None` if GitLab itself wrote the note.
    fn comment(self, user: Option<User>) -> Option<Comment> {
        let sent_at = field::optional_time(self.created_at.as_deref());
        Some(Comment {
            id: self.id.filter(|_| !self.system)?.to_string(),
            author: user.and_then(|user| user.username.or(user.name)),
            text: self.note.unwrap_or_default(),
            sent_at,
            updated_at: field::optional_time(self.updated_at.as_deref()).or(sent_at),
            is_deleted: false,
        })
    }
}

/// `assignees` is `None` if the delivery does not list them.
fn issue(
    iid: u64,
    title: String,
    fields: IssueFields,
    assignees: Option<Vec<User>>,
    comment: Option<Comment>,
    project: Project,
) -> Result<Event, ParseError> {
    let is_whole = assignees.is_some();
    let mut assignees = assignees.unwrap_or_default().into_iter();
    let path = required_text(project.path_with_namespace, "project.path_with_namespace")?;
    let external_id = format!("{path}#{iid}");
    // The data from before the issue was confidential is no longer public.
    if fields.confidential == Some(true) {
        return Event::issue_deleted(external_id);
    }
    let labels = fields.labels.unwrap_or_default().into_iter();
    let issue = Issue {
        external_id,
        title,
        status: fields.state,
        assignee: assignees.find_map(|user| user.name.or(user.username)),
        labels: labels.filter_map(|label| label.title).collect(),
        links: field::links("GitLab issue", fields.url),
        opened_at: field::optional_time(fields.created_at.as_deref()),
        closed_at: field::optional_time(fields.closed_at.as_deref()),
        updated_at: field::optional_time(fields.updated_at.as_deref()),
        is_whole,
        comment,
    };
    Ok(Event::Issue(issue.truncated()?))
}

#[cfg(test)]
mod tests;
