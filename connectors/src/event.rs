//! What a delivery tells the memory, in one vocabulary for all senders, and in bounds.

use chrono::{DateTime, Datelike as _, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::ci::CiRun;
use crate::comment::{Comment, Release, Thread};
use crate::delivery::ParseError;
use crate::pull_request::PullRequestEvent;

/// Characters of an issue's texts.
const ID: usize = 200;
const TITLE: usize = 512;
const NAME: usize = 128;
const LABEL: usize = 64;
/// How many an issue has at most.
const LABELS: usize = 32;
const LINKS: usize = 16;
/// Characters of a URL, and of a repository's path or a ref.
const URL: usize = 2048;
const PATH: usize = 512;
/// Digits of a number that hosts give things: fewer than a payment card has.
const NUMBER: usize = 12;
/// Commits of a push: more than senders name.
const COMMITS: usize = 2048;
/// The times that every date format can say.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// What happened, as far as the memory learns from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// Commits came to a branch or tag, or it went away.
    Push(Push),
    /// What a tracker says of an issue now.
    Issue(Issue),
    /// An issue is gone.
    IssueGone {
        /// The tracker's own id.
        external_id: String,
    },
    /// What a git host says of a pull or merge request now.
    Change(PullRequestEvent),
    /// How a run of CI on a commit stands.
    Ci(CiRun),
    /// Something was said of an issue or a change, which itself is as it was.
    Said {
        /// Of which.
        thread: Thread,
        /// What.
        comment: Comment,
    },
    /// A version was published, changed or withdrawn.
    Release(Release),
    /// Pages of a repository's wiki changed, which is a repository of its own.
    Wiki(WikiPush),
    /// A page changed; what it says now is to be fetched.
    PageChanged {
        /// The wiki's own id.
        id: String,
    },
    /// A page is gone.
    PageGone {
        /// The wiki's own id.
        id: String,
    },
    /// Nothing that the memory learns from (yet).
    Ignored {
        /// Why, for people.
        reason: String,
    },
}

/// Commits that came to a branch or tag of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The repository at its host, such as `octocat/hello` or `group/sub/project`.
    pub path: String,
    /// Where it can be cloned from and looked at, as sent.
    pub urls: Vec<String>,
    /// In full, such as `refs/heads/main`.
    pub reference: String,
    /// Whether that is the repository's default branch.
    pub is_default: bool,
    /// What it points to now; `None` where it was deleted.
    pub after: Option<String>,
    /// Whether history was rewritten. GitLab doesn't say so.
    pub is_forced: bool,
    /// The commits that came with it, as far as the sender names them.
    #[serde(default)]
    pub commits: Vec<String>,
}

/// A repository with the pages of another one's wiki.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WikiPush {
    /// The repository at its host, such as `octocat/hello.wiki`.
    pub path: String,
    /// Where it can be cloned from, as sent.
    pub urls: Vec<String>,
}

/// An issue as its tracker has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The tracker's own id, such as `octocat/hello#12` or `CS-214`.
    pub external_id: String,
    /// Title.
    pub title: String,
    /// The tracker's word for the state.
    pub status: Option<String>,
    /// Who works on it.
    pub assignee: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// The issue at its tracker.
    pub links: Vec<Link>,
    /// When the tracker said so, by its clock.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether the delivery says all of it. Where it does not, what it leaves out is as it was.
    pub is_whole: bool,
    /// The comment that this was told because of.
    #[serde(default)]
    pub comment: Option<Comment>,
}

/// Where something can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What the link shows.
    pub title: String,
    /// `http` or `https`.
    pub url: String,
}

