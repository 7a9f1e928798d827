//! `YouTrack`, in the cloud and as a server.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::http::Http;
use crate::client::incremental::{HasUpdatedAt, ListPage, Place, Position};
use crate::client::listing::{self, CommentList, FieldSet, Issues, Source};
use crate::client::time_zone::Zone;
use crate::client::{ConnectorConfig, Error, credential, resource_name};
use crate::comment::Comment;
use crate::event::{self, Issue};
use crate::traits::Health;
use crate::youtrack::LIMITED;

/// Queries tell times apart by the second.
const TICK: TimeDelta = TimeDelta::seconds(1);
const FIELDS: &str = "idReadable,summary,description,created,updated,reporter(login,fullName),\
    tags(name),visibility($type),customFields(name,value(name,fullName,login)),\
    comments(id,text,created,updated,deleted,visibility($type),author(login,fullName))";
const COMMENT_FIELDS: &str =
    "id,text,created,updated,deleted,visibility($type),author(id,login,fullName)";
/// What says that an issue is there, and whether everybody may see it.
const IDS: &str = "idReadable,updated,visibility($type)";

/// A project, or the system by itself where the key is empty.
pub(in crate::client) struct YouTrack {
    http: Http,
    project: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct Item {
    id_readable: String,
    summary: Option<String>,
    description: Option<String>,
    reporter: Option<User>,
    visibility: Option<Typed>,
    #[serde(default)]
    tags: Vec<Named>,
    #[serde(default)]
    custom_fields: Vec<Field>,
    #[serde(default)]
    comments: Vec<Said>,
    created: Option<i64>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    updated: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "$type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

/// A value is a name, or what bears one, or several of those.
#[derive(Deserialize)]
struct Field {
    name: Option<String>,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct Said {
    id: String,
    text: Option<String>,
    author: Option<User>,
    visibility: Option<Typed>,
    #[serde(default)]
    deleted: bool,
    created: Option<i64>,
    updated: Option<i64>,
}

#[derive(Deserialize)]
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

/// An issue by the id that it has now.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identified {
    id_readable: String,
}

/// A comment that was written.
#[derive(Deserialize)]
struct Written {
    id: String,
}

#[derive(Serialize)]
struct NewComment<'a> {
    text: &'a str,
}

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
    let manners = credential::bearer(&settings)?;
    let base = settings.url.clone();
    Http::new(settings, base, manners)
}

impl YouTrack {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, what)?;
        Ok(Self { http, project })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, project: String::new() }
    }

    async fn issues(&self, position: &Position, wanted: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the issues of {}", self.project);
        let zone = self.zone().await?;
        let since = position.since.map_or_else(String::new, |since| {
            format!(" updated: {} .. *", zone.local(since).format("%Y-%m-%dT%H:%M:%S"))
        });
        let query = format!("project: {{{}}}{since} sort by: updated asc", self.project);
        let size = u64::from(self.http.settings().limits.page_size.max(1));
        let offset = Place::offset(position.place.as_ref());
        let (top, skip) = (size.to_string(), offset.to_string());
        let fields = match wanted {
            FieldSet::Whole => FIELDS,
            FieldSet::Ids => IDS,
        };
        let parameters =
            [("query", query.as_str()), ("fields", fields), ("$top", &top), ("$skip", &skip)];
        let items: Vec<Item> = self.http.get(&["api", "issues"], &parameters, &action).await?;
        let is_full = items.len() as u64 >= size;
        let more = is_full.then_some(Place::Offset(offset + size));
        Ok(ListPage { items, more, tick: zone.tick(TICK) })
    }

    /// The issue's id as its project spells it.
    fn id(&self, external_id: &str) -> Result<String, Error> {
        let number = resource_name::number(&self.http, external_id, &format!("{}-", self.project))?;
        Ok(format!("{}-{number}", self.project))
    }

    /// `YouTrack` answers to each id that an issue ever had.
    async fn keeps_its_id(&self, external_id: &str) -> Result<(), Error> {
        let id = self.id(external_id)?;
        let action = format!("to comment on {id}");
        let query = [("fields", "idReadable")];
        let found: Identified = self.http.get(&["api", "issues", &id], &query, &action).await?;
        let is_here = found.id_readable.eq_ignore_ascii_case(&id);
        if is_here { Ok(()) } else { Err(self.http.moved(&action)) }
    }

    /// Who the credential is for.
    async fn user(&self) -> Result<User, Error> {
        let action = "to say who the token is for";
        let query = [("fields", "id,login,fullName")];
        self.http.get(&["api", "users", "me"], &query, action).await
    }

    /// Queries are read in the zone of whoever asks.
    async fn zone(&self) -> Result<Zone, Error> {
        if self.http.settings().token.is_none() {
            return Ok(Zone::named(None));
        }
        let action = "to say in which time zone its user is";
        let segments = ["api", "users", "me", "profiles", "general"];
        let query = [("fields", "timezone(id)")];
        let profile: Profile = self.http.get(&segments, &query, action).await?;
        let name = profile.timezone.and_then(|zone| zone.id);
        Ok(Zone::named(name.as_deref()))
    }
}

