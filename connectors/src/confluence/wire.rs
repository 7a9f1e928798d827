//! The JSON of Confluence's API.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::event::field::deserialize_time;

#[derive(Deserialize)]
pub(super) struct SearchResponse {
    pub(super) results: Vec<Item>,
    #[serde(default, rename = "_links")]
    pub(super) links: Links,
}

/// Links of a response, or of a page.
#[derive(Default, Deserialize)]
pub(super) struct Links {
    pub(super) next: Option<String>,
    pub(super) webui: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) version: Version,
    #[serde(default)]
    pub(super) body: Body,
    #[serde(default)]
    pub(super) ancestors: Vec<Ancestor>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) children: Children,
    pub(super) restrictions: Option<Restrictions>,
    #[serde(default, rename = "_links")]
    pub(super) links: Links,
    /// Whether every reader of the space may read the page. Set after the search.
    #[serde(skip)]
    pub(super) is_public: bool,
}

#[derive(Deserialize)]
pub(super) struct Version {
    #[serde(deserialize_with = "deserialize_time")]
    pub(super) when: DateTime<Utc>,
}

#[derive(Default, Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    pub(super) storage: Storage,
}

#[derive(Default, Deserialize)]
pub(super) struct Storage {
    #[serde(default)]
    pub(super) value: String,
}

/// A page above another, the topmost first.
#[derive(Deserialize)]
pub(super) struct Ancestor {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
    pub(super) restrictions: Option<Restrictions>,
}

#[derive(Default, Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) labels: List<Label>,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Default, Deserialize)]
pub(super) struct Children {
    #[serde(default)]
    pub(super) attachment: List<Attachment>,
}

#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(default)]
    pub(super) title: String,
}

#[derive(Deserialize)]
pub(super) struct List<T> {
    #[serde(default = "Vec::new")]
    pub(super) results: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { results: Vec::new() }
    }
}

/// A page that is read for its restrictions.
#[derive(Deserialize)]
pub(super) struct RestrictedPage {
    pub(super) restrictions: Option<Restrictions>,
}

/// The readers of a page. An absent field is unknown, which is not an empty list.
#[derive(Deserialize)]
pub(super) struct Restrictions {
    read: Option<ReadRestrictions>,
}

#[derive(Deserialize)]
struct ReadRestrictions {
    restrictions: Option<Readers>,
}

/// The only readers; empty lists if every reader of the space may read the page.
#[derive(Deserialize)]
struct Readers {
    user: Option<Names>,
    group: Option<Names>,
}

#[derive(Deserialize)]
struct Names {
    results: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct User {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) display_name: Option<String>,
    pub(super) username: Option<String>,
    /// Sent only by Cloud.
    pub(super) time_zone: Option<String>,
}

impl Restrictions {
    /// Returns whether only some users may read the page; `None` if that is unknown.
    pub(super) fn is_restricted(&self) -> Option<bool> {
        let readers = self.read.as_ref()?.restrictions.as_ref()?;
        let lists = [&readers.user, &readers.group].map(|list| list.as_ref()?.results.as_ref());
        if lists.iter().flatten().any(|names| !names.is_empty()) {
            return Some(true);
        }
        lists.iter().all(Option::is_some).then_some(false)
    }
}
