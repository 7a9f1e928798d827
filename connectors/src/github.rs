//! GitHub. The event stands in a header, its action in the body.

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::comment::{Comment, Release, Thread};
use crate::delivery::{ParseError, header, needed, parse, plain, text};
use crate::event::{self, Event, Issue, Push, WikiPush};

mod ci;
mod pull_requests;

const EVENT: &str = "X-GitHub-Event";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
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
#[serde(default)]
struct Commit {
    id: Option<String>,
    /// Whether no other ref had it before. What a branch took over of another says nothing of whose it is.
    distinct: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CommentBody {
    action: Option<String>,
    issue: Tracked,
    comment: Option<Written>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReleaseBody {
    action: Option<String>,
    release: Version,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WikiBody {
    repository: Repository,
}

/// A comment, on whatever it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    id: Option<u64>,
    user: Option<User>,
    body: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Version {
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
    issue: Tracked,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Repository {
    full_name: Option<String>,
    clone_url: Option<String>,
    ssh_url: Option<String>,
    html_url: Option<String>,
    default_branch: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tracked {
    number: Option<u64>,
    title: Option<String>,
    state: Option<String>,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    labels: Option<Vec<Label>>,
    html_url: Option<String>,
    updated_at: Option<String>,
    /// There for pull requests, which are issues too.
    pull_request: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    login: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Label {
    name: Option<String>,
}

pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<(String, Event), ParseError> {
    let kind = header(headers, EVENT).ok_or(ParseError::Header(EVENT))?;
    let Named { action, comment } = parse(body)?;
    let told = match (kind, action.as_deref()) {
        ("push", _) => pushed(parse(body)?)?,
        ("delete", _) => deleted(parse(body)?)?,
        // The issue that a transferred one becomes is told of by the repository that it went to.
        // The header is not signed: a comment's deletion, sent again as an issue's, is none.
        ("issues", Some("deleted" | "transferred")) if comment.is_none() => gone(parse(body)?)?,
        ("issues", _) => tracked(parse(body)?, None)?,
        ("issue_comment", _) => commented(parse(body)?)?,
        ("pull_request" | "pull_request_review" | "pull_request_review_comment", _) => {
            pull_requests::read(kind, parse(body)?)?
        }
        ("check_run", _) => ci::check_run(parse(body)?)?,
        ("check_suite", _) => ci::check_suite(parse(body)?)?,
        ("workflow_run", _) => ci::workflow_run(parse(body)?)?,
        ("status", _) => ci::status(parse(body)?)?,
        ("release", _) => released(parse(body)?)?,
        ("gollum", _) => wiki(parse(body)?)?,
        _ => Event::ignored(why_ignored(kind)),
    };
    let name = match action {
        Some(action) => format!("{kind}.{action}"),
        None => kind.to_owned(),
    };
    Ok((name, told))
}

fn pushed(body: PushBody) -> Result<Event, ParseError> {
    let reference = text(body.reference, "ref")?;
    let after = text(body.after, "after")?;
    let after = if body.deleted { None } else { event::target(after) };
    let commits = body.commits.unwrap_or_default().into_iter();
    let new = commits.filter(|commit| commit.distinct != Some(false));
    let commits = new.filter_map(|commit| commit.id).collect();
    moved(body.repository, reference, after, body.forced, commits)
}

/// Comes beside a push that says the same, and alone where hooks are not told of pushes.
fn deleted(body: DeleteBody) -> Result<Event, ParseError> {
    let name = text(body.name, "ref")?;
    let reference = match text(body.ref_type, "ref_type")?.as_str() {
        "branch" => format!("refs/heads/{name}"),
        "tag" => format!("refs/tags/{name}"),
        _ => return Ok(Event::ignored("neither a branch nor a tag was deleted")),
    };
    moved(body.repository, reference, None, false, Vec::new())
}

fn moved(
    repository: Repository,
    reference: String,
    after: Option<String>,
    is_forced: bool,
    commits: Vec<String>,
) -> Result<Event, ParseError> {
    let urls = [repository.clone_url, repository.ssh_url, repository.html_url];
    Push {
        path: text(repository.full_name, "repository.full_name")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: event::is_branch(&reference, repository.default_branch.as_deref()),
        reference,
        after,
        is_forced,
        commits,
    }
    .bounded()
}

fn gone(body: IssueBody) -> Result<Event, ParseError> {
    Event::gone(external_id(body.issue.number, body.repository)?)
}

/// What is said of a pull request comes as what is said of an issue.
fn commented(body: CommentBody) -> Result<Event, ParseError> {
    let CommentBody { action, issue, comment, repository } = body;
    let comment = comment.unwrap_or_default().told("", action.as_deref());
    if issue.pull_request.is_none() {
        return tracked(IssueBody { issue, repository }, comment);
    }
    let Some(comment) = comment else {
        return Ok(Event::ignored("the comment came without its id"));
    };
    let external_id = pull_requests::external_id(issue.number, &repository, "issue.number")?;
    let title = issue.title.unwrap_or_default();
    let thread = Thread { external_id, title, url: event::page(issue.html_url) }.truncated()?;
    Ok(Event::Said { thread, comment: comment.bounded() })
}

fn tracked(
    IssueBody { issue, repository }: IssueBody,
    comment: Option<Comment>,
) -> Result<Event, ParseError> {
    if issue.pull_request.is_some() {
        return Ok(Event::ignored("it is a pull request, and told of as one"));
    }
    // The one assignee is what GitHub has kept of the time before there were several.
    let mut assignees = issue.assignee.into_iter().chain(issue.assignees.unwrap_or_default());
    let labels = issue.labels.unwrap_or_default().into_iter();
    Issue {
        external_id: external_id(issue.number, repository)?,
        title: text(issue.title, "issue.title")?,
        status: issue.state,
        assignee: assignees.find_map(|user| user.login),
        labels: labels.filter_map(|label| label.name).collect(),
        links: event::links("GitHub issue", issue.html_url),
        updated_at: issue.updated_at.as_deref().and_then(event::time),
        is_whole: true,
        comment,
    }
    .bounded()
}

/// A draft is for nobody yet, and so like one that was taken back.
fn released(body: ReleaseBody) -> Result<Event, ParseError> {
    let Version { id, tag_name, name, body: notes, draft, author, html_url, .. } = body.release;
    let [sent_at, updated_at] = [body.release.published_at, body.release.updated_at]
        .map(|at| at.as_deref().and_then(event::time));
    Release {
        path: text(body.repository.full_name, "repository.full_name")?,
        id: needed(id, "release.id")?.to_string(),
        tag: text(tag_name, "release.tag_name")?,
        title: name.unwrap_or_default(),
        author: author.and_then(|user| user.login),
        notes: notes.unwrap_or_default(),
        url: event::page(html_url),
        sent_at,
        updated_at,
        is_deleted: draft || matches!(body.action.as_deref(), Some("deleted" | "unpublished")),
    }
    .bounded()
}

/// GitHub keeps the pages in a repository beside the one that they are about.
fn wiki(body: WikiBody) -> Result<Event, ParseError> {
    let repository = body.repository;
    let path = text(repository.full_name, "repository.full_name")?;
    let urls = [repository.clone_url, repository.ssh_url].into_iter().flatten();
    let beside = |url: String| format!("{}.wiki.git", url.strip_suffix(".git").unwrap_or(&url));
    WikiPush { path: format!("{path}.wiki"), urls: urls.map(beside).collect() }.bounded()
}

impl Written {
    /// The comment, of such a kind where its kind is numbered apart.
    fn told(self, kind: &str, action: Option<&str>) -> Option<Comment> {
        let time = |at: Option<String>| at.as_deref().and_then(event::time);
        let sent_at = time(self.created_at);
        let id = self.id?;
        Some(Comment {
            id: if kind.is_empty() { id.to_string() } else { format!("{kind}-{id}") },
            author: self.user.and_then(|user| user.login),
            text: self.body.unwrap_or_default(),
            sent_at,
            updated_at: time(self.updated_at).or(sent_at),
            is_deleted: action == Some("deleted"),
        })
    }
}

fn external_id(number: Option<u64>, repository: Repository) -> Result<String, ParseError> {
    let repository = text(repository.full_name, "repository.full_name")?;
    let number = needed(number, "issue.number")?;
    Ok(format!("{repository}#{number}"))
}

fn why_ignored(kind: &str) -> String {
    match kind {
        "ping" => "ping".to_owned(),
        "create" => "the push that comes with it says more".to_owned(),
        "workflow_job" => "the check run that comes with it says the same".to_owned(),
        _ => format!("{} events are not followed", plain(kind)),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const REPOSITORY: &str = r#""repository": {
        "full_name": "octocat/hello", "default_branch": "main",
        "clone_url": "https://git.example.org/octocat/hello.git",
        "ssh_url": "git@git.example.org:octocat/hello.git",
        "html_url": "https://git.example.org/octocat/hello"}"#;

    fn told(kind: &'static str, body: &str) -> Result<(String, Event), ParseError> {
        let mut headers = HeaderMap::new();
        headers.insert("x-github-event", HeaderValue::from_static(kind));
        read(&headers, body.as_bytes())
    }

    fn push(body: &str) -> Push {
        match told("push", &format!("{{{body}, {REPOSITORY}}}")) {
            Ok((name, Event::Push(push))) if name == "push" => push,
            other => panic!("{other:?}"),
        }
    }

    fn ignored(kind: &'static str, body: &str) -> String {
        match told(kind, body) {
            Ok((_, Event::Ignored { reason })) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_push_says_what_moved_where() {
        let after = "ab".repeat(20);
        let body = format!(
            r#""ref": "refs/heads/main", "after": "{after}", "forced": true,
            "commits": [{{"id": "{}"}}, {{"id": "no commit"}}]"#,
            "CD".repeat(20)
        );
        let expected = Push {
            path: "octocat/hello".to_owned(),
            urls: vec![
                "https://git.example.org/octocat/hello.git".to_owned(),
                "git@git.example.org:octocat/hello.git".to_owned(),
                "https://git.example.org/octocat/hello".to_owned(),
            ],
            reference: "refs/heads/main".to_owned(),
            is_default: true,
            after: Some(after),
            is_forced: true,
            commits: vec!["cd".repeat(20)],
        };
        assert_eq!(push(&body), expected);
    }

    #[test]
    fn a_push_leaves_out_the_commits_that_another_ref_had_before() {
        let [new, unsaid, taken_over] = ["1", "2", "3"].map(|digit| digit.repeat(40));
        let body = format!(
            r#""ref": "refs/heads/x", "after": "{new}", "commits": [
            {{"id": "{new}", "distinct": true}}, {{"id": "{unsaid}"}},
            {{"id": "{taken_over}", "distinct": false}}]"#
        );
        assert_eq!(push(&body).commits, [new, unsaid]);
    }

    #[test]
    fn a_deleted_branch_points_nowhere() {
        let zeros = "0".repeat(40);
        assert_eq!(push(&format!(r#""ref": "refs/heads/x", "after": "{zeros}""#)).after, None);
        let tag = push(&format!(r#""ref": "refs/tags/main", "after": "{zeros}", "deleted": true"#));
        assert_eq!((tag.after, tag.is_default), (None, false));
    }

    #[test]
    fn a_deletion_is_told_as_a_push() {
        let deleted = |kind: &str| {
            let body = format!(r#"{{"ref": "main", "ref_type": "{kind}", {REPOSITORY}}}"#);
            told("delete", &body).expect("readable").1
        };
        let Event::Push(branch) = deleted("branch") else { panic!("no push") };
        assert_eq!((branch.reference.as_str(), branch.is_default), ("refs/heads/main", true));
        let Event::Push(tag) = deleted("tag") else { panic!("no push") };
        assert_eq!((tag.reference.as_str(), tag.after), ("refs/tags/main", None));
        assert!(matches!(deleted("other"), Event::Ignored { .. }));
    }

    #[test]
    fn an_issue_is_told_with_what_it_is_now() {
        let body = format!(
            r#"{{"action": "opened", "issue": {{"number": 12, "title": "It breaks", "state": "open",
            "assignee": null, "assignees": [{{"login": "vera"}}], "labels": [{{"name": "bug"}}],
            "html_url": "https://git.example.org/octocat/hello/issues/12",
            "updated_at": "2026-01-02T03:04:05Z"}}, {REPOSITORY}}}"#
        );
        let expected = Issue {
            external_id: "octocat/hello#12".to_owned(),
            title: "It breaks".to_owned(),
            status: Some("open".to_owned()),
            assignee: Some("vera".to_owned()),
            labels: vec!["bug".to_owned()],
            links: event::links(
                "GitHub issue",
                Some("https://git.example.org/octocat/hello/issues/12".to_owned()),
            ),
            updated_at: event::time("2026-01-02T03:04:05Z"),
            is_whole: true,
            comment: None,
        };
        let opened = Ok(("issues.opened".to_owned(), Event::Issue(expected.clone())));
        assert_eq!(told("issues", &body), opened);
        let commented = Ok(("issue_comment.opened".to_owned(), Event::Issue(expected)));
        assert_eq!(told("issue_comment", &body), commented);
    }

    #[test]
    fn an_issue_that_went_away_is_gone_here() {
        for action in ["deleted", "transferred"] {
            let body =
                format!(r#"{{"action": "{action}", "issue": {{"number": 12}}, {REPOSITORY}}}"#);
            let gone = Event::IssueGone { external_id: "octocat/hello#12".to_owned() };
            assert_eq!(told("issues", &body), Ok((format!("issues.{action}"), gone)));
        }
    }

    #[test]
    fn a_deleted_comment_leaves_the_issue() {
        let body = format!(
            r#"{{"action": "deleted", "issue": {{"number": 1, "title": "T"}}, {REPOSITORY}}}"#
        );
        assert!(matches!(told("issue_comment", &body), Ok((_, Event::Issue(_)))));
    }

    #[test]
    fn pull_requests_are_no_issues() {
        let body = format!(r#"{{"issue": {{"number": 2, "pull_request": {{}}}}, {REPOSITORY}}}"#);
        assert_eq!(ignored("issues", &body), "it is a pull request, and told of as one");
    }

    #[test]
    fn a_comment_is_told_with_its_issue_or_of_its_pull_request() {
        let comment = |on: &str, action: &str| {
            let body = format!(
                r#"{{"action": "{action}", "issue": {{"number": 2, "title": "T", {on}
                "html_url": "https://git.example.org/octocat/hello/pull/2"}},
                "comment": {{"id": 7, "user": {{"login": "vera"}}, "body": "Mended.",
                "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:05:00Z"}},
                {REPOSITORY}}}"#
            );
            told("issue_comment", &body).expect("readable").1
        };
        let expected = Comment {
            id: "7".to_owned(),
            author: Some("vera".to_owned()),
            text: "Mended.".to_owned(),
            sent_at: event::time("2026-01-02T03:04:05Z"),
            updated_at: event::time("2026-01-02T03:05:00Z"),
            is_deleted: false,
        };
        let Event::Issue(issue) = comment("", "created") else { panic!("no issue") };
        assert_eq!(issue.comment, Some(expected.clone()));
        let Event::Said { thread, comment: said } = comment(r#""pull_request": {},"#, "created")
        else {
            panic!("nothing was said")
        };
        assert_eq!((thread.external_id.as_str(), said), ("octocat/hello!2", expected));
        let Event::Issue(issue) = comment("", "deleted") else { panic!("no issue") };
        assert!(issue.comment.is_some_and(|comment| comment.is_deleted && comment.text.is_empty()));
    }

    #[test]
    fn a_release_is_told_until_it_is_taken_back() {
        let release = |action: &str, draft: bool| {
            let body = format!(
                r##"{{"action": "{action}", "release": {{"id": 9, "tag_name": "v1.2", "name": null,
                "body": "# New\r\nRetries.", "draft": {draft}, "author": {{"login": "vera"}},
                "published_at": "2026-01-02T03:04:05Z"}}, {REPOSITORY}}}"##
            );
            match told("release", &body) {
                Ok((_, Event::Release(release))) => release,
                other => panic!("{other:?}"),
            }
        };
        let published = release("published", false);
        assert_eq!((published.path.as_str(), published.id.as_str()), ("octocat/hello", "9"));
        assert_eq!(
            (published.title.as_str(), published.notes.as_str()),
            ("v1.2", "# New\nRetries.")
        );
        assert!(!published.is_deleted);
        for gone in
            [release("deleted", false), release("unpublished", false), release("edited", true)]
        {
            assert_eq!((gone.is_deleted, gone.notes.as_str()), (true, ""));
        }
    }

    #[test]
    fn pages_of_a_wiki_are_a_repository_beside_it() {
        let told = told("gollum", &format!(r#"{{"pages": [], {REPOSITORY}}}"#));
        let Ok((_, Event::Wiki(wiki))) = told else { panic!("{told:?}") };
        assert_eq!(wiki.path, "octocat/hello.wiki");
        assert!(wiki.is_of("https://git.example.org/octocat/hello.wiki.git"));
        assert!(wiki.is_of("git@git.example.org:octocat/hello.wiki"));
        assert!(!wiki.is_of("https://git.example.org/octocat/hello.git"));
    }

    #[test]
    fn the_rest_is_ignored_for_a_reason() {
        assert_eq!(ignored("ping", "{}"), "ping");
        assert_eq!(ignored("create", "{}"), "the push that comes with it says more");
        assert_eq!(ignored("star", r#"{"action": "created"}"#), "star events are not followed");
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |kind, body: &str| told(kind, body).expect_err("unreadable");
        let whole = r#"{"ref": "refs/heads/x", "after": "0", "repository": {}}"#;
        assert_eq!(missing("push", whole), ParseError::Missing("repository.full_name"));
        assert_eq!(missing("push", "{}"), ParseError::Missing("ref"));
        assert_eq!(missing("delete", r#"{"ref": "x"}"#), ParseError::Missing("ref_type"));
        let untitled = format!(r#"{{"issue": {{"number": 1, "title": " "}}, {REPOSITORY}}}"#);
        assert_eq!(missing("issues", &untitled), ParseError::Missing("issue.title"));
        assert_eq!(read(&HeaderMap::new(), b"{}"), Err(ParseError::Header("X-GitHub-Event")));
    }
}