impl Event {
    /// The same with each of the sender's texts as `mask` has it. Of a path that is each part by itself besides: a
    /// number between slashes is taken for a part of an address otherwise.
    pub fn masked(mut self, mut mask: impl FnMut(&str) -> String) -> Self {
        match &mut self {
            // Ids of commits are told from secrets by where they stand and that they are whole.
            Self::Push(Push { path, urls, reference, .. }) => {
                for path in [path, reference].into_iter().chain(urls) {
                    *path = path_masked(path, &mut mask);
                }
            }
            Self::Wiki(WikiPush { path, urls }) => {
                for path in std::iter::once(path).chain(urls) {
                    *path = path_masked(path, &mut mask);
                }
            }
            Self::Change(change) => change.mask(&mut mask),
            Self::Ci(run) => run.mask(&mut mask),
            Self::Said { thread, comment } => {
                thread.mask(&mut mask);
                comment.mask(&mut mask);
            }
            Self::Release(release) => release.mask(&mut mask),
            Self::PageChanged { id } | Self::PageGone { id } if is_number(id) => {}
            Self::PageChanged { id } | Self::PageGone { id } => *id = mask(id),
            Self::Issue(issue) => {
                let Issue { external_id, title, status, assignee, labels, links, comment, .. } =
                    issue;
                if let Some(comment) = comment {
                    comment.mask(&mut mask);
                }
                *external_id = path_masked(external_id, &mut mask);
                let links = links.iter_mut().flat_map(|Link { title, url }| [title, url]);
                let texts = std::iter::once(title).chain(status).chain(assignee).chain(labels);
                texts.chain(links).for_each(|text| *text = mask(text));
            }
            Self::IssueGone { external_id } => *external_id = path_masked(external_id, &mut mask),
            Self::Ignored { reason } => *reason = mask(reason),
        }
        self
    }

    /// The same without what people said, but for that it is gone: for a project that takes none of it in.
    pub fn without_comments(mut self) -> Self {
        match &mut self {
            Self::Issue(issue) => {
                issue.comment = issue.comment.take().filter(|said| said.is_deleted);
            }
            Self::Change(change) => {
                change.comment = change.comment.take().filter(|said| said.is_deleted);
            }
            Self::Said { comment, .. } if !comment.is_deleted => {
                return Self::ignored(
                    "the project's policy takes in no comments (trackers.import_comments)",
                );
            }
            _ => {}
        }
        self
    }

    /// Which issue, change, release, page or repository it tells of: under another name it would be another's.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Issue(Issue { external_id, .. })
            | Self::IssueGone { external_id }
            | Self::Change(PullRequestEvent { external_id, .. })
            | Self::Said { thread: Thread { external_id, .. }, .. } => Some(external_id),
            Self::Ci(run) => Some(&run.repository),
            Self::Release(release) => Some(&release.path),
            Self::PageChanged { id } | Self::PageGone { id } => Some(id),
            Self::Push(_) | Self::Wiki(_) | Self::Ignored { .. } => None,
        }
    }

    /// Whether it says when that was. What does not may be said in the same words again, and be news.
    pub(crate) fn is_timed(&self) -> bool {
        match self {
            Self::Issue(issue) => issue.updated_at.is_some(),
            Self::Change(change) => change.updated_at.is_some(),
            Self::Ci(run) => run.updated_at.is_some(),
            // It may be gone, be there again, and be gone again.
            Self::IssueGone { .. } | Self::PageGone { .. } | Self::PageChanged { .. } => false,
            _ => true,
        }
    }

    /// Whether the same words are the same news. A repository may go back to where it was, and is only looked at.
    pub(crate) fn changes_once(&self) -> bool {
        !matches!(self, Self::Push(_) | Self::Wiki(_) | Self::Ignored { .. })
    }

    pub(crate) fn ignored(reason: impl Into<String>) -> Self {
        Self::Ignored { reason: reason.into() }
    }

    pub(crate) fn gone(external_id: String) -> Result<Self, ParseError> {
        Ok(Self::IssueGone { external_id: checked_id(external_id)? })
    }
}

impl Push {
    /// The event, unless what git is asked for later is not what git has.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        checked_path(self.path.clone())?;
        if !self.reference.starts_with("refs/") || !is_line(&self.reference, PATH) {
            return Err(ParseError::Unfit {
                what: "the ref",
                rule: "must begin with refs/ and be one line of 512 characters at most",
            });
        }
        if self.after.as_deref().is_some_and(|id| !is_object_id(id)) {
            return Err(ParseError::Unfit {
                what: "the id in after",
                rule: "must have 40 or 64 hexadecimal digits",
            });
        }
        let mut commits = self.commits;
        commits.retain(|id| is_object_id(id));
        commits.truncate(COMMITS);
        Ok(Event::Push(Self { urls: cloned_from(self.urls), commits: lowercase(commits), ..self }))
    }
}

impl WikiPush {
    /// The event, with addresses that git takes.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        let path = checked_path(self.path)?;
        Ok(Event::Wiki(Self { path, urls: cloned_from(self.urls) }))
    }
}

