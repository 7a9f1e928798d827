//! The issues of a project.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Visibility, is_limited};
use crate::error::Error;
use crate::event::{Comment, Issue, field};
use crate::http::{Http, Written};
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{
    self, CommentList, CommentPage, FieldSet, IssueSource, NewComment, RawComment, Source,
};
use crate::resource_name;
use crate::time_zone::UserZone;

/// The query language has seconds.
const TICK: TimeDelta = TimeDelta::seconds(1);
const FIELDS: &str = "idReadable,summary,description,created,resolved,updated,\
    reporter(login,fullName),tags(name),visibility($type),\
    customFields(name,value(name,fullName,login)),\
    comments(id,text,created,updated,deleted,visibility($type),author(login,fullName))";
const COMMENT_FIELDS: &str =
    "id,text,created,updated,deleted,visibility($type),author(id,login,fullName)";
const ID_FIELDS: &str = "idReadable,updated,visibility($type)";

pub(super) struct ProjectIssues {
    http: Http,
    project: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    id_readable: String,
    summary: Option<String>,
    description: Option<String>,
    reporter: Option<User>,
    visibility: Option<Visibility>,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    custom_fields: Vec<CustomField>,
    #[serde(default)]
    comments: Vec<IssueComment>,
    created: Option<i64>,
    resolved: Option<i64>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    updated: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Tag {
    name: Option<String>,
}

/// A field whose value is a name, an object with a name, or a list of those.
#[derive(Deserialize)]
struct CustomField {
    name: Option<String>,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize, Clone)]
struct IssueComment {
    id: String,
    text: Option<String>,
    author: Option<User>,
    visibility: Option<Visibility>,
    #[serde(default)]
    deleted: bool,
    created: Option<i64>,
    updated: Option<i64>,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct User {
    id: Option<String>,
    login: Option<String>,
    full_name: Option<String>,
}

#[derive(Deserialize)]
struct Profile {
    timezone: Option<TimeZone>,
}

#[derive(Deserialize)]
struct TimeZone {
    id: Option<String>,
}

/// The present id of an issue.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IssueId {
    id_readable: String,
}

/// Returns the credential's user.
async fn current_user(http: &Http) -> Result<User, Error> {
    let query = [("fields", "id,login,fullName")];
    http.get(&["api", "users", "me"], &query, "to read the token's user").await
}

pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    let user = current_user(&http).await?;
    Ok(user.login.or(user.full_name).unwrap_or_default())
}

impl ProjectIssues {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, resource)?;
        Ok(Self { http, project })
    }

    /// Returns the id of an issue of this project, in the project's spelling.
    fn id(&self, external_id: &str) -> Result<String, Error> {
        let number = resource_name::number(&self.http, external_id, &format!("{}-", self.project))?;
        Ok(format!("{}-{number}", self.project))
    }

    /// Returns the time zone of the credential's user, which queries use.
    async fn user_zone(&self) -> Result<UserZone, Error> {
        if !self.http.has_token() {
            return Ok(UserZone::named(None));
        }
        let action = "to read the time zone of the token's user";
        let segments = ["api", "users", "me", "profiles", "general"];
        let query = [("fields", "timezone(id)")];
        let profile: Profile = self.http.get(&segments, &query, action).await?;
        let name = profile.timezone.and_then(|zone| zone.id);
        Ok(UserZone::named(name.as_deref()))
    }

    /// Reads all comments on an issue: as many as its list of fields has.
    async fn all_comments(&self, id: &str) -> Result<CommentPage<IssueComment>, Error> {
        let action = format!("to list the comments of {id}");
        let segments = ["api", "issues", id, "comments"];
        let query = [("fields", COMMENT_FIELDS), ("$top", "10000")];
        Ok(CommentPage::single(self.http.get(&segments, &query, &action).await?))
    }
}

impl Source for ProjectIssues {
    type Item = Item;
    type PublicItem = Issue;

    fn http(&self) -> &Http {
        &self.http
    }

