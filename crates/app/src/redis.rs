//! The optional Redis that nodes share, set with `redis.url`.

use std::sync::Arc;

use anyhow::Result;
use mc_crypto::Encryptor;
use mc_embed::QueryCache;
use mc_redis::{QueryVectorStore, RedisClient, Settings, SharedRateLimits};
use mc_store::{Store, server};

use crate::config::Config;

/// Creates a client of the configured Redis, which may be unreachable. Its keys begin with the
/// identity of the database of `store`; the role of `store` must be allowed to read it.
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

/// Creates the rate limits that all nodes share.
pub fn rate_limits(
    client: Option<&RedisClient>,
    encryptor: &Arc<Encryptor>,
) -> Option<SharedRateLimits> {
    client.map(|client| SharedRateLimits::new(client.clone(), Arc::clone(encryptor)))
}

/// Creates the cache of query vectors that all nodes share.
pub fn query_vectors(
    client: Option<&RedisClient>,
    encryptor: &Arc<Encryptor>,
) -> Option<Arc<dyn QueryCache>> {
    let vectors = QueryVectorStore::new(client?.clone(), Arc::clone(encryptor));
    Some(Arc::new(vectors))
}
