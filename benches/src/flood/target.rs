//! The service under attack, as its attacker knows it.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde_json::json;

use crate::harness::service::Api;
use crate::text::Notes;
use crate::webhooks::webhook::Webhook;

/// The id of a webhook that does not exist.
const UNKNOWN: &str = "01920000-0000-7000-8000-000000000000";

/// Addresses and credentials.
pub struct Target {
    /// Address of the service.
    pub address: SocketAddr,
    /// A token with nothing but `memory:read`.
    pub reader: String,
    /// A token with nothing but `ingest`.
    pub ingester: String,
    /// A token with nothing but `memory:write`.
    pub writer: String,
    /// A token that was revoked.
    pub revoked: String,
    /// Path of a webhook that exists.
    pub webhook: String,
    /// Path of one that does not.
    pub unknown_webhook: String,
    /// Words of the notes, for queries.
    pub words: Vec<String>,
}

impl Target {
    /// Creates the tokens of an attacker, who also knows the URL of a webhook.
    pub async fn of(api: &Api, notes: &Notes, webhook: &Webhook) -> Result<Self> {
        let address = api.address("");
        let address = address.trim_start_matches("http://").parse::<SocketAddr>()?;
        let (reader, _) = create_token(api, "memory:read").await?;
        let (ingester, _) = create_token(api, "ingest").await?;
        let (writer, _) = create_token(api, "memory:write").await?;
        let (revoked, id) = create_token(api, "memory:read").await?;
        api.delete(&format!("/tokens/{id}")).await?;
        let words = notes.stored.iter().flat_map(|note| note.text.split_whitespace());
        let words = words.map(str::to_owned).collect();
        let webhook = webhook.url.trim_start_matches(&api.address("")).to_owned();
        let (path, _id) = webhook.split_once('=').context("the webhook's URL has no id")?;
        let unknown_webhook = format!("{path}={UNKNOWN}");
        Ok(Self { address, reader, ingester, writer, revoked, webhook, unknown_webhook, words })
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Creates a token with one scope; returns it with its id.
pub async fn create_token(api: &Api, scope: &str) -> Result<(String, String)> {
    let token = api.post("/tokens", &json!({ "name": "flood", "scopes": [scope] })).await?;
    let text = |field: &str| {
        let text = token[field].as_str().map(str::to_owned);
        text.with_context(|| format!("/tokens returned no `{field}`"))
    };
    Ok((text("token")?, text("id")?))
}
