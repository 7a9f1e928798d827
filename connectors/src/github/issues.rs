//! The issues of a repository.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::client::Client;
use crate::error::Error;
use crate::event::{Comment, Issue, field};
use crate::http::Http;
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{
    self, CommentList, CommentPage, FieldSet, IssueSource, MAX_PAGES, NewComment, RawComment,
    Source,
};
use crate::resource_name;

/// GitHub writes times in seconds.
const TICK: TimeDelta = TimeDelta::seconds(1);
/// Comments on a page.
const COMMENTS: usize = 100;

pub(super) struct RepositoryIssues {
    client: Client,
    owner: String,
    name: String,
}

#[derive(Serialize)]
struct ListQuery<'a> {
    state: &'a str,
    sort: &'a str,
    direction: &'a str,
    per_page: u64,
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
pub(super) struct Item {
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
    /// Has the repository's name in GitHub's spelling. The name of the resource may differ in case.
    repository_url: Option<Url>,
    #[serde(default)]
    comments: u64,
    created_at: Option<DateTime<Utc>>,
    closed_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
    /// Present if the issue is a pull request.
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
struct IssueComment {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

impl RepositoryIssues {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let (owner, name) = resource_name::repository(&http, resource)?;
        Ok(Self { client: Client::new(http), owner, name })
    }

    fn route(&self, rest: &str) -> String {
        format!("/repos/{}/{}/issues{rest}", self.owner, self.name)
    }

    fn number(&self, external_id: &str) -> Result<u64, Error> {
        let prefix = format!("{}/{}#", self.owner, self.name);
        resource_name::number(&self.client.http, external_id, &prefix)
    }

    /// Returns `owner/name` in GitHub's spelling, as webhooks have it.
    fn full_name(&self, item: &Item) -> String {
        let segments = item.repository_url.as_ref().and_then(Url::path_segments);
        let mut last = segments.into_iter().flatten().rev();
        match (last.next(), last.next()) {
            (Some(name), Some(owner)) => format!("{owner}/{name}"),
            _ => format!("{}/{}", self.owner, self.name),
        }
    }

    /// Reads a page of comments, oldest first, the only order that GitHub has.
    async fn comment_page(
        &self,
        number: u64,
        page: u64,
    ) -> Result<CommentPage<IssueComment>, Error> {
        let query = CommentQuery { per_page: COMMENTS, page: page + 1 };
        let route = self.route(&format!("/{number}/comments"));
        Ok(CommentPage::of_size(self.client.get(&route, &query).await?, COMMENTS))
    }
}

impl Source for RepositoryIssues {
    type Item = Item;
    type PublicItem = Issue;

    fn http(&self) -> &Http {
        &self.client.http
    }

    async fn list(&self, position: &Position, _: FieldSet) -> Result<ListPage<Item>, Error> {
        let size = self.http().page_size(100);
        let offset = position.offset();
        // GitHub's `since` excludes the time itself. Other changes may have the same second.
        let since = position.since.map(|time| time - TICK);
        let query = ListQuery {
            state: "all",
            sort: "updated",
            direction: "asc",
            per_page: size,
            page: offset / size + 1,
            since: since.map(|since| since.to_rfc3339_opts(SecondsFormat::Secs, true)),
        };
        let items: Vec<Item> = self.client.get(&self.route(""), &query).await?;
        let more = PageMarker::after_full_page(offset, size, items.len());
        Ok(ListPage { items, more, tick: TICK })
    }

    fn public_item(&self, item: &Item) -> Option<Issue> {
        if item.pull_request.is_some() {
            return None;
        }
        let mut assignees = item.assignee.iter().chain(item.assignees.iter().flatten());
        Some(Issue {
            external_id: format!("{}#{}", self.full_name(item), item.number),
            title: item.title.clone(),
            status: item.state.clone(),
            assignee: assignees.next().map(|user| user.login.clone()),
            labels: item.labels.iter().filter_map(Label::name).collect(),
            links: field::links("GitHub issue", item.html_url.clone()),
            opened_at: item.created_at,
            closed_at: item.closed_at,
            updated_at: Some(item.updated_at),
            is_whole: true,
            comment: None,
        })
    }
}

impl IssueSource for RepositoryIssues {
    async fn description(&self, item: &Item) -> Option<Comment> {
        let author = item.user.as_ref().map(|user| user.login.clone());
        listing::description(author, item.created_at, item.body.as_deref().unwrap_or_default())
    }

    /// Reads the last pages: of more comments than are read, the newest are worth more.
    async fn comments(&self, item: &Item) -> Result<CommentList, Error> {
        if item.comments == 0 {
            return Ok(CommentList::none());
        }
        let first = item.comments.div_ceil(COMMENTS as u64).saturating_sub(MAX_PAGES);
        listing::read_public(first, |page| self.comment_page(item.number, page)).await
    }

    async fn list_own_comments(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let number = self.number(external_id)?;
        let user = self.client.login().await?;
        listing::read_own(&user, |page| self.comment_page(number, page)).await
    }

    async fn upsert_comment(&self, comment: NewComment<'_>) -> Result<String, Error> {
        let number = self.number(comment.external_id)?;
        let body = json!({ "body": comment.text });
        let written: IssueComment = if let Some(id) = comment.earlier {
            let id = resource_name::number(self.http(), id, "")?;
            self.client.patch(&self.route(&format!("/comments/{id}")), &body).await?
        } else {
            self.client.post(&self.route(&format!("/{number}/comments")), &body).await?
        };
        Ok(written.id.to_string())
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.number.to_string(), self.updated_at)
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

impl RawComment for IssueComment {
    type User = String;

    fn is_public(&self) -> bool {
        true
    }

    fn is_by(&self, login: &String) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == *login)
    }

    async fn into_comment(self) -> Option<Comment> {
        let author = self.user.map(|user| user.login);
        let times = [self.created_at, self.updated_at];
        listing::comment(self.id.to_string(), author, times, &self.body.unwrap_or_default())
    }
}
