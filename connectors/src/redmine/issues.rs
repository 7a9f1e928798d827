//! The issues of a project.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::event::{Comment, Issue, field};
use crate::http::Http;
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{
    self, CommentList, CommentPage, FieldSet, IssueSource, NewComment, RawComment, Source,
};
use crate::resource_name;

/// Redmine writes times in seconds.
const TICK: TimeDelta = TimeDelta::seconds(1);

pub(super) struct ProjectIssues {
    http: Http,
    project: String,
}

#[derive(Deserialize)]
struct ListResponse {
    issues: Vec<Item>,
    total_count: u64,
}

#[derive(Deserialize)]
pub(super) struct Item {
    id: u64,
    subject: String,
    description: Option<String>,
    status: Option<Status>,
    author: Option<Named>,
    assigned_to: Option<Named>,
    #[serde(default)]
    is_private: bool,
    created_on: Option<DateTime<Utc>>,
    closed_on: Option<DateTime<Utc>>,
    updated_on: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Status {
    name: Option<String>,
    is_closed: Option<bool>,
}

#[derive(Deserialize)]
struct Named {
    id: Option<u64>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct JournalsResponse {
    issue: IssueJournals,
}

#[derive(Deserialize)]
struct IssueJournals {
    #[serde(default)]
    journals: Vec<Journal>,
}

/// A change of an issue, which may have a note.
#[derive(Deserialize)]
struct Journal {
    id: u64,
    user: Option<Named>,
    notes: Option<String>,
    #[serde(default)]
    private_notes: bool,
    created_on: Option<DateTime<Utc>>,
    /// Sent by newer versions.
    updated_on: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct IssueProjectResponse {
    issue: ProjectResponse,
}

#[derive(Deserialize)]
struct ProjectResponse {
    project: ProjectId,
}

/// Issues name their project by its id and not by its identifier.
#[derive(Deserialize)]
struct ProjectId {
    id: u64,
}

#[derive(Deserialize)]
struct UserResponse {
    user: User,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    login: String,
}

/// Returns the credential's user.
async fn current_user(http: &Http) -> Result<User, Error> {
    let action = "to read the token's user";
    let UserResponse { user } = http.get(&["users", "current.json"], &[], action).await?;
    Ok(user)
}

pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    Ok(current_user(&http).await?.login)
}

impl ProjectIssues {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, resource)?;
        Ok(Self { http, project })
    }

    fn number(&self, external_id: &str) -> Result<u64, Error> {
        resource_name::number(&self.http, external_id, "redmine#")
    }

    /// Reads all journals of an issue, oldest first. Redmine has no pages of them.
    async fn journals(&self, issue: u64) -> Result<CommentPage<Journal>, Error> {
        let (file, action) = (format!("{issue}.json"), format!("to read issue {issue}"));
        let query = [("include", "journals")];
        let JournalsResponse { issue } = self.http.get(&["issues", &file], &query, &action).await?;
        Ok(CommentPage::single(issue.journals))
    }

    /// Creates a note. Redmine returns no id: it is the user's last note with the same first line.
    async fn create_note(&self, issue: u64, text: &str) -> Result<String, Error> {
        let user = current_user(&self.http).await?;
        let (file, action) = (format!("{issue}.json"), format!("to post a note on issue {issue}"));
        let body = json!({ "issue": { "notes": text } });
        self.http.write(Method::PUT, &["issues", &file], &body, &action).await?;
        let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let is_written = |notes: &str| first_line(notes) == first_line(text);
        let journals = self.journals(issue).await?.comments;
        let own = journals.iter().filter(|journal| journal.is_by(&user));
        let written = own.rev().find(|journal| journal.notes.as_deref().is_some_and(is_written));
        let id = written.map(|journal| journal.id.to_string());
        id.ok_or_else(|| self.http.unavailable("it does not list the note that it accepted"))
    }

