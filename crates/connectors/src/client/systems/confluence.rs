//! Confluence, Cloud and Data Center: both find pages by when they changed with the same query, in one answer with
//! all that belongs to them. The newer API of Cloud has no such query.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use serde::Deserialize;
use url::Url;

use crate::client::http::{Http, parsed, remedy};
use crate::client::source::{Pages, Source};
use crate::client::sweep::{Dated, Listed, Place, Position};
use crate::client::text::{line, prose, storage};
use crate::client::zone::Zone;
use crate::client::{Error, SystemSettings, credential, names, times};
use crate::system::{Health, WikiPage};

/// Queries tell times apart by the minute.
const TICK: TimeDelta = TimeDelta::minutes(1);
const EXPAND: &str = "body.storage,version,ancestors,metadata.labels,children.attachment,\
    restrictions.read.restrictions.user,restrictions.read.restrictions.group";
/// Characters of a title or name, and how many labels, ancestors and attachments a page has at most.
const NAME: usize = 255;
const MANY: usize = 100;

/// A space, or the system by itself where the key is empty.
pub(in crate::client) struct Confluence {
    http: Http,
    space: String,
}

#[derive(Deserialize)]
struct Found {
    results: Vec<Item>,
    #[serde(default, rename = "_links")]
    links: Links,
}

#[derive(Default, Deserialize)]
struct Links {
    next: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::client) struct Item {
    id: String,
    title: String,
    version: Version,
    #[serde(default)]
    body: Body,
    #[serde(default)]
    ancestors: Vec<Titled>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    children: Children,
    #[serde(default)]
    restrictions: Restrictions,
    #[serde(default, rename = "_links")]
    links: PageLinks,
}

#[derive(Deserialize)]
struct Version {
    #[serde(deserialize_with = "times::written")]
    when: DateTime<Utc>,
}

#[derive(Default, Deserialize)]
struct Body {
    #[serde(default)]
    storage: Storage,
}

#[derive(Default, Deserialize)]
struct Storage {
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Titled {
    #[serde(default)]
    title: String,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    labels: List<Label>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Default, Deserialize)]
struct Children {
    #[serde(default)]
    attachment: List<Titled>,
}

#[derive(Default, Deserialize)]
struct Restrictions {
    #[serde(default)]
    read: Readers,
}

#[derive(Default, Deserialize)]
struct Readers {
    #[serde(default)]
    restrictions: Named,
}

/// Who alone may read it; nobody where everybody may.
#[derive(Default, Deserialize)]
struct Named {
    #[serde(default)]
    user: List<serde::de::IgnoredAny>,
    #[serde(default)]
    group: List<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct List<T> {
    #[serde(default = "Vec::new")]
    results: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { results: Vec::new() }
    }
}

#[derive(Default, Deserialize)]
struct PageLinks {
    webui: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    #[serde(rename = "type")]
    kind: Option<String>,
    display_name: Option<String>,
    username: Option<String>,
    /// Cloud's alone.
    time_zone: Option<String>,
}

pub(in crate::client) fn open(settings: Arc<SystemSettings>) -> Result<Http, Error> {
    let manners = credential::basic_or_bearer(&settings)?;
    let base = base(&settings.url);
    Http::new(settings, base, manners)
}

/// In the cloud it stands beside Jira, below `/wiki`.
fn base(url: &Url) -> Url {
    let mut base = url.clone();
    let is_cloud = url.host_str().is_some_and(|host| host.ends_with(".atlassian.net"));
    if is_cloud && url.path().trim_matches('/').is_empty() {
        base.set_path("/wiki");
    }
    base
}

