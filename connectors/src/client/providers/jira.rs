//! Jira: Cloud, whose search goes on by a token, and Data Center, whose goes on by place.

mod issues;
mod wire;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use self::wire::{ServerInfo, User};
use crate::client::http::Http;
use crate::client::time_zone::Zone;
use crate::client::{ConnectorConfig, Error, credential, resource_name};
use crate::traits::Health;

const WHO: &str = "to say who the token is for";

/// A project, or the system by itself where the key is empty.
pub(in crate::client) struct Jira {
    http: Http,
    project: String,
    flavour: OnceCell<Flavour>,
}

/// Which of the two it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavour {
    Cloud,
    DataCenter,
}

impl Flavour {
    /// The version of its API.
    fn api(self) -> &'static str {
        match self {
            Self::Cloud => "3",
            Self::DataCenter => "2",
        }
    }
}

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
    let manners = credential::basic_or_bearer(&settings)?;
    let base = settings.url.clone();
    Http::new(settings, base, manners)
}

impl Jira {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let project = resource_name::key(&http, what)?;
        Ok(Self { http, project, flavour: OnceCell::new() })
    }

    /// To ask who the credential is for.
    pub(in crate::client) fn itself(http: Http) -> Self {
        Self { http, project: String::new(), flavour: OnceCell::new() }
    }

    async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
        action: &str,
    ) -> Result<T, Error> {
        let path: Vec<&str> = ["rest", "api"].iter().chain(segments).copied().collect();
        self.http.get(&path, query, action).await
    }

    async fn flavour(&self) -> Result<Flavour, Error> {
        let ask = async || {
            let info: ServerInfo = self.get(&["2", "serverInfo"], &[], "to say what it is").await?;
            let is_cloud = info.deployment_type.as_deref() == Some("Cloud");
            Ok(if is_cloud { Flavour::Cloud } else { Flavour::DataCenter })
        };
        self.flavour.get_or_try_init(ask).await.copied()
    }

    /// Who the credential is for. Asked before each search: to a wrong token Cloud answers searches as to nobody, who
    /// finds nothing, which is not to be taken for nothing being there.
    async fn user(&self) -> Result<Option<User>, Error> {
        if self.http.settings().token.is_none() {
            return Ok(None);
        }
        self.get(&[self.flavour().await?.api(), "myself"], &[], WHO).await.map(Some)
    }

    async fn zone(&self) -> Result<Zone, Error> {
        let user = self.user().await?;
        Ok(Zone::named(user.as_ref().and_then(|user| user.time_zone.as_deref())))
    }
}

impl Health for Jira {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            match self.user().await? {
                Some(user) => Ok(user.shown().unwrap_or_default()),
                None => self.flavour().await.map(|_| "nobody (no token)".to_owned()),
            }
        })
    }
}
