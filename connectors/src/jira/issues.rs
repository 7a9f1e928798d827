//! The issues of a project.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use super::adf;
use super::client::{Client, Edition};
use super::wire::{CloudSearch, CommentsResponse, IssueComment, IssueKey, Item, Search, User};
use crate::error::Error;
use crate::event::{Comment, Issue, field};
use crate::http::{Http, Written};
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{
    self, CommentList, CommentPage, FieldSet, IssueSource, NewComment, RawComment, Source,
};
use crate::resource_name;
use crate::time_zone::UserZone;

/// The query language has minutes.
const TICK: TimeDelta = TimeDelta::minutes(1);
const FIELDS: &str = "summary,status,assignee,creator,labels,description,security,created,\
    resolutiondate,updated";
const ID_FIELDS: &str = "security,updated";
/// Comments on a page.
const COMMENTS: u64 = 100;
/// The property that hides a comment from the customers of a service desk.
const INTERNAL: &str = "sd.public.comment";

pub(super) struct ProjectIssues {
    client: Client,
    project: String,
}

impl ProjectIssues {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, resource)?;
        Ok(Self { client: Client::new(http), project })
    }

    fn query(&self, position: &Position, zone: UserZone) -> String {
        let since = position.since.map_or_else(String::new, |since| {
            format!(" AND updated >= \"{}\"", zone.local(since).format("%Y-%m-%d %H:%M"))
        });
        format!("project = \"{}\"{since} ORDER BY updated ASC, key ASC", self.project)
    }

    /// Searches with the parameters that the editions have in common, and those of `position`.
    async fn search(
        &self,
        edition: Edition,
        parameters: [(&str, &str); 2],
        position: &Position,
    ) -> Result<(Vec<Item>, Option<PageMarker>), Error> {
        let action = format!("to list the issues of {}", self.project);
        let mut parameters = parameters.to_vec();
        match edition {
            Edition::Cloud => {
                let size = self.http().page_size(100).to_string();
                parameters.push(("maxResults", &size));
                parameters.extend(position.token().map(|token| ("nextPageToken", token)));
                let segments = ["3", "search", "jql"];
                let found: CloudSearch = self.client.get(&segments, &parameters, &action).await?;
                Ok((found.issues, found.next_page_token.map(PageMarker::Token)))
            }
            Edition::DataCenter => {
                let (size, offset) = (self.http().page_size(1000).to_string(), position.offset());
                let start = offset.to_string();
                parameters.extend([("maxResults", size.as_str()), ("startAt", &start)]);
                let found: Search = self.client.get(&["2", "search"], &parameters, &action).await?;
                let more = PageMarker::before_total(offset, found.issues.len(), found.total);
                Ok((found.issues, more))
            }
        }
    }

    /// Reads a page of comments, newest first: if there are too many, those are worth more.
    async fn comment_page(&self, key: &str, page: u64) -> Result<CommentPage<IssueComment>, Error> {
        let (size, start) = (COMMENTS.to_string(), (page * COMMENTS).to_string());
        let query = [("startAt", start.as_str()), ("maxResults", &size), ("orderBy", "-created")];
        let api = self.client.edition().await?.api_version();
        let action = format!("to list the comments of {key}");
        let segments = [api, "issue", key, "comment"];
        let found: CommentsResponse = self.client.get(&segments, &query, &action).await?;
        let CommentsResponse { comments, total } = found;
        let is_last = comments.is_empty() || (page + 1) * COMMENTS >= total;
        Ok(CommentPage { comments, is_last, total: Some(total) })
    }

    /// Returns the key of an issue of this project.
    fn key(&self, external_id: &str) -> Result<String, Error> {
        let prefix = format!("{}-", self.project);
        let number = resource_name::number(self.http(), external_id, &prefix)?;
        Ok(format!("{}-{number}", self.project.to_ascii_uppercase()))
    }
}

impl Source for ProjectIssues {
    type Item = Item;
    type PublicItem = Issue;

    fn http(&self) -> &Http {
        &self.client.http
    }

