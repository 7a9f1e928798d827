//! The issues of a project.

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use reqwest::Method;
use serde_json::{Value, json};

use super::wire::{CloudSearch, Comments, Item, Keyed, Said, Search, Written};
use super::{Flavour, Jira, User};
use crate::client::http::Http;
use crate::client::incremental::{HasUpdatedAt, ListPage, Place, Position};
use crate::client::listing::{self, CommentList, FieldSet, Issues, Source};
use crate::client::text::adf;
use crate::client::time_zone::Zone;
use crate::client::{Error, resource_name};
use crate::comment::Comment;
use crate::event::{self, Issue};

/// Queries tell times apart by the minute.
const TICK: TimeDelta = TimeDelta::minutes(1);
const FIELDS: &str = "summary,status,assignee,creator,labels,description,security,created,updated";
/// What says that an issue is there, and whether everybody may see it.
const IDS: &str = "security,updated";
/// Comments in one answer, and answers for one issue.
const COMMENTS: u64 = 100;
const COMMENT_PAGES: u64 = 10;
/// Answers that are looked through for comments of our own: they may be in the last.
const LOOKED_THROUGH: u64 = 100;
/// Keeps a comment from the customers of a service desk. Elsewhere it means nothing.
const INTERNAL: &str = "sd.public.comment";

impl Jira {
    async fn issues(&self, position: &Position, wanted: FieldSet) -> Result<ListPage<Item>, Error> {
        let zone = self.zone().await?;
        let query = self.query(position, zone);
        let (items, more) = match self.flavour().await? {
            Flavour::Cloud => self.cloud_search(&query, fields(wanted), position).await?,
            Flavour::DataCenter => self.search(&query, fields(wanted), position).await?,
        };
        Ok(ListPage { items, more, tick: zone.tick(TICK) })
    }

    fn query(&self, position: &Position, zone: Zone) -> String {
        let since = position.since.map_or_else(String::new, |since| {
            format!(" AND updated >= \"{}\"", zone.local(since).format("%Y-%m-%d %H:%M"))
        });
        format!("project = \"{}\"{since} ORDER BY updated ASC, key ASC", self.project)
    }

    async fn cloud_search(
        &self,
        query: &str,
        fields: &str,
        position: &Position,
    ) -> Result<(Vec<Item>, Option<Place>), Error> {
        let size = self.http.settings().limits.page_size.clamp(1, 100).to_string();
        let mut parameters = vec![("jql", query), ("fields", fields), ("maxResults", &size)];
        if let Some(Place::Token(token)) = &position.place {
            parameters.push(("nextPageToken", token));
        }
        let found: CloudSearch =
            self.get(&["3", "search", "jql"], &parameters, &self.listing()).await?;
        Ok((found.issues, found.next_page_token.map(Place::Token)))
    }

    async fn search(
        &self,
        query: &str,
        fields: &str,
        position: &Position,
    ) -> Result<(Vec<Item>, Option<Place>), Error> {
        let offset = Place::offset(position.place.as_ref());
        let size = self.http.settings().limits.page_size.clamp(1, 1000).to_string();
        let start = offset.to_string();
        let parameters =
            [("jql", query), ("fields", fields), ("maxResults", &size), ("startAt", &start)];
        let found: Search = self.get(&["2", "search"], &parameters, &self.listing()).await?;
        let end = offset + found.issues.len() as u64;
        let has_more = !found.issues.is_empty() && end < found.total;
        Ok((found.issues, has_more.then_some(Place::Offset(end))))
    }

    fn listing(&self) -> String {
        format!("to list the issues of {}", self.project)
    }

    async fn said(&self, item: &Item) -> Result<CommentList, Error> {
        let fields = &item.fields;
        let author = fields.creator.as_ref().and_then(User::shown);
        let created = fields.created.as_deref().and_then(event::time);
        let text = adf::markdown(&fields.description);
        let description = listing::description(author, created, &text);
        let (mut comments, mut received, mut is_all) = (Vec::new(), 0, false);
        for page in 0..COMMENT_PAGES {
            let answer = self.comments_from(&item.key, page * COMMENTS).await?;
            let is_last = answer.comments.is_empty() || (page + 1) * COMMENTS >= answer.total;
            received += answer.comments.len() as u64;
            is_all = received >= answer.total;
            comments.extend(answer.comments.into_iter().filter_map(Said::comment));
            if is_last {
                break;
            }
        }
        Ok(CommentList::newest_first(description, comments, is_all))
    }

