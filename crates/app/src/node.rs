//! What `serve` and `worker` open alike, beside the database.

use std::sync::Arc;

use anyhow::Result;
use mc_chat::ChatModels;
use mc_connectors::ConnectorRegistry;
use mc_crypto::Encryptor;
use mc_redis::RedisClient;
use mc_search::ActiveModels;
use mc_store::Store;
use tokio_util::sync::CancellationToken;

use crate::background::models;
use crate::config::Config;
use crate::{parsers, redis};

/// What requests and background services of a node share, beside the database.
pub struct Node {
    /// Encrypts and decrypts the secrets in the database.
    pub encryptor: Arc<Encryptor>,
    /// The connectors that the operator configured.
    pub connectors: Arc<ConnectorRegistry>,
    /// The Redis that the nodes share, if one is configured.
    pub redis: Option<RedisClient>,
    /// The configured chat models.
    pub chat: Arc<ChatModels>,
    /// The active embedding models.
    pub models: ActiveModels,
}

impl Node {
    /// Opens the parts; returns `None` if `shutdown` is cancelled first. `store` sees every
    /// project.
    pub async fn open(
        config: &Config,
        store: &Store,
        encryptor: Arc<Encryptor>,
        shutdown: &CancellationToken,
    ) -> Result<Option<Self>> {
        parsers::start().await?;
        let connectors = Arc::new(config.connectors.open()?);
        let chat = Arc::new(ChatModels::open(&config.chat)?);
        let redis = redis::open(config, store).await?;
        let query_vectors = redis::query_vectors(redis.as_ref(), &encryptor);
        // The download of a model may take minutes.
        let opening = models::open(config, store, query_vectors);
        let models = shutdown.run_until_cancelled(opening).await.transpose()?;
        Ok(models.map(|models| Self { encryptor, connectors, redis, chat, models }))
    }
}
