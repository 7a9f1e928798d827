//! GitLab, on gitlab.com and elsewhere.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use futures::future::BoxFuture;
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::client::http::Http;
use crate::client::incremental::{HasUpdatedAt, ListPage, Place, Position};
use crate::client::listing::{self, CommentList, FieldSet, Issues, Source};
use crate::client::{ConnectorConfig, Error, credential, resource_name};
use crate::comment::Comment;
use crate::event::{self, Issue};
use crate::traits::{GitHost, Health};

const API: [&str; 3] = ["api", "v4", "projects"];
/// The filter takes fractions of a second.
const TICK: TimeDelta = TimeDelta::milliseconds(1);
const NOTES: usize = 100;
const NOTE_PAGES: u32 = 10;
/// Answers that are looked through for notes of our own: they may be in the last.
const LOOKED_THROUGH: u32 = 100;

/// A project, or the system by itself where the path is empty.
pub(in crate::client) struct GitLab {
    http: Http,
    path: String,
}

#[derive(Deserialize)]
pub(in crate::client) struct Item {
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
    /// Written by GitLab itself.
    #[serde(default)]
    system: bool,
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    confidential: bool,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Project {
    default_branch: Option<String>,
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Tag {
    target: String,
}

/// A note that was written.
#[derive(Deserialize)]
struct Written {
    id: u64,
}

#[derive(Serialize)]
struct NewNote<'a> {
    body: &'a str,
}

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
    let manners = credential::header(&settings, "private-token")?;
    let base = settings.url.clone();
    Http::new(settings, base, manners)
}

impl GitLab {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let path = resource_name::path(&http, what)?;
        Ok(Self { http, path })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, path: String::new() }
    }

    fn segments<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        API.iter().copied().chain([self.path.as_str()]).chain(rest.iter().copied()).collect()
    }

    async fn get<T: for<'de> Deserialize<'de>>(
        &self,
        rest: &[&str],
        query: &[(&str, &str)],
        action: &str,
    ) -> Result<T, Error> {
        self.http.get(&self.segments(rest), query, action).await
    }

    fn number(&self, external_id: &str) -> Result<u64, Error> {
        resource_name::number(&self.http, external_id, &format!("{}#", self.path))
    }

    async fn issues(&self, position: &Position) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.path);
        let size = u64::from(self.http.settings().limits.page_size.clamp(1, 100));
        let offset = Place::offset(position.place.as_ref());
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
        let items: Vec<Item> = self.get(&["issues"], &query, &action).await?;
        let is_full = items.len() as u64 >= size;
        Ok(ListPage { items, more: is_full.then_some(Place::Offset(offset + size)), tick: TICK })
    }

    async fn said(&self, item: &Item) -> Result<CommentList, Error> {
        let author = item.author.as_ref().and_then(User::known_as);
        let body = item.description.as_deref().unwrap_or_default();
        let description = listing::description(author, item.created_at, body);
        let pages = if item.user_notes_count == 0 { 0 } else { NOTE_PAGES };
        let (mut comments, mut is_all) = (Vec::new(), pages == 0);
        for page in 1..=pages {
            let notes = self.notes(item.iid, page).await?;
            is_all = notes.len() < NOTES;
            comments.extend(notes.into_iter().filter_map(Note::comment));
            if is_all {
                break;
            }
        }
        Ok(CommentList::newest_first(description, comments, is_all))
    }

    async fn own(&self, iid: u64) -> Result<Vec<Comment>, Error> {
        let (me, mut comments) = (self.user().await?, Vec::new());
        for page in 1..=LOOKED_THROUGH {
            let notes = self.notes(iid, page).await?;
            let is_last = notes.len() < NOTES;
            let own = notes.into_iter().filter(|note| note.is_of(&me));
            comments.extend(own.filter_map(Note::taken));
            if is_last {
                break;
            }
        }
        Ok(comments)
    }

    /// Who the credential is for.
    async fn user(&self) -> Result<User, Error> {
        self.http.get(&["api", "v4", "user"], &[], "to say who the token is for").await
    }

    /// A page of the notes, the newest first: of more than are asked for those are worth more.
    async fn notes(&self, iid: u64, page: u32) -> Result<Vec<Note>, Error> {
        let action = format!("to list the notes of {}#{iid}", self.path);
        let (iid, per_page, page) = (iid.to_string(), NOTES.to_string(), page.to_string());
        let query = [
            ("order_by", "created_at"),
            ("sort", "desc"),
            ("per_page", per_page.as_str()),
            ("page", page.as_str()),
        ];
        self.get(&["issues", &iid, "notes"], &query, &action).await
    }

    async fn find(&self, reference: Option<&str>) -> Result<Option<String>, Error> {
        let Some(reference) = reference else {
            let branch = self.project().await?.default_branch;
            return match branch {
                Some(branch) => self.branch(&branch).await,
                None => Ok(None),
            };
        };
        if let Some(branch) = reference.strip_prefix("refs/heads/") {
            return self.or_none(self.branch(branch).await?).await;
        }
        if let Some(tag) = reference.strip_prefix("refs/tags/") {
            return self.or_none(self.tag(tag).await?).await;
        }
        match self.branch(reference).await? {
            Some(found) => Ok(Some(found)),
            None => self.or_none(self.tag(reference).await?).await,
        }
    }

    /// Nobody sees a project that is gone, or not theirs to see, either.
    async fn or_none(&self, found: Option<String>) -> Result<Option<String>, Error> {
        if found.is_none() {
            self.project().await?;
        }
        Ok(found)
    }

    async fn project(&self) -> Result<Project, Error> {
        self.get(&[], &[], &format!("to look at {}", self.path)).await
    }

    async fn branch(&self, name: &str) -> Result<Option<String>, Error> {
        let action = format!("to look at a branch of {}", self.path);
        let branch = self.get::<Branch>(&["repository", "branches", name], &[], &action).await;
        there(branch.map(|branch| branch.commit.id))
    }

    async fn tag(&self, name: &str) -> Result<Option<String>, Error> {
        let action = format!("to look at a tag of {}", self.path);
        let tag = self.get::<Tag>(&["repository", "tags", name], &[], &action).await;
        there(tag.map(|tag| tag.target))
    }
}

