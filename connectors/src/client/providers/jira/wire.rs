//! Jira's JSON, as far as it is of use.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::timestamps;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerInfo {
    pub(super) deployment_type: Option<String>,
}

/// Cloud's answer to a search.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CloudSearch {
    pub(super) issues: Vec<Item>,
    pub(super) next_page_token: Option<String>,
}

/// Data Center's.
#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) issues: Vec<Item>,
    pub(super) total: u64,
}

#[derive(Deserialize)]
pub(in crate::client) struct Item {
    pub(super) key: String,
    pub(super) fields: Fields,
}

#[derive(Deserialize)]
pub(super) struct Fields {
    pub(super) summary: Option<String>,
    pub(super) status: Option<Named>,
    pub(super) assignee: Option<User>,
    pub(super) creator: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<String>,
    #[serde(default)]
    pub(super) description: Value,
    /// There where not everybody in the project may see it.
    pub(super) security: Option<IgnoredAny>,
    pub(super) created: Option<String>,
    #[serde(deserialize_with = "timestamps::written")]
    pub(super) updated: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct User {
    account_id: Option<String>,
    key: Option<String>,
    display_name: Option<String>,
    name: Option<String>,
    pub(super) time_zone: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Comments {
    pub(super) comments: Vec<Said>,
    pub(super) total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) author: Option<User>,
    #[serde(default)]
    pub(super) body: Value,
    pub(super) created: Option<String>,
    pub(super) updated: Option<String>,
    /// There where a group or role alone may see it.
    pub(super) visibility: Option<IgnoredAny>,
    /// Whether a service desk shows it to its customers.
    pub(super) jsd_public: Option<bool>,
}

/// An issue by the key that it has now.
#[derive(Deserialize)]
pub(super) struct Keyed {
    pub(super) key: String,
}

/// A comment that was written.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) id: String,
}

impl User {
    /// What no other user has: Cloud's id, or Data Center's key, or its name where it has no keys yet.
    pub(super) fn id(&self) -> Option<&str> {
        self.account_id.as_deref().or(self.key.as_deref()).or(self.name.as_deref())
    }

    pub(super) fn shown(&self) -> Option<String> {
        self.display_name.clone().or_else(|| self.name.clone())
    }
}
