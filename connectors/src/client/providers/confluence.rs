//! Confluence, Cloud and Data Center: both find pages by when they changed with the same query, in one answer with
//! all that belongs to them. The newer API of Cloud has no such query.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::Mutex;
use url::Url;

use crate::client::http::{Http, remedy};
use crate::client::incremental::{HasUpdatedAt, ListPage, Place, Position};
use crate::client::listing::{FieldSet, Pages, Source};
use crate::client::text::{self, line, storage};
use crate::client::time_zone::Zone;
use crate::client::{ConnectorConfig, Error, credential, resource_name, timestamps};
use crate::traits::{Health, WikiPage};

/// Queries tell times apart by the minute.
const TICK: TimeDelta = TimeDelta::minutes(1);
const EXPAND: &str = "body.storage,version,ancestors,metadata.labels,children.attachment,\
    restrictions.read.restrictions.user,restrictions.read.restrictions.group,\
    ancestors.restrictions.read.restrictions.user,\
    ancestors.restrictions.read.restrictions.group";
/// What of that says that a page is there, and whether everybody may read it.
const IDS: &str = "version,ancestors,\
    restrictions.read.restrictions.user,restrictions.read.restrictions.group,\
    ancestors.restrictions.read.restrictions.user,\
    ancestors.restrictions.read.restrictions.group";
/// The last of one page.
const READERS: &str = "restrictions.read.restrictions.user,restrictions.read.restrictions.group";
/// Characters of a title or name, and how many labels, ancestors and attachments a page has at most.
const NAME: usize = 255;
const MANY: usize = 100;

/// A space, or the system by itself where the key is empty.
pub(in crate::client) struct Confluence {
    http: Http,
    space: String,
    /// Of which pages was asked whether some alone may read them, and whether that is so.
    asked: Mutex<BTreeMap<String, bool>>,
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
    ancestors: Vec<Ancestor>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    children: Children,
    restrictions: Option<Restrictions>,
    #[serde(default, rename = "_links")]
    links: PageLinks,
    /// Whether everybody in the space may read it, found out once it is listed.
    #[serde(skip)]
    is_everybodys: bool,
}

#[derive(Deserialize)]
struct Version {
    #[serde(deserialize_with = "timestamps::written")]
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

/// What stands above a page, the topmost first.
#[derive(Deserialize)]
struct Ancestor {
    #[serde(default)]
    id: String,
    #[serde(default)]
    title: String,
    restrictions: Option<Restrictions>,
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

/// A page that is asked for by itself.
#[derive(Deserialize)]
struct Restricted {
    restrictions: Option<Restrictions>,
}

/// What is missing on the way to the names was not said, which is another thing than nobody being named.
#[derive(Deserialize)]
struct Restrictions {
    read: Option<Readers>,
}

#[derive(Deserialize)]
struct Readers {
    restrictions: Option<Named>,
}

/// Who alone may read it; nobody where everybody may.
#[derive(Deserialize)]
struct Named {
    user: Option<Names>,
    group: Option<Names>,
}

#[derive(Deserialize)]
struct Names {
    results: Option<Vec<IgnoredAny>>,
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

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
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
        let space = resource_name::key(&http, what)?;
        Ok(Self { http, space, asked: Mutex::default() })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, space: String::new(), asked: Mutex::default() }
    }

    async fn pages(&self, position: &Position, wanted: FieldSet) -> Result<ListPage<Item>, Error> {
        let action = format!("to list the pages of {}", self.space);
        let user = self.user().await?;
        let zone = Zone::named(user.and_then(|user| user.time_zone).as_deref());
        let query = self.query(position, zone);
        let size = self.http.settings().limits.page_size.clamp(1, 100).to_string();
        let start = Place::offset(position.place.as_ref()).to_string();
        let expand = match wanted {
            FieldSet::Whole => EXPAND,
            FieldSet::Ids => IDS,
        };
        let mut parameters = vec![("cql", query.as_str()), ("expand", expand), ("limit", &size)];
        parameters.push(match &position.place {
            Some(Place::Token(token)) => ("cursor", token),
            _ => ("start", &start),
        });
        let segments = ["rest", "api", "content", "search"];
        let found: Found = self.http.get(&segments, &parameters, &action).await?;
        if found.results.is_empty() && *position == Position::default() {
            // Every space has a page. Of one that is gone, or not theirs to see, queries find nothing.
            return Err(Error::NotFound {
                system: self.http.system().to_owned(),
                action,
                status: 200,
            });
        }
        let more = found.links.next.as_deref().and_then(|next| self.place(next));
        let mut items = found.results;
        for item in &mut items {
            item.is_everybodys = self.is_everybodys(item).await?;
        }
        Ok(ListPage { items, more, tick: zone.tick(TICK) })
    }

