//! Redmine.

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
use crate::traits::Health;

/// Redmine writes times in seconds.
const TICK: TimeDelta = TimeDelta::seconds(1);

/// A project, or the system by itself where the identifier is empty.
pub(in crate::client) struct Redmine {
    http: Http,
    project: String,
}

#[derive(Deserialize)]
struct Answer {
    issues: Vec<Item>,
    total_count: u64,
}

#[derive(Deserialize)]
pub(in crate::client) struct Item {
    id: u64,
    subject: String,
    description: Option<String>,
    status: Option<Named>,
    author: Option<Named>,
    assigned_to: Option<Named>,
    #[serde(default)]
    is_private: bool,
    created_on: Option<DateTime<Utc>>,
    updated_on: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    id: Option<u64>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Detailed {
    issue: Journaled,
}

#[derive(Deserialize)]
struct Journaled {
    #[serde(default)]
    journals: Vec<Journal>,
}

#[derive(Deserialize)]
struct Journal {
    id: u64,
    user: Option<Author>,
    notes: Option<String>,
    #[serde(default)]
    private_notes: bool,
    created_on: Option<DateTime<Utc>>,
    /// Newer versions say so.
    updated_on: Option<DateTime<Utc>>,
}

/// An issue by the project that it is in.
#[derive(Deserialize)]
struct Placed {
    issue: Within,
}

#[derive(Deserialize)]
struct Within {
    project: Identified,
}

/// A project. Issues name theirs by its id and not by its identifier.
#[derive(Deserialize)]
struct Identified {
    id: u64,
}

#[derive(Deserialize)]
struct Current {
    user: User,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    login: String,
}

#[derive(Serialize)]
struct Update<'a> {
    issue: Notes<'a>,
}

#[derive(Serialize)]
struct Rewriting<'a> {
    journal: Notes<'a>,
}

#[derive(Serialize)]
struct Notes<'a> {
    notes: &'a str,
}

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
    let manners = credential::header(&settings, "x-redmine-api-key")?;
    let base = settings.url.clone();
    Http::new(settings, base, manners)
}

impl Redmine {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, what)?;
        Ok(Self { http, project })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, project: String::new() }
    }

    async fn issues(&self, position: &Position) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.project);
        let offset = Place::offset(position.place.as_ref());
        let limit = self.http.settings().limits.page_size.clamp(1, 100).to_string();
        let start = offset.to_string();
        let since = position.since.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true));
        let since = since.map(|since| format!(">={since}"));
        let mut query = vec![
            ("status_id", "*"),
            ("subproject_id", "!*"),
            ("sort", "updated_on,id"),
            ("limit", &limit),
            ("offset", &start),
        ];
        query.extend(since.as_deref().map(|since| ("updated_on", since)));
        // By its own address a project that is gone is not found; as a filter it would be ignored.
        let segments = ["projects", &self.project, "issues.json"];
        let Answer { issues, total_count } = self.http.get(&segments, &query, &action).await?;
        let end = offset + issues.len() as u64;
        let has_more = !issues.is_empty() && end < total_count;
        Ok(ListPage { items: issues, more: has_more.then_some(Place::Offset(end)), tick: TICK })
    }

    async fn said(&self, item: &Item) -> Result<CommentList, Error> {
        let journals = self.journals(item.id).await?;
        let author = item.author.as_ref().and_then(|author| author.name.clone());
        let body = item.description.as_deref().unwrap_or_default();
        let description = listing::description(author, item.created_on, body);
        let said = journals.into_iter().filter_map(Journal::comment);
        Ok(CommentList { comments: description.into_iter().chain(said).collect(), is_all: true })
    }
}

impl Redmine {
    fn number(&self, external_id: &str) -> Result<u64, Error> {
        resource_name::number(&self.http, external_id, "redmine#")
    }

    /// An issue's number says nothing of where it is.
    async fn is_in_the_project(&self, external_id: &str) -> Result<(), Error> {
        let issue = self.number(external_id)?;
        let (file, action) = (format!("{issue}.json"), format!("to comment on issue {issue}"));
        let found: Placed = self.http.get(&["issues", &file], &[], &action).await?;
        let file = format!("{}.json", self.project);
        let here: Within = self.http.get(&["projects", &file], &[], &action).await?;
        let is_here = found.issue.project.id == here.project.id;
        if is_here { Ok(()) } else { Err(self.http.moved(&action)) }
    }