    /// A page of the comments, the newest first: of more than are asked for those are worth more.
    async fn comments_from(&self, key: &str, start: u64) -> Result<Comments, Error> {
        let (size, start) = (COMMENTS.to_string(), start.to_string());
        let query = [("startAt", start.as_str()), ("maxResults", &size), ("orderBy", "-created")];
        let api = self.flavour().await?.api();
        let action = format!("to list the comments of {key}");
        self.get(&[api, "issue", key, "comment"], &query, &action).await
    }

    fn key(&self, external_id: &str) -> Result<String, Error> {
        let number = resource_name::number(&self.http, external_id, &format!("{}-", self.project))?;
        Ok(format!("{}-{number}", self.project.to_ascii_uppercase()))
    }

    /// Jira answers to each key that an issue ever had.
    async fn keeps_its_key(&self, external_id: &str) -> Result<(), Error> {
        let (key, api) = (self.key(external_id)?, self.flavour().await?.api());
        let action = format!("to comment on {key}");
        let query = [("fields", "updated")];
        let found: Keyed = self.get(&[api, "issue", &key], &query, &action).await?;
        let is_here = found.key.eq_ignore_ascii_case(&key);
        if is_here { Ok(()) } else { Err(self.http.moved(&action)) }
    }

    async fn own(&self, external_id: &str) -> Result<Vec<Comment>, Error> {
        let (key, mut comments) = (self.key(external_id)?, Vec::new());
        let Some(me) = self.user().await? else { return Ok(comments) };
        for page in 0..LOOKED_THROUGH {
            let answer = self.comments_from(&key, page * COMMENTS).await?;
            let is_last = answer.comments.is_empty() || (page + 1) * COMMENTS >= answer.total;
            let own = answer.comments.into_iter().filter(|said| said.is_of(&me));
            comments.extend(own.filter_map(Said::taken));
            if is_last {
                break;
            }
        }
        Ok(comments)
    }

    async fn say_it(
        &self,
        external_id: &str,
        earlier: Option<&str>,
        text: &str,
    ) -> Result<String, Error> {
        let (key, flavour) = (self.key(external_id)?, self.flavour().await?);
        let body = match flavour {
            Flavour::Cloud => adf::document(text),
            Flavour::DataCenter => Value::String(text.to_owned()),
        };
        let mut segments = vec!["rest", "api", flavour.api(), "issue", &key, "comment"];
        segments.extend(earlier);
        let method = if earlier.is_some() { Method::PUT } else { Method::POST };
        let internal = json!([{ "key": INTERNAL, "value": { "internal": true } }]);
        let body = json!({ "body": body, "properties": internal });
        let action = format!("to take a comment on {key}");
        let written: Written = self.http.write_for(method, &segments, &body, &action).await?;
        Ok(written.id)
    }
}

fn fields(wanted: FieldSet) -> &'static str {
    match wanted {
        FieldSet::Whole => FIELDS,
        FieldSet::Ids => IDS,
    }
}

impl Source for Jira {
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

impl Issues for Jira {
    fn issue(&self, item: &Item) -> Option<Issue> {
        let fields = &item.fields;
        if fields.security.is_some() {
            return None;
        }
        let page = self.http.url(&["browse", &item.key], &[]);
        let issue = Issue {
            external_id: item.key.clone(),
            title: fields.summary.clone().unwrap_or_default(),
            status: fields.status.as_ref().and_then(|status| status.name.clone()),
            assignee: fields.assignee.as_ref().and_then(User::shown),
            labels: fields.labels.clone(),
            links: event::links("Jira issue", Some(page.into())),
            updated_at: Some(fields.updated),
            is_whole: true,
            comment: None,
        };
        listing::bounded(issue, &self.http)
    }

    fn check_not_moved<'a>(&'a self, external_id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.keeps_its_key(external_id))
    }

    fn comments<'a>(&'a self, item: &'a Item) -> BoxFuture<'a, Result<CommentList, Error>> {
        Box::pin(self.said(item))
    }

    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>> {
        Box::pin(self.own(external_id))
    }

    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(self.say_it(external_id, earlier, text))
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.key.clone()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.fields.updated
    }
}

impl Said {
    fn comment(self) -> Option<Comment> {
        if self.visibility.is_some() || self.jsd_public == Some(false) {
            return None;
        }
        self.taken()
    }

    /// The same, whoever may see it.
    fn taken(self) -> Option<Comment> {
        let author = self.author.as_ref().and_then(User::shown);
        let times = [self.created, self.updated].map(|at| at.as_deref().and_then(event::time));
        listing::comment(self.id, author, times, &adf::markdown(&self.body))
    }

    fn is_of(&self, user: &User) -> bool {
        let author = self.author.as_ref().and_then(User::id);
        author.is_some() && author == user.id()
    }
}
