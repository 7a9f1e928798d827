//! The client of GitHub's API: `octocrab` over this crate's HTTP layer.

use std::sync::Arc;

use ::http::HeaderValue;
use octocrab::{AuthState, FromResponse, Octocrab, OctocrabBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;
use url::Url;

use super::transport::{self, Transport};
use crate::client::ConnectorConfig;
use crate::error::Error;
use crate::http::{ANONYMOUS, Http, RequestDefaults, credential};

/// The version of the API, by its date.
const API_VERSION: &str = "2022-11-28";

#[derive(Clone)]
pub(super) struct Client {
    pub(super) http: Http,
    /// Created by the first request, because it needs a runtime.
    octocrab: Arc<OnceCell<Octocrab>>,
}

pub(super) fn request_defaults(config: &ConnectorConfig) -> Result<RequestDefaults, Error> {
    let mut defaults = credential::bearer(config)?;
    defaults.headers.insert("x-github-api-version", HeaderValue::from_static(API_VERSION));
    Ok(defaults)
}

/// Returns the address of the API: a host of its own in the cloud, a path elsewhere.
pub(super) fn api_url(url: &Url) -> Url {
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

/// Without a token, checks only that the API responds.
pub(super) async fn check_access(http: Http) -> Result<String, Error> {
    let client = Client::new(http);
    if !client.http.has_token() {
        client.get::<Value>("/rate_limit", &()).await?;
        return Ok(ANONYMOUS.to_owned());
    }
    client.login().await
}

impl Client {
    pub(super) fn new(http: Http) -> Self {
        Self { http, octocrab: Arc::default() }
    }

    pub(super) async fn get<R: FromResponse>(
        &self,
        route: &str,
        query: &(impl Serialize + Sync),
    ) -> Result<R, Error> {
        self.converted(self.octocrab().await.get(route, Some(query)).await)
    }

    pub(super) async fn post<R: FromResponse>(
        &self,
        route: &str,
        body: &Value,
    ) -> Result<R, Error> {
        self.converted(self.octocrab().await.post(route, Some(body)).await)
    }

    pub(super) async fn patch<R: FromResponse>(
        &self,
        route: &str,
        body: &Value,
    ) -> Result<R, Error> {
        self.converted(self.octocrab().await.patch(route, Some(body)).await)
    }

    pub(super) async fn put<R: FromResponse>(&self, route: &str, body: &Value) -> Result<R, Error> {
        self.converted(self.octocrab().await.put(route, Some(body)).await)
    }

    fn converted<R>(&self, result: octocrab::Result<R>) -> Result<R, Error> {
        result.map_err(|error| transport::convert_error(&self.http, error))
    }

    /// Returns the login of the credential's user.
    pub(super) async fn login(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct User {
            login: String,
        }

        Ok(self.get::<User>("/user", &()).await?.login)
    }

    async fn octocrab(&self) -> &Octocrab {
        let create = async || {
            let builder = OctocrabBuilder::new_empty().with_service(Transport(self.http.clone()));
            let Ok(octocrab) = builder.with_auth(AuthState::None).build();
            octocrab
        };
        self.octocrab.get_or_init(create).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_url_is_a_host_in_the_cloud_and_a_path_elsewhere() {
        let check = |url: &str, expected: &str| {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(api_url(&url).as_str(), expected);
        };
        check("https://github.com", "https://api.github.com/");
        check("https://api.github.com/", "https://api.github.com/");
        check("https://shop.ghe.com", "https://api.shop.ghe.com/");
        check("https://git.example.org", "https://git.example.org/api/v3");
        check("https://git.example.org/api/v3/", "https://git.example.org/api/v3/");
    }
}
