//! The JSON of Jira's API.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::adf::Text;
use crate::event::field::deserialize_time;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerInfo {
    pub(super) deployment_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CloudSearch {
    pub(super) issues: Vec<Item>,
    pub(super) next_page_token: Option<String>,
}

/// The response to a search in Data Center.
#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) issues: Vec<Item>,
    pub(super) total: u64,
}

#[derive(Deserialize)]
pub(super) struct Item {
    pub(super) key: String,
    pub(super) fields: Fields,
}

#[derive(Deserialize)]
pub(super) struct Fields {
    pub(super) summary: Option<String>,
    pub(super) status: Option<Status>,
    pub(super) assignee: Option<User>,
    pub(super) creator: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<String>,
    #[serde(default)]
    pub(super) description: Text,
    /// Present if only some users of the project may see the issue.
    pub(super) security: Option<IgnoredAny>,
    pub(super) created: Option<String>,
    #[serde(rename = "resolutiondate")]
    pub(super) resolved: Option<String>,
    #[serde(deserialize_with = "deserialize_time")]
    pub(super) updated: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct Status {
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
pub(super) struct CommentsResponse {
    pub(super) comments: Vec<IssueComment>,
    pub(super) total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IssueComment {
    pub(super) id: String,
    pub(super) author: Option<User>,
    #[serde(default)]
    pub(super) body: Text,
    pub(super) created: Option<String>,
    pub(super) updated: Option<String>,
    /// Present if only a group or role may see the comment.
    pub(super) visibility: Option<IgnoredAny>,
    /// Whether the customers of a service desk may see the comment.
    pub(super) jsd_public: Option<bool>,
}

/// The present key of an issue.
#[derive(Deserialize)]
pub(super) struct IssueKey {
    pub(super) key: String,
}

impl User {
    /// Returns a unique id: of the account in Cloud, else the key or, in old versions, the name.
    pub(super) fn id(&self) -> Option<&str> {
        self.account_id.as_deref().or(self.key.as_deref()).or(self.name.as_deref())
    }

    pub(super) fn shown_name(&self) -> Option<String> {
        self.display_name.clone().or_else(|| self.name.clone())
    }
}
