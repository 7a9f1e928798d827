//! Parser of GitHub's deliveries. A header has the event type, the body the action.

mod ci;
mod pull_requests;

pub(super) use ci::{conclusion, status_conclusion};

use std::borrow::Cow;

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::delivery::{ParseError, from_json, header, required, required_text, unsupported};
use crate::event::{Comment, Event, Issue, Push, Release, Thread, WikiPush, field};
use crate::provider::ParsedEvent;

const EVENT: &str = "X-GitHub-Event";
const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Default, Deserialize)]
struct Envelope {
    action: Option<String>,
    comment: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PushBody {
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    deleted: bool,
    forced: bool,
    commits: Option<Vec<Commit>>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
struct Commit {
    id: Option<String>,
    /// Whether no other ref had the commit before.
    distinct: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CommentBody {
    action: Option<String>,
    issue: IssueFields,
    comment: Option<CommentFields>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReleaseBody {
    action: Option<String>,
    release: ReleaseFields,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WikiBody {
    repository: Repository,
}

/// A comment on an issue or pull request.
#[derive(Default, Deserialize)]
struct CommentFields {
    id: Option<u64>,
    user: Option<User>,
    body: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReleaseFields {
    id: Option<u64>,
    tag_name: Option<String>,
    name: Option<String>,
    body: Option<String>,
    draft: bool,
    author: Option<User>,
    html_url: Option<String>,
    published_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeleteBody {
    #[serde(rename = "ref")]
    name: Option<String>,
    ref_type: Option<String>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IssueBody {
    issue: IssueFields,
    repository: Repository,
}

#[derive(Default, Deserialize)]
struct Repository {
    full_name: Option<String>,
    clone_url: Option<String>,
    ssh_url: Option<String>,
    html_url: Option<String>,
    default_branch: Option<String>,
}

#[derive(Default, Deserialize)]
struct IssueFields {
    number: Option<u64>,
    title: Option<String>,
    state: Option<String>,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    labels: Option<Vec<Label>>,
    html_url: Option<String>,
    created_at: Option<String>,
    closed_at: Option<String>,
    updated_at: Option<String>,
    /// Present if the issue is a pull request.
    pull_request: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct User {
    login: Option<String>,
}

#[derive(Default, Deserialize)]
struct Label {
    name: Option<String>,
}

pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let body = json_of_form(headers, body)?;
    let body = body.as_ref();
    let event_type = header(headers, EVENT).ok_or(ParseError::MissingHeader(EVENT))?;
    let Envelope { action, comment } = from_json(body)?;
    let event = match (event_type, action.as_deref()) {
        ("push", _) => push(from_json(body)?)?,
        ("delete", _) => deleted_ref(from_json(body)?)?,
        // The repository that receives a transferred issue sends an event of its own. The header is
        // not signed: the deletion of a comment could be sent again as that of its issue.
        ("issues", Some("deleted" | "transferred")) if comment.is_none() => {
            let IssueBody { issue, repository } = from_json(body)?;
            Event::issue_deleted(issue_id(issue.number, repository)?)?
        }
        ("issues", _) => issue(from_json(body)?, None)?,
        ("issue_comment", _) => comment_event(from_json(body)?)?,
        ("pull_request" | "pull_request_review" | "pull_request_review_comment", _) => {
            pull_requests::parse(event_type, from_json(body)?)?
        }
        ("check_run", _) => ci::check_run(from_json(body)?)?,
        ("check_suite", _) => ci::check_suite(from_json(body)?)?,
        ("workflow_run", _) => ci::workflow_run(from_json(body)?)?,
        ("status", _) => ci::status(from_json(body)?)?,
        ("release", _) => release(from_json(body)?)?,
        ("gollum", _) => wiki_push(from_json(body)?)?,
        ("ping", _) => Event::ignored("ping"),
        ("create", _) => Event::ignored("the push event of the new ref has more data"),
        ("workflow_job", _) => Event::ignored("the check_run event of the job has the same data"),
        _ => unsupported(event_type),
    };
    let name = match action {
        Some(action) => format!("{event_type}.{action}"),
        None => event_type.to_owned(),
    };
    Ok((name, event))
}

/// Returns the JSON of a form, GitHub's default content type, or the body itself.
fn json_of_form<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, [u8]>, ParseError> {
    #[derive(Deserialize)]
    struct Form {
        payload: String,
    }

    let content_type = header(headers, "Content-Type").unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default();
    // The header is not signed. A body that begins as JSON is never read as a form.
    if !essence.trim().eq_ignore_ascii_case(FORM) || body.first() == Some(&b'{') {
        return Ok(Cow::Borrowed(body));
    }
    let form: Form = serde_urlencoded::from_bytes(body).map_err(|_| ParseError::InvalidForm)?;
    Ok(Cow::Owned(form.payload.into_bytes()))
}

fn push(body: PushBody) -> Result<Event, ParseError> {
    let reference = required_text(body.reference, "ref")?;
    let after = required_text(body.after, "after")?;
    let after = if body.deleted { None } else { field::ref_target(after) };
    let commits = body.commits.unwrap_or_default().into_iter();
    // A commit that a branch has from another branch is not new.
    let new = commits.filter(|commit| commit.distinct != Some(false));
    let commits = new.filter_map(|commit| commit.id).collect();
    ref_update(body.repository, reference, after, body.forced, commits)
}

/// Comes with an equal push event, or alone if the webhook has no push events.
fn deleted_ref(body: DeleteBody) -> Result<Event, ParseError> {
    let name = required_text(body.name, "ref")?;
    let reference = match required_text(body.ref_type, "ref_type")?.as_str() {
        "branch" => format!("refs/heads/{name}"),
        "tag" => format!("refs/tags/{name}"),
        _ => return Ok(Event::ignored("neither a branch nor a tag was deleted")),
    };
    ref_update(body.repository, reference, None, false, Vec::new())
}

fn ref_update(
    repository: Repository,
    reference: String,
    after: Option<String>,
    is_forced: bool,
    commits: Vec<String>,
) -> Result<Event, ParseError> {
    let urls = [repository.clone_url, repository.ssh_url, repository.html_url];
    let push = Push {
        path: required_text(repository.full_name, "repository.full_name")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: field::is_branch(&reference, repository.default_branch.as_deref()),
        reference,
        after,
        is_forced,
        commits,
    };
    Ok(Event::Push(push.truncated()?))
}

/// A comment on a pull request has the shape of a comment on an issue.
fn comment_event(body: CommentBody) -> Result<Event, ParseError> {
    let CommentBody { action, issue: fields, comment, repository } = body;
    let comment = comment.unwrap_or_default().comment(None, action.as_deref());
    if fields.pull_request.is_none() {
        return issue(IssueBody { issue: fields, repository }, comment);
    }
    let Some(comment) = comment else {
        return Ok(Event::ignored("the comment has no id"));
    };
    let external_id = pull_requests::external_id(fields.number, &repository, "issue.number")?;
    let title = fields.title.unwrap_or_default();
    let thread = Thread { external_id, title, url: field::web_url(fields.html_url) }.truncated()?;
    Ok(Event::Comment { thread, comment: comment.truncated() })
}

fn issue(body: IssueBody, comment: Option<Comment>) -> Result<Event, ParseError> {
    let IssueBody { issue, repository } = body;
    if issue.pull_request.is_some() {
        return Ok(Event::ignored("the pull_request event of the pull request has more data"));
    }
    // The single assignee is a field from before an issue could have several.
    let mut assignees = issue.assignee.into_iter().chain(issue.assignees.unwrap_or_default());
    let labels = issue.labels.unwrap_or_default().into_iter();
    // A reopened issue may still have the time when it was closed.
    let is_closed = issue.state.as_deref() == Some("closed");
    let closed_at = issue.closed_at.as_deref().filter(|_| is_closed);
    let issue = Issue {
        external_id: issue_id(issue.number, repository)?,
        title: required_text(issue.title, "issue.title")?,
        status: issue.state,
        assignee: assignees.find_map(|user| user.login),
        labels: labels.filter_map(|label| label.name).collect(),
        links: field::links("GitHub issue", issue.html_url),
        opened_at: field::optional_time(issue.created_at.as_deref()),
        closed_at: field::optional_time(closed_at),
        updated_at: field::optional_time(issue.updated_at.as_deref()),
        is_whole: true,
        comment,
    };
    Ok(Event::Issue(issue.truncated()?))
}

/// A draft is not public, so it counts as withdrawn.
fn release(body: ReleaseBody) -> Result<Event, ParseError> {
    let release = body.release;
    let is_withdrawn = matches!(body.action.as_deref(), Some("deleted" | "unpublished"));
    let release = Release {
        path: required_text(body.repository.full_name, "repository.full_name")?,
        id: required(release.id, "release.id")?.to_string(),
        tag: required_text(release.tag_name, "release.tag_name")?,
        title: release.name.unwrap_or_default(),
        author: release.author.and_then(|user| user.login),
        notes: release.body.unwrap_or_default(),
        url: field::web_url(release.html_url),
        sent_at: field::optional_time(release.published_at.as_deref()),
        updated_at: field::optional_time(release.updated_at.as_deref()),
        is_deleted: release.draft || is_withdrawn,
    };
    Ok(Event::Release(release.truncated()?))
}

/// The wiki is a repository of its own, apart from the one that it documents.
fn wiki_push(body: WikiBody) -> Result<Event, ParseError> {
    let repository = body.repository;
    let path = required_text(repository.full_name, "repository.full_name")?;
    let urls = [repository.clone_url, repository.ssh_url].into_iter().flatten();
    let wiki_url = |url: String| format!("{}.wiki.git", url.strip_suffix(".git").unwrap_or(&url));
    let push = WikiPush { path: format!("{path}.wiki"), urls: urls.map(wiki_url).collect() };
    Ok(Event::WikiPush(push.truncated()?))
}

impl CommentFields {
    /// Returns the comment. `prefix` tells ids apart that GitHub numbers separately.
    fn comment(self, prefix: Option<&str>, action: Option<&str>) -> Option<Comment> {
        let sent_at = field::optional_time(self.created_at.as_deref());
        let id = self.id?;
        Some(Comment {
            id: prefix.map_or_else(|| id.to_string(), |prefix| format!("{prefix}-{id}")),
            author: self.user.and_then(|user| user.login),
            text: self.body.unwrap_or_default(),
            sent_at,
            updated_at: field::optional_time(self.updated_at.as_deref()).or(sent_at),
            is_deleted: action == Some("deleted"),
        })
    }
}

fn issue_id(number: Option<u64>, repository: Repository) -> Result<String, ParseError> {
    let repository = required_text(repository.full_name, "repository.full_name")?;
    let number = required(number, "issue.number")?;
    Ok(format!("{repository}#{number}"))
}

#[cfg(test)]
mod tests;