    async fn list(&self, position: &Position, fields: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.project);
        let zone = self.user_zone().await?;
        let since = position.since.map_or_else(String::new, |since| {
            format!(" updated: {} .. *", zone.local(since).format("%Y-%m-%dT%H:%M:%S"))
        });
        let query = format!("project: {{{}}}{since} sort by: updated asc", self.project);
        let (size, offset) = (self.http.page_size(u16::MAX), position.offset());
        let (top, skip) = (size.to_string(), offset.to_string());
        let fields = match fields {
            FieldSet::Full => FIELDS,
            FieldSet::Ids => ID_FIELDS,
        };
        let parameters =
            [("query", query.as_str()), ("fields", fields), ("$top", &top), ("$skip", &skip)];
        let items: Vec<Item> = self.http.get(&["api", "issues"], &parameters, &action).await?;
        let more = PageMarker::after_full_page(offset, size, items.len());
        Ok(ListPage { items, more, tick: zone.resolution(TICK) })
    }

    fn public_item(&self, item: &Item) -> Option<Issue> {
        if is_limited(item.visibility.as_ref()) {
            return None;
        }
        let page = self.http.url(&["issue", &item.id_readable], &[]);
        Some(Issue {
            external_id: item.id_readable.clone(),
            title: item.summary.clone().unwrap_or_default(),
            status: item.field("State"),
            assignee: item.field("Assignee"),
            labels: item.tags.iter().filter_map(|tag| tag.name.clone()).collect(),
            links: field::links("YouTrack issue", Some(page.into())),
            opened_at: item.created.and_then(DateTime::from_timestamp_millis),
            closed_at: item.resolved.and_then(DateTime::from_timestamp_millis),
            updated_at: Some(item.updated),
            is_whole: true,
            comment: None,
        })
    }
}

impl IssueSource for ProjectIssues {
    async fn description(&self, item: &Item) -> Option<Comment> {
        let author = item.reporter.as_ref().and_then(User::shown_name);
        let created_at = item.created.and_then(DateTime::from_timestamp_millis);
        let text = item.description.as_deref().unwrap_or_default();
        listing::description(author, created_at, text)
    }

    /// The comments are a field of the issue.
    async fn comments(&self, item: &Item) -> Result<CommentList, Error> {
        let public = item.comments.iter().filter(|comment| comment.is_public()).cloned();
        let mut comments = Vec::new();
        for comment in public {
            comments.extend(comment.into_comment().await);
        }
        Ok(CommentList { comments, has_all: true })
    }

    /// `YouTrack` keeps every former id of an issue as an alias.
    async fn check_not_moved(&self, external_id: &str) -> Result<(), Error> {
        let id = self.id(external_id)?;
        let action = format!("to comment on {id}");
        let query = [("fields", "idReadable")];
        let found: IssueId = self.http.get(&["api", "issues", &id], &query, &action).await?;
        let is_same = found.id_readable.eq_ignore_ascii_case(&id);
        if is_same { Ok(()) } else { Err(self.http.resource_moved(&action)) }
    }

    async fn list_own_comments(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let id = self.id(external_id)?;
        let user = current_user(&self.http).await?;
        listing::read_own(&user, |_| self.all_comments(&id)).await
    }

    async fn upsert_comment(&self, comment: NewComment<'_>) -> Result<String, Error> {
        let id = self.id(comment.external_id)?;
        let action = format!("to post a comment on {id}");
        let mut segments = vec!["api", "issues", &id, "comments"];
        segments.extend(comment.earlier);
        let body = json!({ "text": comment.text });
        let written: Written<String> =
            self.http.write_and_read(Method::POST, &segments, &body, &action).await?;
        Ok(written.id)
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.id_readable.clone(), self.updated)
    }
}

impl Item {
    fn field(&self, name: &str) -> Option<String> {
        let field = self.custom_fields.iter().find(|field| field.name.as_deref() == Some(name))?;
        shown_value(&field.value)
    }
}

fn shown_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => values.iter().find_map(shown_value),
        Value::Object(_) => {
            ["fullName", "name", "login"].iter().find_map(|key| shown_value(&value[*key]))
        }
        _ => None,
    }
}

impl User {
    fn shown_name(&self) -> Option<String> {
        self.full_name.clone().or_else(|| self.login.clone())
    }
}

impl RawComment for IssueComment {
    type User = User;

    fn is_public(&self) -> bool {
        !self.deleted && !is_limited(self.visibility.as_ref())
    }

    fn is_by(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(|author| author.id.as_ref());
        !self.deleted && author.is_some() && author == user.id.as_ref()
    }

    async fn into_comment(self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::shown_name);
        let times = [self.created, self.updated];
        let times = times.map(|at| at.and_then(DateTime::from_timestamp_millis));
        listing::comment(self.id, author, times, self.text.as_deref()?)
    }
}
