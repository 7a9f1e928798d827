//! The issues of a project.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::project_segments;
use crate::error::Error;
use crate::event::{Comment, Issue, field};
use crate::http::{Http, Written};
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{
    self, CommentList, CommentPage, FieldSet, IssueSource, NewComment, RawComment, Source,
};
use crate::resource_name;

/// The filter has fractions of a second.
const TICK: TimeDelta = TimeDelta::milliseconds(1);
/// Notes on a page.
const NOTES: usize = 100;

pub(super) struct ProjectIssues {
    http: Http,
    path: String,
}

#[derive(Deserialize)]
pub(super) struct Item {
    iid: u64,
    title: String,
    state: Option<String>,
    description: Option<String>,
    author: Option<User>,
    assignee: Option<User>,
    assignees: Option<Vec<User>>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    confidential: bool,
    web_url: Option<String>,
    references: Option<References>,
    #[serde(default)]
    user_notes_count: u64,
    created_at: Option<DateTime<Utc>>,
    closed_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct References {
    full: Option<String>,
}

#[derive(Deserialize)]
struct User {
    name: Option<String>,
    username: Option<String>,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    author: Option<User>,
    #[serde(default)]
    body: String,
    /// Whether GitLab wrote the note.
    #[serde(default)]
    system: bool,
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    confidential: bool,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

/// Returns the credential's user.
async fn current_user(http: &Http) -> Result<User, Error> {
    http.get(&["api", "v4", "user"], &[], "to read the token's user").await
}

pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    let user = current_user(&http).await?;
    Ok(user.author_name().unwrap_or_default())
}

impl ProjectIssues {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let path = resource_name::path(&http, resource)?;
        Ok(Self { http, path })
    }

    fn number(&self, external_id: &str) -> Result<u64, Error> {
        resource_name::number(&self.http, external_id, &format!("{}#", self.path))
    }

    /// Reads a page of notes, newest first: of more notes than are read, those are worth more.
    async fn note_page(&self, iid: u64, page: u64) -> Result<CommentPage<Note>, Error> {
        let action = format!("to list the notes of {}#{iid}", self.path);
        let (iid, per_page, page) = (iid.to_string(), NOTES.to_string(), (page + 1).to_string());
        let query = [
            ("order_by", "created_at"),
            ("sort", "desc"),
            ("per_page", per_page.as_str()),
            ("page", page.as_str()),
        ];
        let segments = project_segments(&self.path, &["issues", &iid, "notes"]);
        Ok(CommentPage::of_size(self.http.get(&segments, &query, &action).await?, NOTES))
    }
}

impl Source for ProjectIssues {
    type Item = Item;
    type PublicItem = Issue;

    fn http(&self) -> &Http {
        &self.http
    }

    async fn list(&self, position: &Position, _: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.path);
        let (size, offset) = (self.http.page_size(100), position.offset());
        let (per_page, page) = (size.to_string(), (offset / size + 1).to_string());
        let mut query = vec![
            ("order_by", "updated_at"),
            ("sort", "asc"),
            ("scope", "all"),
            ("confidential", "false"),
            ("per_page", &per_page),
            ("page", &page),
        ];
        let since = position.since.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true));
        query.extend(since.as_deref().map(|since| ("updated_after", since)));
        let segments = project_segments(&self.path, &["issues"]);
        let items: Vec<Item> = self.http.get(&segments, &query, &action).await?;
        let more = PageMarker::after_full_page(offset, size, items.len());
        Ok(ListPage { items, more, tick: TICK })
    }

    fn public_item(&self, item: &Item) -> Option<Issue> {
        if item.confidential {
            return None;
        }
        let full = item.references.as_ref().and_then(|references| references.full.clone());
        let mut assignees = item.assignees.iter().flatten().chain(&item.assignee);
        Some(Issue {
            external_id: full.unwrap_or_else(|| format!("{}#{}", self.path, item.iid)),
            title: item.title.clone(),
            status: item.state.clone(),
            assignee: assignees.find_map(User::display_name),
            labels: item.labels.clone(),
            links: field::links("GitLab issue", item.web_url.clone()),
            opened_at: item.created_at,
            closed_at: item.closed_at,
            updated_at: Some(item.updated_at),
            is_whole: true,
            comment: None,
        })
    }
}

impl IssueSource for ProjectIssues {
    async fn description(&self, item: &Item) -> Option<Comment> {
        let author = item.author.as_ref().and_then(User::author_name);
        let text = item.description.as_deref().unwrap_or_default();
        listing::description(author, item.created_at, text)
    }

    async fn comments(&self, item: &Item) -> Result<CommentList, Error> {
        if item.user_notes_count == 0 {
            return Ok(CommentList::none());
        }
        let list = listing::read_public(0, |page| self.note_page(item.iid, page)).await?;
        Ok(list.reversed())
    }

    async fn list_own_comments(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let iid = self.number(external_id)?;
        let user = current_user(&self.http).await?;
        listing::read_own(&user, |page| self.note_page(iid, page)).await
    }

    async fn upsert_comment(&self, comment: NewComment<'_>) -> Result<String, Error> {
        let iid = self.number(comment.external_id)?.to_string();
        let action = format!("to post a note on {}", comment.external_id);
        let mut segments = project_segments(&self.path, &["issues", &iid, "notes"]);
        segments.extend(comment.earlier);
        let method = if comment.earlier.is_some() { Method::PUT } else { Method::POST };
        let note = json!({ "body": comment.text });
        let written: Written<u64> =
            self.http.write_and_read(method, &segments, &note, &action).await?;
        Ok(written.id.to_string())
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.iid.to_string(), self.updated_at)
    }
}

impl User {
    fn display_name(&self) -> Option<String> {
        self.name.clone().or_else(|| self.username.clone())
    }

    /// Returns the name that webhooks have of the author of a note.
    fn author_name(&self) -> Option<String> {
        self.username.clone().or_else(|| self.name.clone())
    }
}

impl RawComment for Note {
    type User = User;

    fn is_public(&self) -> bool {
        !(self.system || self.internal || self.confidential)
    }

    fn is_by(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(|author| author.username.as_ref());
        !self.system && author.is_some() && author == user.username.as_ref()
    }

    async fn into_comment(self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::author_name);
        let times = [self.created_at, self.updated_at];
        listing::comment(self.id.to_string(), author, times, &self.body)
    }
}
