//! The pages of a space. Cloud and Data Center find them by time with the same query language, and
//! return each with its labels, ancestors and attachments. Cloud's newer API has no such query.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::de::IgnoredAny;
use tokio::sync::Mutex;
use url::Url;

use super::PageBody;
use super::wire::{Item, RestrictedPage, Restrictions, SearchResponse, User};
use crate::error::Error;
use crate::event::field::line;
use crate::http::{ANONYMOUS, Http, remedy};
use crate::incremental::{HasUpdatedAt, ListPage, PageMarker, Position};
use crate::listing::{FieldSet, Source};
use crate::resource_name;
use crate::time_zone::UserZone;
use crate::traits::WikiPage;

/// The query language has minutes.
const TICK: TimeDelta = TimeDelta::minutes(1);
const EXPAND: &str = "body.storage,version,ancestors,metadata.labels,children.attachment,\
    restrictions.read.restrictions.user,restrictions.read.restrictions.group,\
    ancestors.restrictions.read.restrictions.user,\
    ancestors.restrictions.read.restrictions.group";
const EXPAND_IDS: &str = "version,ancestors,\
    restrictions.read.restrictions.user,restrictions.read.restrictions.group,\
    ancestors.restrictions.read.restrictions.user,\
    ancestors.restrictions.read.restrictions.group";
const EXPAND_READERS: &str =
    "restrictions.read.restrictions.user,restrictions.read.restrictions.group";
/// Characters of a title or name.
const NAME: usize = 255;
/// Labels, ancestors and attachments of a page, each.
const MAX_ENTRIES: usize = 100;

pub(super) struct SpacePages {
    http: Http,
    space: String,
    /// Whether a page is restricted, of the pages that were read for it.
    restrictions: Mutex<BTreeMap<String, bool>>,
}

/// Returns the address of the API. Cloud has Confluence below `/wiki`, alongside Jira.
pub(super) fn api_url(url: &Url) -> Url {
    let mut api = url.clone();
    let is_cloud = url.host_str().is_some_and(|host| host.ends_with(".atlassian.net"));
    if is_cloud && url.path().trim_matches('/').is_empty() {
        api.set_path("/wiki");
    }
    api
}

/// Without a token, checks only that spaces can be listed.
pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    if let Some(user) = current_user(&http).await? {
        return Ok(user.username.or(user.display_name).unwrap_or_default());
    }
    let segments = ["rest", "api", "space"];
    http.get::<IgnoredAny>(&segments, &[("limit", "1")], "to list its spaces").await?;
    Ok(ANONYMOUS.to_owned())
}

/// Returns the credential's user. Each search needs it first: with a wrong token, a search may be
/// that of an anonymous user, and an empty result would look like an empty space.
async fn current_user(http: &Http) -> Result<Option<User>, Error> {
    if !http.has_token() {
        return Ok(None);
    }
    let action = "to read the token's user";
    let user: User = http.get(&["rest", "api", "user", "current"], &[], action).await?;
    if user.kind.as_deref() == Some("anonymous") {
        return Err(Error::Denied {
            connector: http.connector().to_owned(),
            action: action.to_owned(),
            status: 401,
            remedy: remedy(http.config(), 401),
        });
    }
    Ok(Some(user))
}

