//! GitHub. The event stands in a header, its action in the body.

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::delivery::{Unreadable, header, needed, parse, plain, text};
use crate::event::{self, Event, Issue, Push};

const EVENT: &str = "X-GitHub-Event";
const PULL_REQUESTS: &str = "pull requests are not followed yet";

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
    repository: Repository,
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

pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<(String, Event), Unreadable> {
    let kind = header(headers, EVENT).ok_or(Unreadable::Header(EVENT))?;
    let Named { action, comment } = parse(body)?;
    let told = match (kind, action.as_deref()) {
        ("push", _) => pushed(parse(body)?)?,
        ("delete", _) => deleted(parse(body)?)?,
        // The issue that a transferred one becomes is told of by the repository that it went to.
        // The header is not signed: a comment's deletion, sent again as an issue's, is none.
        ("issues", Some("deleted" | "transferred")) if comment.is_none() => gone(parse(body)?)?,
        ("issues" | "issue_comment", _) => tracked(parse(body)?)?,
        _ => Event::ignored(why_ignored(kind)),
    };
    let name = match action {
        Some(action) => format!("{kind}.{action}"),
        None => kind.to_owned(),
    };
    Ok((name, told))
}

fn pushed(body: PushBody) -> Result<Event, Unreadable> {
    let reference = text(body.reference, "ref")?;
    let after = text(body.after, "after")?;
    let after = if body.deleted { None } else { event::target(after) };
    moved(body.repository, reference, after, body.forced)
}

/// Comes beside a push that says the same, and alone where hooks are not told of pushes.
fn deleted(body: DeleteBody) -> Result<Event, Unreadable> {
    let name = text(body.name, "ref")?;
    let reference = match text(body.ref_type, "ref_type")?.as_str() {
        "branch" => format!("refs/heads/{name}"),
        "tag" => format!("refs/tags/{name}"),
        _ => return Ok(Event::ignored("neither a branch nor a tag was deleted")),
    };
    moved(body.repository, reference, None, false)
}

fn moved(
    repository: Repository,
    reference: String,
    after: Option<String>,
    is_forced: bool,
) -> Result<Event, Unreadable> {
    let urls = [repository.clone_url, repository.ssh_url, repository.html_url];
    Push {
        path: text(repository.full_name, "repository.full_name")?,
        urls: urls.into_iter().flatten().collect(),
        is_default: event::is_branch(&reference, repository.default_branch.as_deref()),
        reference,
        after,
        is_forced,
    }
    .bounded()
}

fn gone(body: IssueBody) -> Result<Event, Unreadable> {
    Event::gone(external_id(body.issue.number, body.repository)?)
}

fn tracked(IssueBody { issue, repository }: IssueBody) -> Result<Event, Unreadable> {
    if issue.pull_request.is_some() {
        return Ok(Event::ignored(PULL_REQUESTS));
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
    }
    .bounded()
}

fn external_id(number: Option<u64>, repository: Repository) -> Result<String, Unreadable> {
    let repository = text(repository.full_name, "repository.full_name")?;
    let number = needed(number, "issue.number")?;
    Ok(format!("{repository}#{number}"))
}

fn why_ignored(kind: &str) -> String {
    match kind {
        "ping" => "ping".to_owned(),
        "create" => "the push that comes with it says more".to_owned(),
        "release" => "releases are not followed".to_owned(),
        "gollum" => "wiki pages are not fetched yet".to_owned(),
        _ if kind.starts_with("pull_request") => PULL_REQUESTS.to_owned(),
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

    fn told(kind: &'static str, body: &str) -> Result<(String, Event), Unreadable> {
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
        let body = format!(r#""ref": "refs/heads/main", "after": "{after}", "forced": true"#);
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
        };
        assert_eq!(push(&body), expected);
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
        assert_eq!(ignored("issues", &body), PULL_REQUESTS);
        assert_eq!(ignored("issue_comment", &body), PULL_REQUESTS);
        assert_eq!(ignored("pull_request", "{}"), PULL_REQUESTS);
        assert_eq!(ignored("pull_request_review", "{}"), PULL_REQUESTS);
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
        assert_eq!(missing("push", whole), Unreadable::Missing("repository.full_name"));
        assert_eq!(missing("push", "{}"), Unreadable::Missing("ref"));
        assert_eq!(missing("delete", r#"{"ref": "x"}"#), Unreadable::Missing("ref_type"));
        let untitled = format!(r#"{{"issue": {{"number": 1, "title": " "}}, {REPOSITORY}}}"#);
        assert_eq!(missing("issues", &untitled), Unreadable::Missing("issue.title"));
        assert_eq!(read(&HeaderMap::new(), b"{}"), Err(Unreadable::Header("X-GitHub-Event")));
    }
}
