//! The client with which commands call the running service.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use axum::body::Bytes;
use futures::{Stream, TryStreamExt};
use mc_domain::{Classified as _, ErrorKind, ProjectKey};
use mc_mcp::CoreClient;
use mc_mcp::core::{CoreCall, CoreError, Forwarded};
use serde_json::{Value, json};

use crate::cli::PageArgs;
use crate::config::Config;
use crate::{api_hints, credentials, output, terminal};

/// How long a caller above one of its limits waits before it tries again.
const LIMIT_WAIT: Duration = Duration::from_secs(1);

/// A client of the Core API with the credentials of the user.
pub struct ApiClient(CoreClient);

/// Returns a call with `GET`.
fn get(path: &str, query: &[(&'static str, &str)]) -> CoreCall {
    let query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    CoreCall::get(path, query)
}

impl ApiClient {
    /// Creates a client of the service that `config` describes.
    pub fn new(config: &Config) -> Result<Self> {
        let tokens = credentials::token_source(config)?;
        Ok(Self(CoreClient::over_http(&config.base_url(), tokens, config.ca_pem()?.as_deref())?))
    }

    pub fn into_core(self) -> CoreClient {
        self.0
    }

    /// Calls with `GET`.
    pub async fn get(&self, path: &str, query: &[(&'static str, &str)]) -> Result<Value> {
        self.send(get(path, query)).await
    }

    /// Calls with `GET`; `None` if the caller may not see the resource.
    pub async fn get_if_allowed(
        &self,
        path: &str,
        query: &[(&'static str, &str)],
    ) -> Result<Option<Value>> {
        match self.0.send(get(path, query), Forwarded::default()).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Forbidden => Ok(None),
            Err(error) => Err(to_anyhow(&error)),
        }
    }

    /// Calls with `GET` for a page of a list.
    pub async fn page(
        &self,
        path: &str,
        query: &[(&'static str, &str)],
        page: &PageArgs,
    ) -> Result<Value> {
        let limit = page.limit.to_string();
        let mut query = query.to_vec();
        query.push(("limit", &limit));
        query.extend(page.cursor.as_deref().map(|cursor| ("cursor", cursor)));
        self.get(path, &query).await
    }

    /// Returns why the service is not ready, if it responds and says so.
    pub async fn unready_reason(&self) -> Option<String> {
        let response =
            self.0.send(CoreCall::get("/readyz", Vec::new()), Forwarded::default()).await;
        let error = response.err().filter(|error| matches!(error, CoreError::Refused { .. }))?;
        Some(terminal::failure(&error.message(), error.suggestions()))
    }

    /// Calls with `GET` and returns the body as a stream, for responses too long for memory.
    pub async fn stream(
        &self,
        path: &str,
        query: &[(&'static str, &str)],
    ) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
        let response = self.0.stream(get(path, query), Forwarded::default()).await;
        let response = response.map_err(|error| to_anyhow(&error))?;
        Ok(response.map_err(|error| anyhow!("the response was interrupted ({error}); try again")))
    }

    /// Calls with `POST`.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.send(CoreCall::post(path, body)).await
    }

    /// Calls with `POST`, for commands that handle some errors.
    pub async fn try_post(&self, path: &str, body: Value) -> Result<Value, CoreError> {
        self.0.send(CoreCall::post(path, body), Forwarded::default()).await
    }

    /// Calls with `POST`, for commands that send many requests. While this caller is above one of
    /// its limits, waits and calls again. An error of the outer result is one that the next request
    /// would have, too: the service rejects the token.
    pub async fn post_within_limits(&self, path: &str, body: Value) -> Result<Result<Value>> {
        let mut is_waiting = false;
        loop {
            match self.0.send(CoreCall::post(path, body.clone()), Forwarded::default()).await {
                Err(error) if error.kind() == ErrorKind::RateLimited => {
                    if !is_waiting {
                        let reason = terminal::failure(&error.message(), None);
                        tracing::info!(reason, "waiting for a limit of this caller");
                    }
                    is_waiting = true;
                    tokio::time::sleep(LIMIT_WAIT).await;
                }
                Err(error) if error.kind() == ErrorKind::Unauthenticated => {
                    return Err(to_anyhow(&error));
                }
                response => return Ok(response.map_err(|error| to_anyhow(&error))),
            }
        }
    }

    /// Calls with `PATCH`.
    pub async fn patch(&self, path: &str, body: Value) -> Result<Value> {
        let method = axum::http::Method::PATCH;
        self.send(CoreCall { method, ..CoreCall::post(path, body) }).await
    }

    /// Calls with `PUT`.
    pub async fn put(&self, path: &str, body: Value) -> Result<Value> {
        let method = axum::http::Method::PUT;
        self.send(CoreCall { method, ..CoreCall::post(path, body) }).await
    }

    /// Calls with `PUT` and the version that the body replaces; `*` replaces any.
    pub async fn put_if_match(&self, path: &str, body: Value, version: &str) -> Result<Value> {
        let (method, if_match) = (axum::http::Method::PUT, Some(version.to_owned()));
        self.send(CoreCall { method, if_match, ..CoreCall::post(path, body) }).await
    }

    /// Calls with `DELETE`.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.delete_with(path, &[]).await
    }

    /// Calls with `DELETE` and a query.
    pub async fn delete_with(&self, path: &str, query: &[(&'static str, &str)]) -> Result<()> {
        let method = axum::http::Method::DELETE;
        self.send(CoreCall { method, ..get(path, query) }).await.map(drop)
    }

    /// Creates the project if it does not exist.
    pub async fn ensure_project(&self, key: &str) -> Result<()> {
        self.post("/projects", json!({ "key": key })).await.map(drop)
    }

    /// Returns an error with similar keys if the user has no such project.
    pub async fn require_project(&self, key: &ProjectKey) -> Result<()> {
        let page = self.get("/projects", &[]).await?;
        let projects = output::list(&page, "items");
        let keys: Vec<&str> = projects.iter().map(|project| output::text(project, "key")).collect();
        if keys.contains(&key.as_str()) { Ok(()) } else { bail!(unknown_project(key, keys)) }
    }

    async fn send(&self, call: CoreCall) -> Result<Value> {
        self.0.send(call, Forwarded::default()).await.map_err(|error| to_anyhow(&error))
    }
}

/// Most keys that the error about an unknown project names.
const SIMILAR_KEYS: usize = 3;

fn unknown_project(key: &ProjectKey, mut keys: Vec<&str>) -> String {
    keys.sort_by_cached_key(|known| strsim::damerau_levenshtein(known, key.as_str()));
    let similar: Vec<_> = keys.into_iter().take(SIMILAR_KEYS).collect();
    let known = match similar.as_slice() {
        [] => "you have none".to_owned(),
        similar => format!("the most similar of yours: {}", similar.join(", ")),
    };
    format!(
        "there is no project \"{key}\", or it is not yours to see ({known}); create it with \
         `memory-copilot projects create {key}`, or with --create-project"
    )
}

/// Returns the error of a call as the error of a command, whose hints are commands, too.
pub fn to_anyhow(error: &CoreError) -> anyhow::Error {
    let message = error.message_with(|hint| Some(hint.to_owned()));
    let message = terminal::failure(&message, error.suggestions());
    anyhow!(api_hints::as_commands(&message).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_with_a_route_becomes_a_command() {
        let problem = json!({ "title": "Not found", "detail": "there is no such job",
                              "field": "id", "hint": "GET /jobs lists jobs" });
        let problem = serde_json::from_value(problem).expect("a problem");
        let error = CoreError::Refused { status: axum::http::StatusCode::NOT_FOUND, problem };
        assert_eq!(
            to_anyhow(&error).to_string(),
            "id: there is no such job. `memory-copilot jobs list` lists jobs"
        );
    }

    #[test]
    fn unknown_project_names_similar_ones() {
        let key = ProjectKey::parse("shpo").expect("a key");
        let message = unknown_project(&key, vec!["warehouse", "billing", "shop", "shop-web"]);
        assert!(message.contains("(the most similar of yours: shop, "), "{message}");
        assert!(!message.contains("warehouse"), "{message}");
        assert!(unknown_project(&key, vec![]).contains("you have none"));
    }
}
