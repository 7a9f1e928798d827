//! What nodes share beside the database, where `redis.url` says so.

use std::sync::Arc;

use anyhow::Result;
use mc_crypto::Encryptor;
use mc_embed::QueryCache;
use mc_redis::{QueryVectorStore, RedisClient, Settings, SharedRateLimits};
use mc_store::{Store, server};

use crate::config::Config;

/// The configured Redis, which need not be up. Its names begin with the identity of the database
/// behind `store`, whose role may see it.
pub async fn open(config: &Config, store: &Store) -> Result<Option<RedisClient>> {
    let redis = &config.redis;
    if redis.url.is_empty() {
        return Ok(None);
    }
    let settings = Settings {
        url: redis.url.clone(),
        database: server::identity(store).await?,
        timeout: redis.timeout(),
    };
    Ok(Some(RedisClient::open(&settings)?))
}

/// What counts for all nodes.
pub fn rates(shared: Option<&RedisClient>, sealer: &Arc<Encryptor>) -> Option<SharedRateLimits> {
    shared.map(|shared| SharedRateLimits::new(shared.clone(), Arc::clone(sealer)))
}

/// What keeps vectors of questions for all nodes.
pub fn queries(
    shared: Option<&RedisClient>,
    sealer: &Arc<Encryptor>,
) -> Option<Arc<dyn QueryCache>> {
    let vectors = QueryVectorStore::new(shared?.clone(), Arc::clone(sealer));
    Some(Arc::new(vectors))
}