impl SpacePages {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let space = resource_name::key(&http, resource)?;
        Ok(Self { http, space, restrictions: Mutex::default() })
    }

    fn query(&self, position: &Position, zone: UserZone) -> String {
        let since = position.since.map_or_else(String::new, |since| {
            format!(" and lastmodified >= \"{}\"", zone.local(since).format("%Y-%m-%d %H:%M"))
        });
        format!("space = \"{}\" and type = page{since} order by lastmodified asc", self.space)
    }

    /// Returns the place in the address of the next page. The address itself is not requested.
    fn marker(&self, next: &str) -> Option<PageMarker> {
        let url = self.http.url(&[], &[]).join(next).ok()?;
        let parameter = |name: &str| {
            url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let offset = || parameter("start")?.parse().ok().map(PageMarker::Offset);
        parameter("cursor").map(PageMarker::Token).or_else(offset)
    }

    /// Returns whether every reader of the space may read the page. A restriction holds for the
    /// pages below as well, whose own lists of readers are empty.
    async fn is_public(&self, item: &Item) -> Result<bool, Error> {
        if self.is_restricted(&item.id, item.restrictions.as_ref()).await? {
            return Ok(false);
        }
        for ancestor in &item.ancestors {
            if self.is_restricted(&ancestor.id, ancestor.restrictions.as_ref()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether only some users may read a page. If the list does not say so, the page is
    /// read, once: many pages have the same ancestors.
    async fn is_restricted(&self, id: &str, listed: Option<&Restrictions>) -> Result<bool, Error> {
        if let Some(is_restricted) = listed.and_then(Restrictions::is_restricted) {
            return Ok(is_restricted);
        }
        let mut known = self.restrictions.lock().await;
        if let Some(is_restricted) = known.get(id) {
            return Ok(*is_restricted);
        }
        let found = self.read_restrictions(id).await?;
        if found.is_none() {
            let connector = self.http.connector();
            tracing::warn!(connector, page = id, "page left out: its readers are unknown");
        }
        let is_restricted = found.unwrap_or(true);
        known.insert(id.to_owned(), is_restricted);
        Ok(is_restricted)
    }

    /// Returns `None` if the page is hidden from the credential, or its readers are.
    async fn read_restrictions(&self, id: &str) -> Result<Option<bool>, Error> {
        if id.is_empty() {
            return Ok(None);
        }
        let segments = ["rest", "api", "content", id];
        let query = [("expand", EXPAND_READERS)];
        match self.http.get::<RestrictedPage>(&segments, &query, "to read a page's readers").await {
            Ok(page) => Ok(page.restrictions.as_ref().and_then(Restrictions::is_restricted)),
            Err(Error::NotFound { .. } | Error::Rejected { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the address for people: the path that Confluence returns, below its address.
    fn page_url(&self, item: &Item) -> String {
        let path = item.links.webui.as_deref().filter(|path| path.starts_with('/'));
        let Some(path) = path else {
            let query = [("pageId", item.id.as_str())];
            return self.http.url(&["pages", "viewpage.action"], &query).into();
        };
        let (path, query) =
            path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        self.http.encoded_url(path, query).into()
    }
}

impl Source for SpacePages {
    type Item = Item;
    type PublicItem = WikiPage;

    fn http(&self) -> &Http {
        &self.http
    }

    async fn list(&self, position: &Position, fields: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the pages of {}", self.space);
        let user = current_user(&self.http).await?;
        let zone = UserZone::named(user.and_then(|user| user.time_zone).as_deref());
        let query = self.query(position, zone);
        let size = self.http.page_size(100).to_string();
        let start = position.offset().to_string();
        let expand = match fields {
            FieldSet::Full => EXPAND,
            FieldSet::Ids => EXPAND_IDS,
        };
        let mut parameters = vec![("cql", query.as_str()), ("expand", expand), ("limit", &size)];
        parameters.push(position.token().map_or(("start", &start), |token| ("cursor", token)));
        let segments = ["rest", "api", "content", "search"];
        let found: SearchResponse = self.http.get(&segments, &parameters, &action).await?;
        if found.results.is_empty() && *position == Position::default() {
            // Every space has a page. A query on a missing or hidden space finds nothing.
            return Err(self.http.not_found(&action, 200));
        }
        let more = found.links.next.as_deref().and_then(|next| self.marker(next));
        let mut items = found.results;
        for item in &mut items {
            item.is_public = self.is_public(item).await?;
        }
        Ok(ListPage { items, more, tick: zone.resolution(TICK) })
    }

    fn public_item(&self, item: &Item) -> Option<WikiPage> {
        if !item.is_public {
            return None;
        }
        let names = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| line(name, NAME)).take(MAX_ENTRIES).collect()
        };
        let labels = &item.metadata.labels.results;
        let attachments = &item.children.attachment.results;
        Some(WikiPage {
            id: item.id.clone(),
            title: line(&item.title, NAME),
            url: self.page_url(item),
            body: PageBody::new(item.body.storage.value.clone()),
            labels: names(&mut labels.iter().map(|label| &label.name)),
            path: names(&mut item.ancestors.iter().map(|ancestor| &ancestor.title)),
            attachments: names(&mut attachments.iter().map(|file| &file.title)),
            updated_at: Some(item.version.when),
        })
    }
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.id.clone(), self.version.when)
    }
}