fn there(found: Result<String, Error>) -> Result<Option<String>, Error> {
    match found {
        Ok(id) => Ok(Some(id)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Source for GitLab {
    type Item = Item;

    fn http(&self) -> &Http {
        &self.http
    }

    fn list<'a>(
        &'a self,
        position: &'a Position,
        _: FieldSet,
    ) -> BoxFuture<'a, Result<ListPage<Item>, Error>> {
        Box::pin(self.issues(position))
    }
}

impl Issues for GitLab {
    fn issue(&self, item: &Item) -> Option<Issue> {
        if item.confidential {
            return None;
        }
        let full = item.references.as_ref().and_then(|references| references.full.clone());
        let mut people = item.assignees.iter().flatten().chain(&item.assignee);
        let issue = Issue {
            external_id: full.unwrap_or_else(|| format!("{}#{}", self.path, item.iid)),
            title: item.title.clone(),
            status: item.state.clone(),
            assignee: people.find_map(User::shown),
            labels: item.labels.clone(),
            links: event::links("GitLab issue", item.web_url.clone()),
            updated_at: Some(item.updated_at),
            is_whole: true,
            comment: None,
        };
        listing::bounded(issue, &self.http)
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
            let iid = self.number(external_id)?.to_string();
            let action = format!("to take a note on {external_id}");
            let mut segments = self.segments(&["issues", &iid, "notes"]);
            segments.extend(earlier);
            let method = if earlier.is_some() { Method::PUT } else { Method::POST };
            let note = NewNote { body: text };
            let written: Written = self.http.write_for(method, &segments, &note, &action).await?;
            Ok(written.id.to_string())
        })
    }
}

impl GitHost for GitLab {
    fn resolve_ref<'a>(
        &'a self,
        reference: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>, Error>> {
        Box::pin(self.find(reference))
    }
}

impl Health for GitLab {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let user = self.user().await?;
            Ok(user.username.or(user.name).unwrap_or_default())
        })
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.iid.to_string()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl User {
    fn shown(&self) -> Option<String> {
        self.name.clone().or_else(|| self.username.clone())
    }

    /// As whoever says something is called in webhooks.
    fn known_as(&self) -> Option<String> {
        self.username.clone().or_else(|| self.name.clone())
    }
}

impl Note {
    fn comment(self) -> Option<Comment> {
        let is_everybodys = !(self.system || self.internal || self.confidential);
        is_everybodys.then(|| self.taken())?
    }

    /// The same, whoever may see it.
    fn taken(self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::known_as);
        let times = [self.created_at, self.updated_at];
        listing::comment(self.id.to_string(), author, times, &self.body)
    }

    /// Whether that user wrote it, and not GitLab in the user's name.
    fn is_of(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(|author| author.username.as_ref());
        !self.system && author.is_some() && author == user.username.as_ref()
    }
}
