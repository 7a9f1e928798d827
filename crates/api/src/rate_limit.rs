//! Rate limits by key, in bounded memory.

pub(crate) mod processor_time;
pub(crate) mod shared;

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

/// Maximum number of keys, which take some megabytes.
const MAX_KEYS: usize = 1 << 16;

/// Token buckets by key. A bucket has the units of a minute and is refilled evenly.
pub struct Limiter<K: Hash + Eq + Clone, C: Clock = MonotonicClock> {
    quota: Quota,
    clock: C,
    max_keys: usize,
    buckets: RwLock<Buckets<K, C>>,
}

type Buckets<K, C> = RateLimiter<K, HashMapStateStore<K>, C, NoOpMiddleware<<C as Clock>::Instant>>;

impl<K: Hash + Eq + Clone> Limiter<K> {
    /// Allows `units` per minute to each key; `None` for 0, which is no limit.
    pub fn per_minute(units: u32) -> Option<Self> {
        NonZeroU32::new(units).map(|units| Self::new(units, MonotonicClock, MAX_KEYS))
    }
}

impl<K: Hash + Eq + Clone, C: Clock + Clone> Limiter<K, C> {
    pub(crate) fn new(per_minute: NonZeroU32, clock: C, max_keys: usize) -> Self {
        let quota = Quota::per_minute(per_minute);
        let buckets = RwLock::new(RateLimiter::hashmap_with_clock(quota, clock.clone()));
        Self { quota, clock, max_keys, buckets }
    }

    /// Takes `units` from the bucket of `key`, or returns how long it takes until it has them. More
    /// units than a bucket can have take all of it.
    pub fn spend(&self, key: &K, units: NonZeroU32) -> Result<(), Duration> {
        self.evict();
        let units = units.min(self.quota.burst_size());
        let buckets = self.buckets.read().unwrap_or_else(PoisonError::into_inner);
        match buckets.check_key_n(key, units) {
            Ok(Err(too_soon)) => Err(too_soon.wait_time_from(self.clock.now())),
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    /// Removes keys with full buckets. If most are not full, a client invents keys, and all are
    /// removed: rejecting new keys would lock out other clients.
    fn evict(&self) {
        let len = || self.buckets.read().unwrap_or_else(PoisonError::into_inner).len();
        if len() < self.max_keys {
            return;
        }
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        buckets.retain_recent();
        if buckets.len() > self.max_keys / 2 {
            tracing::warn!(
                limit_keys = self.max_keys,
                "too many rate limit keys; all buckets reset"
            );
            *buckets = RateLimiter::hashmap_with_clock(self.quota, self.clock.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    fn limiter(per_minute: u32, max_keys: usize) -> Limiter<u32, FakeRelativeClock> {
        let per_minute = NonZeroU32::new(per_minute).expect("not zero");
        Limiter::new(per_minute, FakeRelativeClock::default(), max_keys)
    }

    #[test]
    fn each_key_has_a_bucket_that_is_refilled() {
        let limiter = limiter(2, 10);
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
        assert_eq!(limiter.spend(&1, ONE), Err(Duration::from_secs(30)));
        assert_eq!(limiter.spend(&2, ONE), Ok(()), "another key");
        limiter.clock.advance(Duration::from_secs(30));
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
    }

    #[test]
    fn units_beyond_the_bucket_take_all_of_it() {
        let limiter = limiter(2, 10);
        assert_eq!(limiter.spend(&1, NonZeroU32::MAX), Ok(()));
        assert!(limiter.spend(&1, ONE).is_err());
    }

    #[test]
    fn full_buckets_are_evicted_first_and_all_above_the_limit() {
        let limiter = limiter(1, 8);
        let kept = || limiter.buckets.read().expect("a lock").len();
        for key in 0..8 {
            limiter.spend(&key, ONE).expect("a full bucket");
        }
        limiter.clock.advance(Duration::from_secs(61));
        limiter.spend(&8, ONE).expect("a full bucket");
        assert_eq!(kept(), 1, "the full buckets were kept");
        for key in 9..1_000 {
            limiter.spend(&key, ONE).expect("a full bucket");
            assert!(kept() <= 8);
        }
    }
}
