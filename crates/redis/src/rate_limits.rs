//! How often something may happen, counted for all nodes together.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use mc_crypto::Encryptor;
use redis::Script;

use crate::RedisClient;

/// Takes from a bucket in one step, by the clock of Redis: those of the nodes may differ.
const TAKE: &str = include_str!("bucket.lua");

/// Counts for all nodes; cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedRateLimits {
    shared: RedisClient,
    sealer: Arc<Encryptor>,
    take: Arc<Script>,
}

/// A bucket for each key: as much as a minute allows fits in, and it fills up evenly. All nodes take from the same.
#[derive(Debug, Clone)]
pub struct TokenBuckets {
    rates: SharedRateLimits,
    purpose: &'static str,
    per_minute: NonZeroU32,
}

impl SharedRateLimits {
    /// Counts in `shared`, under names that only who has the encryption key can make.
    pub fn new(shared: RedisClient, sealer: Arc<Encryptor>) -> Self {
        Self { shared, sealer, take: Arc::new(Script::new(TAKE)) }
    }

    /// Allows `per_minute` units a minute to each key. `purpose` tells these buckets from others.
    pub fn per_minute(&self, purpose: &'static str, per_minute: NonZeroU32) -> TokenBuckets {
        TokenBuckets { rates: self.clone(), purpose, per_minute }
    }
}

impl TokenBuckets {
    /// Takes `units` from the bucket of `key`, or says how long it is until they are in; what costs more than the
    /// bucket holds takes all of it. `None` where Redis is away or late: nobody knows then.
    pub async fn spend(&self, key: &[u8], units: NonZeroU32) -> Option<Result<(), Duration>> {
        let SharedRateLimits { shared, sealer, take } = &self.rates;
        let name = shared.name(&sealer.derive(self.purpose, key));
        let mut taking = take.key(name);
        taking.arg(self.per_minute.get()).arg(units.min(self.per_minute).get());
        let taking = &taking;
        let asked = shared
            .ask(|mut connection| async move { taking.invoke_async::<u64>(&mut connection).await });
        let wait_us = asked.await?;
        Some(if wait_us == 0 { Ok(()) } else { Err(Duration::from_micros(wait_us)) })
    }
}
