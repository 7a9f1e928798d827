//! The client of Jira's API. Cloud's search continues by a token, Data Center's by an offset.

use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use super::wire::{ServerInfo, User};
use crate::error::Error;
use crate::http::{ANONYMOUS, Http};
use crate::time_zone::UserZone;

pub(super) struct Client {
    pub(super) http: Http,
    edition: OnceCell<Edition>,
}

/// The edition of Jira.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edition {
    Cloud,
    DataCenter,
}

impl Edition {
    /// Returns the version of the API.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Cloud => "3",
            Self::DataCenter => "2",
        }
    }
}

impl Client {
    pub(super) fn new(http: Http) -> Self {
        Self { http, edition: OnceCell::new() }
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
        action: &str,
    ) -> Result<T, Error> {
        self.http.get(&[&["rest", "api"], segments].concat(), query, action).await
    }

    pub(super) async fn edition(&self) -> Result<Edition, Error> {
        let detect = async || {
            let action = "to read its edition";
            let info: ServerInfo = self.get(&["2", "serverInfo"], &[], action).await?;
            let is_cloud = info.deployment_type.as_deref() == Some("Cloud");
            Ok(if is_cloud { Edition::Cloud } else { Edition::DataCenter })
        };
        self.edition.get_or_try_init(detect).await.copied()
    }

    /// Returns the credential's user. Each search needs it first: with a wrong token, Cloud
    /// searches as an anonymous user, and an empty result would look like an empty project.
    pub(super) async fn current_user(&self) -> Result<Option<User>, Error> {
        if !self.http.has_token() {
            return Ok(None);
        }
        let segments = [self.edition().await?.api_version(), "myself"];
        self.get(&segments, &[], "to read the token's user").await.map(Some)
    }

    pub(super) async fn user_zone(&self) -> Result<UserZone, Error> {
        let user = self.current_user().await?;
        Ok(UserZone::named(user.as_ref().and_then(|user| user.time_zone.as_deref())))
    }
}

pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    let client = Client::new(http);
    match client.current_user().await? {
        Some(user) => Ok(user.shown_name().unwrap_or_default()),
        None => client.edition().await.map(|_| ANONYMOUS.to_owned()),
    }
}