    async fn journals(&self, issue: u64) -> Result<Vec<Journal>, Error> {
        let (file, action) = (format!("{issue}.json"), format!("to look at issue {issue}"));
        let query = [("include", "journals")];
        let Detailed { issue } = self.http.get(&["issues", &file], &query, &action).await?;
        Ok(issue.journals)
    }

    /// Who the credential is for.
    async fn user(&self) -> Result<User, Error> {
        let action = "to say who the token is for";
        let Current { user } = self.http.get(&["users", "current.json"], &[], action).await?;
        Ok(user)
    }

    /// Says something new. Redmine does not answer as which note: it is the last of our own that begins so.
    async fn note(&self, issue: u64, text: &str) -> Result<String, Error> {
        let me = self.user().await?;
        let (file, action) = (format!("{issue}.json"), format!("to take a note on issue {issue}"));
        let update = Update { issue: Notes { notes: text } };
        self.http.write(Method::PUT, &["issues", &file], &update, &action).await?;
        let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let journals = self.journals(issue).await?;
        let begins_so = |notes: &str| first_line(notes) == first_line(text);
        let own = journals.iter().filter(|journal| journal.is_of(&me));
        let written = own.rev().find(|journal| journal.notes.as_deref().is_some_and(begins_so));
        let written = written.map(|journal| journal.id.to_string());
        written.ok_or_else(|| self.http.unavailable("it does not show the note that it took"))
    }

    /// Says something else in a note. Redmine can since version 5.0.
    async fn rewrite(&self, note: &str, text: &str) -> Result<String, Error> {
        let file = format!("{note}.json");
        let action = format!("to change note {note} (which takes Redmine 5.0 or later)");
        let update = Rewriting { journal: Notes { notes: text } };
        self.http.write(Method::PUT, &["journals", &file], &update, &action).await?;
        Ok(note.to_owned())
    }
}

impl Source for Redmine {
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

impl Issues for Redmine {
    fn issue(&self, item: &Item) -> Option<Issue> {
        if item.is_private {
            return None;
        }
        let name = |named: &Option<Named>| named.as_ref().and_then(|named| named.name.clone());
        let page = self.http.url(&["issues", &item.id.to_string()], &[]);
        let issue = Issue {
            external_id: format!("redmine#{}", item.id),
            title: item.subject.clone(),
            status: name(&item.status),
            assignee: name(&item.assigned_to),
            labels: Vec::new(),
            links: event::links("Redmine issue", Some(page.into())),
            updated_at: Some(item.updated_on),
            is_whole: true,
            comment: None,
        };
        listing::bounded(issue, &self.http)
    }

    fn check_not_moved<'a>(&'a self, external_id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.is_in_the_project(external_id))
    }

    fn comments<'a>(&'a self, item: &'a Item) -> BoxFuture<'a, Result<CommentList, Error>> {
        Box::pin(self.said(item))
    }

    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>> {
        Box::pin(async move {
            let (issue, me) = (self.number(external_id)?, self.user().await?);
            let journals = self.journals(issue).await?.into_iter();
            Ok(journals.filter(|note| note.is_of(&me)).filter_map(Journal::taken).collect())
        })
    }

    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            match earlier {
                Some(id) => self.rewrite(id, text).await,
                None => self.note(self.number(external_id)?, text).await,
            }
        })
    }
}

impl Health for Redmine {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move { Ok(self.user().await?.login) })
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.updated_on
    }
}

impl Journal {
    fn comment(self) -> Option<Comment> {
        if self.private_notes { None } else { self.taken() }
    }

    /// The same, whoever may see it.
    fn taken(self) -> Option<Comment> {
        let author = self.user.and_then(|user| user.name);
        let times = [self.created_on, self.updated_on];
        listing::comment(self.id.to_string(), author, times, &self.notes?)
    }

    fn is_of(&self, user: &User) -> bool {
        self.user.as_ref().and_then(|author| author.id) == Some(user.id)
    }
}
