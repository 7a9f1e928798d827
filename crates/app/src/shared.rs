//! What nodes share beside the database, where `redis.url` says so.

use std::sync::Arc;

use anyhow::Result;
use mc_crypto::Sealer;
use mc_embed::QueryCache;
use mc_redis::{Rates, Settings, Shared, Vectors};
use mc_store::{Store, server};

use crate::config::Config;

/// The configured Redis, which need not be up. Its names begin with the identity of the database behind `store`, whose
/// role may see it.
pub async fn open(config: &Config, store: &Store) -> Result<Option<Shared>> {
    let redis = &config.redis;
    if redis.url.is_empty() {
        return Ok(None);
    }
    let settings = Settings {
        url: redis.url.clone(),
        database: server::identity(store).await?,
        answers_within: redis.answers_within(),
    };
    Ok(Some(Shared::open(&settings)?))
}

/// What counts for all nodes.
pub fn rates(shared: Option<&Shared>, sealer: &Arc<Sealer>) -> Option<Rates> {
    shared.map(|shared| Rates::new(shared.clone(), Arc::clone(sealer)))
}

/// What keeps vectors of questions for all nodes.
pub fn queries(shared: Option<&Shared>, sealer: &Arc<Sealer>) -> Option<Arc<dyn QueryCache>> {
    let vectors = Vectors::new(shared?.clone(), Arc::clone(sealer));
    Some(Arc::new(vectors))
}