impl Issue {
    /// The event, with every text cut to its size.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        let labels = self.labels.iter().map(|label| line(label, LABEL));
        let links = self.links.into_iter().filter(|link| is_web(&link.url));
        Ok(Event::Issue(Self {
            external_id: checked_id(self.external_id)?,
            title: line(&self.title, TITLE),
            status: name(self.status),
            assignee: name(self.assignee),
            labels: labels.filter(|label| !label.is_empty()).take(LABELS).collect(),
            links: links.take(LINKS).collect(),
            updated_at: bounded_time(self.updated_at),
            is_whole: self.is_whole,
            comment: self.comment.map(Comment::bounded),
        }))
    }

    /// What comments on it belong to.
    pub fn thread(&self) -> Thread {
        Thread {
            external_id: self.external_id.clone(),
            title: self.title.clone(),
            url: self.links.first().map(|link| link.url.clone()).unwrap_or_default(),
        }
    }
}

/// Those addresses that git takes, each once.
fn cloned_from(given: Vec<String>) -> Vec<String> {
    let mut urls = Vec::new();
    for url in given {
        if (is_web(&url) || is_ssh(&url)) && !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

fn lowercase(ids: Vec<String>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_ascii_lowercase()).collect()
}

/// A text with each part of the path that it is masked by itself, too.
pub(crate) fn path_masked(path: &str, mut mask: impl FnMut(&str) -> String) -> String {
    let whole = mask(path);
    whole.split('/').map(mask).collect::<Vec<_>>().join("/")
}

/// Whether an id is what hosts number things by. It is left as it is: masked, two of them might be one.
pub(crate) fn is_number(id: &str) -> bool {
    (1..=NUMBER).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

/// The one link of an issue, where there is one.
pub(crate) fn links(title: &str, url: Option<String>) -> Vec<Link> {
    url.map(|url| Link { title: title.to_owned(), url }).into_iter().collect()
}

/// Whether a ref is that branch.
pub(crate) fn is_branch(reference: &str, branch: Option<&str>) -> bool {
    branch.is_some() && reference.strip_prefix("refs/heads/") == branch
}

/// What a ref points to; all zeros are git's word for nothing.
pub(crate) fn target(id: String) -> Option<String> {
    (!id.bytes().all(|digit| digit == b'0')).then_some(id)
}

/// A time as one of the senders writes it: RFC 3339, with `+0000` for the zone (Jira), or
/// `2015-04-26 08:28:42 UTC` (GitLab). `None` for what is no time: an issue is worth having without.
pub(crate) fn time(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"))
        .map(|time| time.to_utc())
        .or_else(|_| {
            NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S UTC").map(|time| time.and_utc())
        })
        .ok()
}

/// A repository's path, which is matched as a whole.
pub(crate) fn checked_path(path: String) -> Result<String, ParseError> {
    if is_line(&path, PATH) {
        return Ok(path);
    }
    Err(ParseError::Unfit {
        what: "the repository's path",
        rule: "must be one line of 512 characters at most",
    })
}

/// A commit's id in small letters, where it is one.
pub(crate) fn commit(id: Option<String>) -> Option<String> {
    id.filter(|id| is_object_id(id)).map(|id| id.to_ascii_lowercase())
}

/// An address that a browser may be sent to; empty without one.
pub(crate) fn page(url: Option<String>) -> String {
    url.filter(|url| is_web(url)).unwrap_or_default()
}

/// A name that says something, on one line.
pub(crate) fn name(text: Option<String>) -> Option<String> {
    text.map(|text| line(&text, NAME)).filter(|name| !name.is_empty())
}

/// A title on one line.
pub(crate) fn title(text: &str) -> String {
    line(text, TITLE)
}

/// A time that every date format can say.
pub(crate) fn bounded_time(time: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    time.filter(|time| YEARS.contains(&time.year()))
}

/// An id is matched as a whole, so it is refused and not cut.
pub(crate) fn checked_id(id: String) -> Result<String, ParseError> {
    if is_line(&id, ID) {
        return Ok(id);
    }
    Err(ParseError::Unfit { what: "the id", rule: "must be one line of 200 characters at most" })
}

fn is_line(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().count() <= max && !text.chars().any(is_break)
}

/// The text as one line of at most `max` characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    let flat: String = text.chars().map(|c| if is_break(c) { ' ' } else { c }).collect();
    flat.trim().chars().take(max).collect()
}

fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a browser may be sent there.
fn is_web(url: &str) -> bool {
    is_url(url) && Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// `ssh://host/path`, or `git@host:path` as git also takes it.
fn is_ssh(url: &str) -> bool {
    if !is_url(url) {
        return false;
    }
    if url.starts_with("ssh://") {
        return Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_host));
    }
    let Some((user, place)) = url.split_once('@') else { return false };
    let Some((host, path)) = place.split_once(':') else { return false };
    is_host(user) && is_host(host) && !path.is_empty() && !path.starts_with('-')
}

