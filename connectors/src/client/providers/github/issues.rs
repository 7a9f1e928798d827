//! The issues of a repository.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use futures::future::BoxFuture;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use url::Url;

use super::GitHub;
use crate::client::http::Http;
use crate::client::incremental::{HasUpdatedAt, ListPage, Place, Position};
use crate::client::listing::{self, CommentList, FieldSet, Issues, Source};
use crate::client::{Error, resource_name};
use crate::comment::Comment;
use crate::event::{self, Issue};

/// GitHub writes times in seconds.
const TICK: TimeDelta = TimeDelta::seconds(1);
/// Comments in one answer, and answers for one issue.
const COMMENTS: usize = 100;
const COMMENT_PAGES: u64 = 10;
/// Answers that are looked through for comments of our own: they may be in the last.
const LOOKED_THROUGH: u64 = 100;

pub(in crate::client) struct RepositoryIssues {
    github: GitHub,
    owner: String,
    name: String,
}

#[derive(Serialize)]
struct Query<'a> {
    state: &'a str,
    sort: &'a str,
    direction: &'a str,
    per_page: u16,
    page: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

#[derive(Serialize)]
struct CommentQuery {
    per_page: usize,
    page: u64,
}

#[derive(Deserialize)]
pub(in crate::client) struct Item {
    number: u64,
    title: String,
    state: Option<String>,
    body: Option<String>,
    user: Option<User>,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    #[serde(default)]
    labels: Vec<Label>,
    html_url: Option<String>,
    /// As the API spells the repository, whose name people write in any case.
    repository_url: Option<Url>,
    #[serde(default)]
    comments: u64,
    created_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
    /// There for pull requests, which are issues too.
    pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Name(String),
    Object { name: Option<String> },
}

#[derive(Deserialize)]
struct Said {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

#[derive(Serialize)]
struct NewComment<'a> {
    body: &'a str,
}

impl RepositoryIssues {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let (owner, name) = resource_name::repository(&http, what)?;
        Ok(Self { github: GitHub::new(http), owner, name })
    }

    fn route(&self, rest: &str) -> String {
        format!("/repos/{}/{}/issues{rest}", self.owner, self.name)
    }

    async fn issues(&self, position: &Position) -> Result<ListPage<Item>, Error> {
        let per_page = self.github.http.settings().limits.page_size.clamp(1, 100);
        let offset = Place::offset(position.place.as_ref());
        let query = Query {
            state: "all",
            sort: "updated",
            direction: "asc",
            per_page,
            page: offset / u64::from(per_page) + 1,
            // GitHub says "after", and what changed in the same second counts as well.
            since: position.since.map(|time| written(time - TICK)),
        };
        let items: Vec<Item> = self.github.get(self.route(""), &query).await?;
        let is_full = items.len() >= usize::from(per_page);
        let more = is_full.then(|| Place::Offset(offset + u64::from(per_page)));
        Ok(ListPage { items, more, tick: TICK })
    }

    async fn said(&self, item: &Item) -> Result<CommentList, Error> {
        let author = item.user.as_ref().map(|user| user.login.clone());
        let body = item.body.as_deref().unwrap_or_default();
        let mut comments: Vec<Comment> =
            listing::description(author, item.created_at, body).into_iter().collect();
        let pages = if item.comments == 0 { 0 } else { COMMENT_PAGES };
        // GitHub has the oldest first alone; of more than are asked for the newest are worth more.
        let last = item.comments.div_ceil(COMMENTS as u64);
        let first = last.saturating_sub(COMMENT_PAGES - 1).max(1);
        let mut is_all = pages == 0;
        for page in first..first + pages {
            let query = CommentQuery { per_page: COMMENTS, page };
            let route = self.route(&format!("/{}/comments", item.number));
            let answer: Vec<Said> = self.github.get(route, &query).await?;
            let is_last = answer.len() < COMMENTS;
            comments.extend(answer.into_iter().filter_map(Said::comment));
            if is_last {
                is_all = first == 1;
                break;
            }
        }
        Ok(CommentList { comments, is_all })
    }
}

impl Source for RepositoryIssues {
    type Item = Item;

    fn http(&self) -> &Http {
        &self.github.http
    }

    fn list<'a>(
        &'a self,
        position: &'a Position,
        _: FieldSet,
    ) -> BoxFuture<'a, Result<ListPage<Item>, Error>> {
        Box::pin(self.issues(position))
    }
}

impl Issues for RepositoryIssues {
    fn issue(&self, item: &Item) -> Option<Issue> {
        if item.pull_request.is_some() {
            return None;
        }
        let assignees = item.assignee.iter().chain(item.assignees.iter().flatten());
        let issue = Issue {
            external_id: format!("{}#{}", self.full_name(item), item.number),
            title: item.title.clone(),
            status: item.state.clone(),
            assignee: assignees.map(|user| user.login.clone()).next(),
            labels: item.labels.iter().filter_map(Label::name).collect(),
            links: event::links("GitHub issue", item.html_url.clone()),
            updated_at: Some(item.updated_at),
            is_whole: true,
            comment: None,
        };
        listing::bounded(issue, &self.github.http)
    }

    fn comments<'a>(&'a self, item: &'a Item) -> BoxFuture<'a, Result<CommentList, Error>> {
        Box::pin(self.said(item))
    }

    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>> {
        Box::pin(async move { self.own(self.number(external_id)?).await })
    }

    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let (number, comment) = (self.number(external_id)?, NewComment { body: text });
            let said: Said = match earlier {
                Some(id) => {
                    let id = resource_name::number(&self.github.http, id, "")?;
                    self.github.patch(self.route(&format!("/comments/{id}")), &comment).await?
                }
                None => {
                    self.github.post(self.route(&format!("/{number}/comments")), &comment).await?
                }
            };
            Ok(said.id.to_string())
        })
    }
}

impl RepositoryIssues {
    fn number(&self, external_id: &str) -> Result<u64, Error> {
        let prefix = format!("{}/{}#", self.owner, self.name);
        resource_name::number(&self.github.http, external_id, &prefix)
    }

    async fn own(&self, number: u64) -> Result<Vec<Comment>, Error> {
        let (me, mut comments) = (self.github.user().await?, Vec::new());
        for page in 1..=LOOKED_THROUGH {
            let query = CommentQuery { per_page: COMMENTS, page };
            let route = self.route(&format!("/{number}/comments"));
            let answer: Vec<Said> = self.github.get(route, &query).await?;
            let is_last = answer.len() < COMMENTS;
            let own = answer.into_iter().filter(|said| said.is_of(&me));
            comments.extend(own.filter_map(Said::comment));
            if is_last {
                break;
            }
        }
        Ok(comments)
    }

    /// `owner/name` as webhooks have it.
    fn full_name(&self, item: &Item) -> String {
        let segments = item.repository_url.as_ref().and_then(Url::path_segments);
        let mut last = segments.into_iter().flatten().rev();
        match (last.next(), last.next()) {
            (Some(name), Some(owner)) => format!("{owner}/{name}"),
            _ => format!("{}/{}", self.owner, self.name),
        }
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.number.to_string()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl Label {
    fn name(&self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name.clone()),
            Self::Object { name } => name.clone(),
        }
    }
}

impl Said {
    fn is_of(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == login)
    }

    fn comment(self) -> Option<Comment> {
        let author = self.user.map(|user| user.login);
        let times = [self.created_at, self.updated_at];
        listing::comment(self.id.to_string(), author, times, &self.body.unwrap_or_default())
    }
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
