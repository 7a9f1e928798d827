//! Buckets that all nodes take from, and a node's own for as long as the others' are out of reach.

use std::fmt::Display;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use mc_redis::{SharedRateLimits, TokenBuckets};

use crate::rate_limit::Limiter;

/// A [`Limiter`] whose buckets are all nodes' where the nodes share something.
///
/// What the shared bucket gives is taken from the node's own as well. So when the nodes lose what they share, each
/// goes on with what it has not let through itself in the last minute: at the most one bucket a node, and none that
/// was emptied a moment ago is full again.
pub struct SharedLimiter<K: Hash + Eq + Clone, C: Clock = MonotonicClock> {
    own: Limiter<K, C>,
    shared: Option<TokenBuckets>,
}

impl<K: Hash + Eq + Clone> SharedLimiter<K> {
    /// Allows `units` a minute to each key; 0 is no limit, and no limiter. `purpose` tells its buckets from those of
    /// other limiters among `rates`.
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
    /// One that shares nothing.
    #[cfg(test)]
    pub(crate) fn alone(own: Limiter<K, C>) -> Self {
        Self { own, shared: None }
    }

    /// Takes `units` from the bucket of `key`, or says how long it is until they are in. What costs
    /// more than the bucket holds takes all of it.
    pub async fn spend(&self, key: &K, units: NonZeroU32) -> Result<(), Duration> {
        match self.shared_answer(key, units).await {
            Some(Ok(())) => {
                // What it says is no matter: the nodes' clocks differ from that of the shared bucket by a little.
                let _ = self.own.spend(key, units);
                Ok(())
            }
            Some(too_soon) => too_soon,
            None => self.own.spend(key, units),
        }
    }

    async fn shared_answer(&self, key: &K, units: NonZeroU32) -> Option<Result<(), Duration>> {
        let shared = self.shared.as_ref()?;
        let key = key.to_string();
        shared.spend(key.as_bytes(), units).await
    }

    pub(crate) fn clock(&self) -> &C {
        self.own.clock()
    }
}