fn is_url(text: &str) -> bool {
    is_line(text, URL) && !text.contains(char::is_whitespace)
}

/// A host's or user's name. None begins with a dash: git hands it to ssh, which would take it for an option.
fn is_host(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part)
}

fn is_object_id(id: &str) -> bool {
    matches!(id.len(), 40 | 64) && id.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push() -> Push {
        Push {
            path: "octocat/hello".to_owned(),
            urls: Vec::new(),
            reference: "refs/heads/main".to_owned(),
            is_default: true,
            after: Some("a".repeat(40)),
            is_forced: false,
            commits: Vec::new(),
        }
    }

    fn issue() -> Issue {
        Issue {
            external_id: "CS-1".to_owned(),
            title: "T".to_owned(),
            status: None,
            assignee: None,
            labels: Vec::new(),
            links: Vec::new(),
            updated_at: None,
            is_whole: true,
            comment: None,
        }
    }

    fn bounded(issue: Issue) -> Issue {
        match issue.bounded() {
            Ok(Event::Issue(issue)) => issue,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_cut_between_characters_and_kept_on_a_line() {
        let long = bounded(Issue {
            title: "ж".repeat(600),
            status: Some(" in\u{2028}progress\r\n".to_owned()),
            assignee: Some("\u{7}\n".to_owned()),
            labels: vec!["я".repeat(99), String::new(), "a\tb".to_owned()],
            ..issue()
        });
        assert_eq!(long.title, "ж".repeat(512));
        assert_eq!(long.status.as_deref(), Some("in progress"));
        assert_eq!(long.assignee, None);
        assert_eq!(long.labels, ["я".repeat(64), "a b".to_owned()]);
        let many = bounded(Issue { labels: vec!["x".to_owned(); 40], ..issue() });
        assert_eq!(many.labels.len(), 32);
    }

    #[test]
    fn an_id_is_refused_rather_than_cut() {
        for id in [String::new(), "x".repeat(201), "A-1\n".to_owned(), "A\u{0}1".to_owned()] {
            let is_unfit = matches!(Event::gone(id.clone()), Err(ParseError::Unfit { .. }));
            assert!(is_unfit, "{id:?}");
            assert!(Issue { external_id: id.clone(), ..issue() }.bounded().is_err(), "{id:?}");
        }
        assert!(Event::gone("ü".repeat(200)).is_ok());
    }

    #[test]
    fn an_issue_links_to_the_web_alone() {
        let kept = |url: &str| {
            !bounded(Issue { links: links("Issue", Some(url.to_owned())), ..issue() })
                .links
                .is_empty()
        };
        assert!(kept("https://example.org/issues/1?a=b#c"));
        assert!(kept("http://example.org"));
        let long = format!("https://example.org/{}", "x".repeat(2048));
        let others = ["javascript:alert(1)", "ssh://git@example.org/a", "/a", "https://a b", ""];
        for url in others.into_iter().chain([long.as_str()]) {
            assert!(!kept(url), "{url}");
        }
    }

    #[test]
    fn a_push_names_each_address_once_and_none_that_git_would_stumble_over() {
        let sent = [
            "https://example.org/octocat/hello.git",
            "git@example.org:octocat/hello.git",
            "ssh://git@example.org:2222/octocat/hello.git",
            "https://example.org/octocat/hello.git",
            "https://example.org/octocat/hello",
            "git@-oProxyCommand=x:y",
            "-u@example.org:y",
            "git@example.org:",
            "git@example.org:-x",
            "ssh://-oProxyCommand=x/y",
            "ext::sh -c x",
            "file:///etc",
            "/srv/git",
            "https://example.org/a\nb",
        ];
        let Ok(Event::Push(push)) =
            Push { urls: sent.map(str::to_owned).to_vec(), ..push() }.bounded()
        else {
            panic!("refused");
        };
        assert_eq!(push.urls, [sent[0], sent[1], sent[2], sent[4]]);
    }

    #[test]
    fn a_push_that_git_can_make_nothing_of_is_refused() {
        assert!(push().bounded().is_ok());
        assert!(Push { after: None, ..push() }.bounded().is_ok());
        assert!(Push { after: Some("B".repeat(64)), ..push() }.bounded().is_ok());
        for after in ["", "--all", "abc", "g".repeat(40).as_str()] {
            assert!(Push { after: Some(after.to_owned()), ..push() }.bounded().is_err(), "{after}");
        }
        for reference in ["", "main", "--all", "refs/heads/a\nb"] {
            let odd = Push { reference: reference.to_owned(), ..push() };
            assert!(odd.bounded().is_err(), "{reference}");
        }
        assert!(Push { path: "x".repeat(513), ..push() }.bounded().is_err());
        assert!(Push { path: String::new(), ..push() }.bounded().is_err());
    }

    #[test]
    fn zeros_are_nothing() {
        assert_eq!(target("0".repeat(40)), None);
        assert_eq!(target("0".repeat(64)), None);
        assert_eq!(target("10".repeat(20)), Some("10".repeat(20)));
    }

    #[test]
    fn a_tag_is_never_the_default_branch() {
        assert!(is_branch("refs/heads/main", Some("main")));
        assert!(is_branch("refs/heads/a/b", Some("a/b")));
        assert!(!is_branch("refs/heads/b", Some("a/b")));
        assert!(!is_branch("refs/tags/main", Some("main")));
        assert!(!is_branch("refs/tags/main", None));
    }

    #[test]
    fn times_are_read_as_each_sender_writes_them() {
        let at = |text: &str| time(text).map(|time| time.to_rfc3339());
        let expected = Some("2019-08-27T19:43:24.193+00:00".to_owned());
        assert_eq!(at("2019-08-27T19:43:24.193Z"), expected);
        assert_eq!(at("2019-08-27T12:43:24.193-0700"), expected);
        assert_eq!(at("2015-04-26 08:28:42 UTC").as_deref(), Some("2015-04-26T08:28:42+00:00"));
        assert_eq!(at("yesterday"), None);
        let far = DateTime::from_timestamp_millis(i64::from(u32::MAX) * 1_000_000);
        assert!(far.is_some());
        assert_eq!(bounded(Issue { updated_at: far, ..issue() }).updated_at, None);
    }

    #[test]
    fn every_text_is_masked_and_paths_part_by_part() {
        let mask = |text: &str| {
            if text == "4111" { "****".to_owned() } else { text.replace("secret", "******") }
        };
        let Event::Push(pushed) = Event::Push(Push {
            path: "shop/4111".to_owned(),
            urls: vec!["https://example.org/4111/secret".to_owned()],
            reference: "refs/heads/4111".to_owned(),
            ..push()
        })
        .masked(mask) else {
            panic!("another event");
        };
        assert_eq!(pushed.path, "shop/****");
        assert_eq!(pushed.urls, ["https://example.org/****/******"]);
        assert_eq!(pushed.reference, "refs/heads/****");
        let told = Event::Issue(Issue {
            external_id: "shop/secret#1".to_owned(),
            title: "a secret".to_owned(),
            status: Some("secret".to_owned()),
            assignee: Some("secret".to_owned()),
            labels: vec!["secret".to_owned()],
            links: links("secret", Some("https://example.org/secret".to_owned())),
            ..issue()
        });
        let said = serde_json::to_string(&told.clone().masked(mask)).expect("JSON");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(told.masked(mask).subject(), Some("shop/******#1"));
        let gone = Event::IssueGone { external_id: "a/4111".to_owned() }.masked(mask);
        assert_eq!(gone.subject(), Some("a/****"));
    }

    #[test]
    fn an_event_is_kept_with_its_kind() {
        let event = Event::gone("CS-1".to_owned()).expect("an id");
        let kept = serde_json::to_value(&event).expect("JSON");
        assert_eq!(kept, serde_json::json!({"kind": "issue_gone", "external_id": "CS-1"}));
        let event = issue().bounded().expect("an issue");
        let kept = serde_json::to_value(&event).expect("JSON");
        assert_eq!(kept["kind"], "issue");
        assert_eq!(serde_json::from_value::<Event>(kept).expect("an event"), event);
    }
}