    /// Updates a note, which Redmine can since version 5.0.
    async fn update_note(&self, note: &str, text: &str) -> Result<String, Error> {
        let file = format!("{note}.json");
        let action = format!("to update note {note} (requires Redmine 5.0 or later)");
        let body = json!({ "journal": { "notes": text } });
        self.http.write(Method::PUT, &["journals", &file], &body, &action).await?;
        Ok(note.to_owned())
    }
}

impl Source for ProjectIssues {
    type Item = Item;
    type PublicItem = Issue;

    fn http(&self) -> &Http {
        &self.http
    }

    async fn list(&self, position: &Position, _: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.project);
        let (limit, offset) = (self.http.page_size(100).to_string(), position.offset());
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
        // A deleted project is not found by its address. As a filter it would be ignored.
        let segments = ["projects", &self.project, "issues.json"];
        let found: ListResponse = self.http.get(&segments, &query, &action).await?;
        let more = PageMarker::before_total(offset, found.issues.len(), found.total_count);
        Ok(ListPage { items: found.issues, more, tick: TICK })
    }

    fn public_item(&self, item: &Item) -> Option<Issue> {
        if item.is_private {
            return None;
        }
        let name = |named: &Option<Named>| named.as_ref().and_then(|named| named.name.clone());
        // A reopened issue still has the time when it was closed.
        let is_open = item.status.as_ref().is_some_and(|status| status.is_closed == Some(false));
        let page = self.http.url(&["issues", &item.id.to_string()], &[]);
        Some(Issue {
            external_id: format!("redmine#{}", item.id),
            title: item.subject.clone(),
            status: item.status.as_ref().and_then(|status| status.name.clone()),
            assignee: name(&item.assigned_to),
            labels: Vec::new(),
            links: field::links("Redmine issue", Some(page.into())),
            opened_at: item.created_on,
            closed_at: item.closed_on.filter(|_| !is_open),
            updated_at: Some(item.updated_on),
            is_whole: true,
            comment: None,
        })
    }
}

impl IssueSource for ProjectIssues {
    async fn description(&self, item: &Item) -> Option<Comment> {
        let author = item.author.as_ref().and_then(|author| author.name.clone());
        let text = item.description.as_deref().unwrap_or_default();
        listing::description(author, item.created_on, text)
    }

    async fn comments(&self, item: &Item) -> Result<CommentList, Error> {
        listing::read_public(0, |_| self.journals(item.id)).await
    }

    /// The number of an issue does not tell its project.
    async fn check_not_moved(&self, external_id: &str) -> Result<(), Error> {
        let issue = self.number(external_id)?;
        let (file, action) = (format!("{issue}.json"), format!("to comment on issue {issue}"));
        let found: IssueProjectResponse = self.http.get(&["issues", &file], &[], &action).await?;
        let file = format!("{}.json", self.project);
        let own: ProjectResponse = self.http.get(&["projects", &file], &[], &action).await?;
        let is_same = found.issue.project.id == own.project.id;
        if is_same { Ok(()) } else { Err(self.http.resource_moved(&action)) }
    }

    async fn list_own_comments(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let issue = self.number(external_id)?;
        let user = current_user(&self.http).await?;
        listing::read_own(&user, |_| self.journals(issue)).await
    }

    async fn upsert_comment(&self, comment: NewComment<'_>) -> Result<String, Error> {
        match comment.earlier {
            Some(id) => self.update_note(id, comment.text).await,
            None => self.create_note(self.number(comment.external_id)?, comment.text).await,
        }
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.id.to_string(), self.updated_on)
    }
}

impl RawComment for Journal {
    type User = User;

    fn is_public(&self) -> bool {
        !self.private_notes
    }

    fn is_by(&self, user: &User) -> bool {
        self.user.as_ref().and_then(|author| author.id) == Some(user.id)
    }

    async fn into_comment(self) -> Option<Comment> {
        let author = self.user.and_then(|user| user.name);
        let times = [self.created_on, self.updated_on];
        listing::comment(self.id.to_string(), author, times, &self.notes?)
    }
}
