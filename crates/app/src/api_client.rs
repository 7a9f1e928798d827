//! The running service, as the commands call it.

use anyhow::{Result, anyhow};
use axum::body::Bytes;
use futures::{Stream, TryStreamExt};
use mc_mcp::CoreClient;
use mc_mcp::core::{CoreCall, CoreError};
use serde_json::{Value, json};

use crate::config::Config;
use crate::credentials;

/// A client of the Core API as whoever is signed in.
pub struct ApiClient(CoreClient);

impl ApiClient {
    /// The service that `config` describes.
    pub fn new(config: &Config) -> Result<Self> {
        let tokens = credentials::of(config)?;
        Ok(Self(CoreClient::over_http(&config.base_url(), tokens, config.ca_pem()?.as_deref())?))
    }

    /// Calls with `GET`.
    pub async fn get(&self, path: &str, query: &[(&'static str, &str)]) -> Result<Value> {
        let query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.send(CoreCall::get(path, query)).await
    }

    /// Calls with `GET` for an answer too long to be held: what it is made of, as it arrives.
    pub async fn stream(
        &self,
        path: &str,
        query: &[(&'static str, &str)],
    ) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
        let query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let answer = self.0.stream(CoreCall::get(path, query), None).await;
        let answer = answer.map_err(|error| readable(&error))?;
        Ok(answer.map_err(|error| anyhow!("the answer broke off ({error}); ask again")))
    }

    /// Calls with `POST`.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.send(CoreCall::post(path, body)).await
    }

    /// Calls with `PATCH`.
    pub async fn patch(&self, path: &str, body: Value) -> Result<Value> {
        let method = axum::http::Method::PATCH;
        self.send(CoreCall { method, ..CoreCall::post(path, body) }).await
    }

    /// Calls with `DELETE`.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.delete_with(path, &[]).await
    }

    /// The same with a query.
    pub async fn delete_with(&self, path: &str, query: &[(&'static str, &str)]) -> Result<()> {
        let query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let method = axum::http::Method::DELETE;
        self.send(CoreCall { method, ..CoreCall::get(path, query) }).await.map(drop)
    }

    /// Makes the project if it is not there.
    pub async fn ensure_project(&self, key: &str) -> Result<()> {
        self.post("/projects", json!({ "key": key })).await.map(drop)
    }

    async fn send(&self, call: CoreCall) -> Result<Value> {
        self.0.send(call, None).await.map_err(|error| readable(&error))
    }
}

/// The error as a person at a terminal needs it.
fn readable(error: &CoreError) -> anyhow::Error {
    anyhow!("{error}")
}