    async fn list(&self, position: &Position, fields: FieldSet) -> Result<ListPage<Item>, Error> {
        let zone = self.client.user_zone().await?;
        let query = self.query(position, zone);
        let fields = match fields {
            FieldSet::Full => FIELDS,
            FieldSet::Ids => ID_FIELDS,
        };
        let parameters = [("jql", query.as_str()), ("fields", fields)];
        let edition = self.client.edition().await?;
        let (items, more) = self.search(edition, parameters, position).await?;
        Ok(ListPage { items, more, tick: zone.resolution(TICK) })
    }

    fn public_item(&self, item: &Item) -> Option<Issue> {
        let fields = &item.fields;
        if fields.security.is_some() {
            return None;
        }
        let page = self.http().url(&["browse", &item.key], &[]);
        Some(Issue {
            external_id: item.key.clone(),
            title: fields.summary.clone().unwrap_or_default(),
            status: fields.status.as_ref().and_then(|status| status.name.clone()),
            assignee: fields.assignee.as_ref().and_then(User::shown_name),
            labels: fields.labels.clone(),
            links: field::links("Jira issue", Some(page.into())),
            opened_at: field::optional_time(fields.created.as_deref()),
            closed_at: field::optional_time(fields.resolved.as_deref()),
            updated_at: Some(fields.updated),
            is_whole: true,
            comment: None,
        })
    }
}

impl IssueSource for ProjectIssues {
    async fn description(&self, item: &Item) -> Option<Comment> {
        let fields = &item.fields;
        let author = fields.creator.as_ref().and_then(User::shown_name);
        let created_at = field::optional_time(fields.created.clone());
        listing::description(author, created_at, &fields.description.clone().into_markdown().await)
    }

    async fn comments(&self, item: &Item) -> Result<CommentList, Error> {
        let list = listing::read_public(0, |page| self.comment_page(&item.key, page)).await?;
        Ok(list.reversed())
    }

    /// Jira keeps every former key of an issue as an alias.
    async fn check_not_moved(&self, external_id: &str) -> Result<(), Error> {
        let key = self.key(external_id)?;
        let api = self.client.edition().await?.api_version();
        let action = format!("to comment on {key}");
        let segments = [api, "issue", &key];
        let found: IssueKey = self.client.get(&segments, &[("fields", "updated")], &action).await?;
        let is_same = found.key.eq_ignore_ascii_case(&key);
        if is_same { Ok(()) } else { Err(self.http().resource_moved(&action)) }
    }

    async fn list_own_comments(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let key = self.key(external_id)?;
        let Some(user) = self.client.current_user().await? else { return Ok(Vec::new()) };
        listing::read_own(&user, |page| self.comment_page(&key, page)).await
    }

    async fn upsert_comment(&self, comment: NewComment<'_>) -> Result<String, Error> {
        let (key, edition) = (self.key(comment.external_id)?, self.client.edition().await?);
        let body = match edition {
            Edition::Cloud => adf::from_text(comment.text),
            Edition::DataCenter => Value::String(comment.text.to_owned()),
        };
        let mut segments = vec!["rest", "api", edition.api_version(), "issue", &key, "comment"];
        segments.extend(comment.earlier);
        let method = if comment.earlier.is_some() { Method::PUT } else { Method::POST };
        let internal = json!([{ "key": INTERNAL, "value": { "internal": true } }]);
        let body = json!({ "body": body, "properties": internal });
        let action = format!("to post a comment on {key}");
        let written: Written<String> =
            self.http().write_and_read(method, &segments, &body, &action).await?;
        Ok(written.id)
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.key.clone(), self.fields.updated)
    }
}

impl RawComment for IssueComment {
    type User = User;

    fn is_public(&self) -> bool {
        self.visibility.is_none() && self.jsd_public != Some(false)
    }

    fn is_by(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(User::id);
        author.is_some() && author == user.id()
    }

    async fn into_comment(self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::shown_name);
        let times = [self.created, self.updated].map(field::optional_time);
        listing::comment(self.id, author, times, &self.body.into_markdown().await)
    }
}
