//! Rate limits that all nodes count together.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use mc_crypto::Encryptor;
use redis::Script;

use crate::RedisClient;

/// Takes units from a bucket atomically, by the clock of Redis: the clocks of the nodes may differ.
const SPEND_SCRIPT: &str = include_str!("rate_limit.lua");

/// Factory of the token buckets that all nodes share; cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedRateLimits {
    client: RedisClient,
    encryptor: Arc<Encryptor>,
    spend_script: Arc<Script>,
}

/// One token bucket per key. A bucket holds the units of one minute and refills evenly.
#[derive(Debug, Clone)]
pub struct TokenBuckets {
    limits: SharedRateLimits,
    purpose: &'static str,
    per_minute: NonZeroU32,
}

impl SharedRateLimits {
    /// Stores buckets in `client`, under names derived from the encryption key.
    pub fn new(client: RedisClient, encryptor: Arc<Encryptor>) -> Self {
        Self { client, encryptor, spend_script: Arc::new(Script::new(SPEND_SCRIPT)) }
    }

    /// Allows `per_minute` units a minute to each key. Buckets of different purposes are separate.
    pub fn per_minute(&self, purpose: &'static str, per_minute: NonZeroU32) -> TokenBuckets {
        TokenBuckets { limits: self.clone(), purpose, per_minute }
    }
}

impl TokenBuckets {
    /// Takes `units` from the bucket of `key`, or returns the wait until they are available.
    ///
    /// A request for more than the capacity takes the whole bucket. `None` means that Redis is
    /// unavailable or late, so the state of the bucket is unknown.
    pub async fn spend(&self, key: &[u8], units: NonZeroU32) -> Option<Result<(), Duration>> {
        let SharedRateLimits { client, encryptor, spend_script } = &self.limits;
        let mut spend = spend_script.key(client.key_name(&encryptor.derive(self.purpose, key)));
        spend.arg(self.per_minute.get()).arg(units.min(self.per_minute).get());
        let spend = &spend;
        let response = client
            .run(|mut connection| async move { spend.invoke_async::<u64>(&mut connection).await });
        let wait_us = response.await?;
        Some(if wait_us == 0 { Ok(()) } else { Err(Duration::from_micros(wait_us)) })
    }
}