    /// Whoever may not read a page may read none of those below it, whose own lists are empty all the same.
    async fn is_everybodys(&self, item: &Item) -> Result<bool, Error> {
        if self.is_limited(&item.id, item.restrictions.as_ref()).await? {
            return Ok(false);
        }
        for above in &item.ancestors {
            if self.is_limited(&above.id, above.restrictions.as_ref()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether some alone may read a page. Where the list does not say so the page is asked for, once: many have the
    /// same ones above them.
    async fn is_limited(&self, id: &str, told: Option<&Restrictions>) -> Result<bool, Error> {
        if let Some(is_limited) = told.and_then(Restrictions::name_some) {
            return Ok(is_limited);
        }
        let mut asked = self.asked.lock().await;
        if let Some(is_limited) = asked.get(id) {
            return Ok(*is_limited);
        }
        let told = self.restrictions(id).await?;
        if told.is_none() {
            let system = self.http.system();
            tracing::warn!(system, page = id, "a page is left out: its readers are not told");
        }
        let is_limited = told.unwrap_or(true);
        asked.insert(id.to_owned(), is_limited);
        Ok(is_limited)
    }

    /// `None` where that isn't told either, or the page is not theirs to see.
    async fn restrictions(&self, id: &str) -> Result<Option<bool>, Error> {
        if id.is_empty() {
            return Ok(None);
        }
        let action = "to say who may read a page";
        let segments = ["rest", "api", "content", id];
        let page: Restricted = match self.http.get(&segments, &[("expand", READERS)], action).await
        {
            Ok(page) => page,
            Err(Error::NotFound { .. } | Error::Rejected { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(page.restrictions.as_ref().and_then(Restrictions::name_some))
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
        let segments = ["rest", "api", "user", "current"];
        let user: User = self.http.get(&segments, &[], action).await?;
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

    fn list<'a>(
        &'a self,
        position: &'a Position,
        wanted: FieldSet,
    ) -> BoxFuture<'a, Result<ListPage<Item>, Error>> {
        Box::pin(self.pages(position, wanted))
    }
}

impl Pages for Confluence {
    fn page(&self, item: &Item) -> Option<WikiPage> {
        if !item.is_everybodys {
            return None;
        }
        let labels = item.metadata.labels.results.iter();
        let attachments = item.children.attachment.results.iter();
        Some(WikiPage {
            id: item.id.clone(),
            title: line(&item.title, NAME),
            url: self.address(item),
            markdown: text::page(&storage::markdown(&item.body.storage.value)),
            labels: labels.map(|label| line(&label.name, NAME)).take(MANY).collect(),
            path: item.ancestors.iter().map(|above| line(&above.title, NAME)).take(MANY).collect(),
            attachments: attachments.map(|file| line(&file.title, NAME)).take(MANY).collect(),
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
                self.http
                    .get::<serde::de::IgnoredAny>(
                        &["rest", "api", "space"],
                        &[("limit", "1")],
                        action,
                    )
                    .await?;
                return Ok("nobody (no token)".to_owned());
            };
            Ok(user.username.or(user.display_name).unwrap_or_default())
        })
    }
}

impl Restrictions {
    /// Whether they name anybody; `None` where they don't say.
    fn name_some(&self) -> Option<bool> {
        let named = self.read.as_ref()?.restrictions.as_ref()?;
        let lists = [&named.user, &named.group].map(|list| list.as_ref()?.results.as_ref());
        if lists.iter().flatten().any(|names| !names.is_empty()) {
            return Some(true);
        }
        lists.iter().all(Option::is_some).then_some(false)
    }
}

impl HasUpdatedAt for Item {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn changed_at(&self) -> DateTime<Utc> {
        self.version.when
    }
}