impl Source for YouTrack {
    type Item = Item;

    fn http(&self) -> &Http {
        &self.http
    }

    fn list<'a>(
        &'a self,
        position: &'a Position,
        wanted: FieldSet,
    ) -> BoxFuture<'a, Result<ListPage<Item>, Error>> {
        Box::pin(self.issues(position, wanted))
    }
}

impl Issues for YouTrack {
    fn issue(&self, item: &Item) -> Option<Issue> {
        if is_limited(item.visibility.as_ref()) {
            return None;
        }
        let page = self.http.url(&["issue", &item.id_readable], &[]);
        let issue = Issue {
            external_id: item.id_readable.clone(),
            title: item.summary.clone().unwrap_or_default(),
            status: item.field("State"),
            assignee: item.field("Assignee"),
            labels: item.tags.iter().filter_map(|tag| tag.name.clone()).collect(),
            links: event::links("YouTrack issue", Some(page.into())),
            updated_at: Some(item.updated),
            is_whole: true,
            comment: None,
        };
        listing::bounded(issue, &self.http)
    }

    fn check_not_moved<'a>(&'a self, external_id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.keeps_its_id(external_id))
    }

    fn comments<'a>(&'a self, item: &'a Item) -> BoxFuture<'a, Result<CommentList, Error>> {
        let author = item.reporter.as_ref().and_then(User::shown);
        let created = item.created.and_then(DateTime::from_timestamp_millis);
        let body = item.description.as_deref().unwrap_or_default();
        let description = listing::description(author, created, body).into_iter();
        let comments = description.chain(item.comments.iter().filter_map(Said::comment)).collect();
        Box::pin(async move { Ok(CommentList { comments, is_all: true }) })
    }

    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>> {
        Box::pin(async move {
            let (id, me) = (self.id(external_id)?, self.user().await?);
            let action = format!("to list the comments of {id}");
            let segments = ["api", "issues", &id, "comments"];
            // All of them, as where they come with their issue.
            let query = [("fields", COMMENT_FIELDS), ("$top", "10000")];
            let said: Vec<Said> = self.http.get(&segments, &query, &action).await?;
            Ok(said.iter().filter(|one| one.is_of(&me)).filter_map(Said::taken).collect())
        })
    }

    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let id = self.id(external_id)?;
            let action = format!("to take a comment on {id}");
            let mut segments = vec!["api", "issues", &id, "comments"];
            segments.extend(earlier);
            let comment = NewComment { text };
            let written: Written =
                self.http.write_for(Method::POST, &segments, &comment, &action).await?;
            Ok(written.id)
        })
    }
}

impl Health for YouTrack {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let user = self.user().await?;
            Ok(user.login.or(user.full_name).unwrap_or_default())
        })
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.id_readable.clone()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.updated
    }
}

impl Item {
    fn field(&self, name: &str) -> Option<String> {
        let field = self.custom_fields.iter().find(|field| field.name.as_deref() == Some(name))?;
        shown(&field.value)
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => values.iter().find_map(shown),
        Value::Object(_) => {
            ["fullName", "name", "login"].iter().find_map(|key| shown(&value[*key]))
        }
        _ => None,
    }
}

fn is_limited(visibility: Option<&Typed>) -> bool {
    visibility.and_then(|visibility| visibility.kind.as_deref()) == Some(LIMITED)
}

impl User {
    fn shown(&self) -> Option<String> {
        self.full_name.clone().or_else(|| self.login.clone())
    }
}

impl Said {
    fn comment(&self) -> Option<Comment> {
        if self.deleted || is_limited(self.visibility.as_ref()) {
            return None;
        }
        self.taken()
    }

    /// The same, whoever may see it.
    fn taken(&self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::shown);
        let times = [self.created, self.updated];
        let times = times.map(|at| at.and_then(DateTime::from_timestamp_millis));
        listing::comment(self.id.clone(), author, times, self.text.as_deref()?)
    }

    /// Whether that user said it, and did not take it back.
    fn is_of(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(|author| author.id.as_ref());
        !self.deleted && author.is_some() && author == user.id.as_ref()
    }
}
