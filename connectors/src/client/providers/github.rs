//! GitHub, in the cloud and as Enterprise Server, by `octocrab` over the HTTP of this crate.

mod issues;
mod refs;
mod transport;

use std::sync::Arc;

use futures::future::BoxFuture;
use http::HeaderValue;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use url::Url;

use self::transport::Transport;
use crate::client::http::Http;
use crate::client::{ConnectorConfig, Error, credential};
use crate::traits::Health;

pub(in crate::client) use self::issues::RepositoryIssues;
pub(in crate::client) use self::refs::Heads;

/// The version of the API that the answers are read as.
const API_VERSION: &str = "2022-11-28";

/// GitHub's client, made where it is first asked: it needs a runtime to run on.
#[derive(Clone)]
pub(in crate::client) struct GitHub {
    http: Http,
    client: Arc<OnceCell<Octocrab>>,
}

pub(in crate::client) fn open(settings: Arc<ConnectorConfig>) -> Result<Http, Error> {
    let mut manners = credential::bearer(&settings)?;
    manners.headers.insert("x-github-api-version", HeaderValue::from_static(API_VERSION));
    let base = api(&settings.url);
    Http::new(settings, base, manners)
}

/// The API's address: a host of its own in the cloud, a path elsewhere.
fn api(url: &Url) -> Url {
    let mut api = url.clone();
    let host = url.host_str().unwrap_or_default();
    if host.starts_with("api.") || url.path().trim_end_matches('/').ends_with("/api/v3") {
        return api;
    }
    let is_cloud = host == "github.com" || host.ends_with(".ghe.com");
    if is_cloud && api.set_host(Some(&format!("api.{host}"))).is_ok() {
        return api;
    }
    api.set_path(&format!("{}/api/v3", url.path().trim_end_matches('/')));
    api
}

impl GitHub {
    pub(in crate::client) fn new(http: Http) -> Self {
        Self { http, client: Arc::default() }
    }

    pub(super) async fn get<R>(&self, route: String, query: &impl Serialize) -> Result<R, Error>
    where
        R: octocrab::FromResponse,
    {
        let got = self.client().await.get(route, Some(query)).await;
        got.map_err(|error| transport::told(&self.http, error))
    }

    pub(super) async fn post<R>(&self, route: String, body: &impl Serialize) -> Result<R, Error>
    where
        R: octocrab::FromResponse,
    {
        let posted = self.client().await.post(route, Some(body)).await;
        posted.map_err(|error| transport::told(&self.http, error))
    }

    pub(super) async fn patch<R>(&self, route: String, body: &impl Serialize) -> Result<R, Error>
    where
        R: octocrab::FromResponse,
    {
        let patched = self.client().await.patch(route, Some(body)).await;
        patched.map_err(|error| transport::told(&self.http, error))
    }

    /// Who the credential is for, by login.
    async fn user(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct User {
            login: String,
        }

        Ok(self.get::<User>("/user".to_owned(), &()).await?.login)
    }

    async fn client(&self) -> &Octocrab {
        let make = async || {
            let builder = OctocrabBuilder::new_empty().with_service(Transport(self.http.clone()));
            let Ok(client) = builder.with_auth(AuthState::None).build();
            client
        };
        self.client.get_or_init(make).await
    }
}

/// Without a token: whether anything answers.
impl Health for GitHub {
    fn check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            if self.http.settings().token.is_none() {
                self.get::<serde_json::Value>("/rate_limit".to_owned(), &()).await?;
                return Ok("nobody (no token)".to_owned());
            }
            self.user().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_where_github_has_it() {
        let check = |url: &str, expected: &str| {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(api(&url).as_str(), expected);
        };
        check("https://github.com", "https://api.github.com/");
        check("https://api.github.com/", "https://api.github.com/");
        check("https://shop.ghe.com", "https://api.shop.ghe.com/");
        check("https://git.example.org", "https://git.example.org/api/v3");
        check("https://git.example.org/api/v3/", "https://git.example.org/api/v3/");
    }
}