impl Confluence {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let space = names::key(&http, what)?;
        Ok(Self { http, space })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, space: String::new() }
    }

    async fn pages(&self, position: &Position) -> Result<Listed<Item>, Error> {
        let action = format!("to list the pages of {}", self.space);
        let user = self.user().await?;
        let zone = Zone::named(user.and_then(|user| user.time_zone).as_deref());
        let query = self.query(position, zone);
        let size = self.http.settings().limits.page_size.clamp(1, 100).to_string();
        let start = Place::offset(position.place.as_ref()).to_string();
        let mut parameters = vec![("cql", query.as_str()), ("expand", EXPAND), ("limit", &size)];
        parameters.push(match &position.place {
            Some(Place::Token(token)) => ("cursor", token),
            _ => ("start", &start),
        });
        let answer =
            self.http.get(&["rest", "api", "content", "search"], &parameters, &action).await?;
        let found: Found = parsed(&self.http, &action, &answer.body)?;
        if found.results.is_empty() && *position == Position::default() {
            // Every space has a page. Of one that is gone, or not theirs to see, queries find nothing.
            return Err(Error::NotFound {
                system: self.http.system().to_owned(),
                action,
                status: 200,
            });
        }
        let more = found.links.next.as_deref().and_then(|next| self.place(next));
        Ok(Listed { items: found.results, more, tick: zone.tick(TICK) })
    }

    fn query(&self, position: &Position, zone: Zone) -> String {
        let since = position.since.map_or_else(String::new, |since| {
            format!(" and lastmodified >= \"{}\"", zone.local(since).format("%Y-%m-%d %H:%M"))
        });
        format!("space = \"{}\" and type = page{since} order by lastmodified asc", self.space)
    }

    /// Of the address of the rest only where it begins: it is not asked for as it is.
    fn place(&self, next: &str) -> Option<Place> {
        let url = self.http.url(&[], &[]).join(next).ok()?;
        let parameter = |name: &str| {
            url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let offset = || parameter("start")?.parse().ok().map(Place::Offset);
        parameter("cursor").map(Place::Token).or_else(offset)
    }

    /// Who the credential is for. Asked before each search: to a wrong token searches may be answered as to nobody, who
    /// finds nothing, which is not to be taken for nothing being there.
    async fn user(&self) -> Result<Option<User>, Error> {
        if self.http.settings().token.is_none() {
            return Ok(None);
        }
        let action = "to say who the token is for";
        let answer = self.http.get(&["rest", "api", "user", "current"], &[], action).await?;
        let user: User = parsed(&self.http, action, &answer.body)?;
        if user.kind.as_deref() == Some("anonymous") {
            return Err(Error::Refused {
                system: self.http.system().to_owned(),
                action: action.to_owned(),
                status: 401,
                remedy: remedy(self.http.settings(), 401),
            });
        }
        Ok(Some(user))
    }
}

impl Source for Confluence {
    type Item = Item;

    fn http(&self) -> &Http {
        &self.http
    }

    fn list<'a>(&'a self, position: &'a Position) -> BoxFuture<'a, Result<Listed<Item>, Error>> {
        Box::pin(self.pages(position))
    }
}

impl Pages for Confluence {
    fn page(&self, item: &Item) -> Option<WikiPage> {
        let readers = &item.restrictions.read.restrictions;
        if !(readers.user.results.is_empty() && readers.group.results.is_empty()) {
            return None;
        }
        let names = |titled: &[Titled]| {
            titled.iter().map(|one| line(&one.title, NAME)).take(MANY).collect()
        };
        let labels = item.metadata.labels.results.iter();
        Some(WikiPage {
            id: item.id.clone(),
            title: line(&item.title, NAME),
            url: self.address(item),
            markdown: prose(&storage::markdown(&item.body.storage.value)),
            labels: labels.map(|label| line(&label.name, NAME)).take(MANY).collect(),
            path: names(&item.ancestors),
            attachments: names(&item.children.attachment.results),
            updated_at: Some(item.version.when),
        })
    }
}

impl Confluence {
    /// Where people read it: the system's own word for it, below the system's address alone.
    fn address(&self, item: &Item) -> String {
        let shown = item.links.webui.as_deref().filter(|path| path.starts_with('/'));
        let Some(shown) = shown else {
            let query = [("pageId", item.id.as_str())];
            return self.http.url(&["pages", "viewpage.action"], &query).into();
        };
        let (path, query) =
            shown.split_once('?').map_or((shown, None), |(path, query)| (path, Some(query)));
        self.http.below(path, query).into()
    }
}

impl Health for Confluence {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let Some(user) = self.user().await? else {
                let action = "to list its spaces";
                self.http.get(&["rest", "api", "space"], &[("limit", "1")], action).await?;
                return Ok("nobody (no token)".to_owned());
            };
            Ok(user.username.or(user.display_name).unwrap_or_default())
        })
    }
}

impl Dated for Item {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.version.when
    }
}
