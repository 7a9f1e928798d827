//! Rate limits that nodes share, with a fallback to a node's own.

use std::fmt::Display;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use mc_redis::{SharedRateLimits, TokenBuckets};

use crate::rate_limit::Limiter;

/// A [`Limiter`] whose buckets are shared by all nodes, if they share Redis.
///
/// Units of the shared bucket are also taken from the node's own. So if Redis is lost, each node
/// allows at most one bucket, less the units that it has let through in the last minute.
pub struct SharedLimiter<K: Hash + Eq + Clone, C: Clock = MonotonicClock> {
    own: Limiter<K, C>,
    shared: Option<TokenBuckets>,
}

impl<K: Hash + Eq + Clone> SharedLimiter<K> {
    /// Allows `units` per minute to each key; `None` for 0, which is no limit. `purpose` separates
    /// its shared buckets from those of other limiters.
    pub fn per_minute(
        purpose: &'static str,
        units: u32,
        rates: Option<&SharedRateLimits>,
    ) -> Option<Self> {
        let own = Limiter::per_minute(units)?;
        let units = NonZeroU32::new(units)?;
        Some(Self { own, shared: rates.map(|rates| rates.per_minute(purpose, units)) })
    }
}

impl<K: Hash + Eq + Clone + Display, C: Clock + Clone> SharedLimiter<K, C> {
    /// Returns a limiter of one node.
    #[cfg(test)]
    pub(crate) fn alone(own: Limiter<K, C>) -> Self {
        Self { own, shared: None }
    }

    /// Takes `units` from the bucket of `key`, or returns how long it takes until it has them. More
    /// units than a bucket can have take all of it.
    pub async fn spend(&self, key: &K, units: NonZeroU32) -> Result<(), Duration> {
        match self.spend_shared(key, units).await {
            Some(Ok(())) => {
                // Its outcome is ignored: its clock differs a little from that of the shared one.
                let _ = self.own.spend(key, units);
                Ok(())
            }
            Some(too_soon) => too_soon,
            None => self.own.spend(key, units),
        }
    }

    async fn spend_shared(&self, key: &K, units: NonZeroU32) -> Option<Result<(), Duration>> {
        let shared = self.shared.as_ref()?;
        let key = key.to_string();
        shared.spend(key.as_bytes(), units).await
    }

    pub(crate) fn clock(&self) -> &C {
        self.own.clock()
    }
}
