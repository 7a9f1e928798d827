//! How often something may happen, for each key apart, in bounded memory.

pub(crate) mod shared;

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

/// Keys that are kept at most: some megabytes.
const MOST_KEYS: usize = 1 << 16;

/// A bucket for each key: as much as a minute allows fits in, and it fills up evenly.
pub struct Limiter<K: Hash + Eq + Clone, C: Clock = MonotonicClock> {
    quota: Quota,
    clock: C,
    most_keys: usize,
    buckets: RwLock<Buckets<K, C>>,
}

type Buckets<K, C> = RateLimiter<K, HashMapStateStore<K>, C, NoOpMiddleware<<C as Clock>::Instant>>;

impl<K: Hash + Eq + Clone> Limiter<K> {
    /// Allows `units` a minute to each key; 0 is no limit, and no limiter.
    pub fn per_minute(units: u32) -> Option<Self> {
        NonZeroU32::new(units).map(|units| Self::new(units, MonotonicClock, MOST_KEYS))
    }
}

impl<K: Hash + Eq + Clone, C: Clock + Clone> Limiter<K, C> {
    pub(crate) fn new(per_minute: NonZeroU32, clock: C, most_keys: usize) -> Self {
        let quota = Quota::per_minute(per_minute);
        let buckets = RwLock::new(RateLimiter::hashmap_with_clock(quota, clock.clone()));
        Self { quota, clock, most_keys, buckets }
    }

    /// Takes `units` from the bucket of `key`, or says how long it is until they are in. What costs
    /// more than the bucket holds takes all of it.
    pub fn spend(&self, key: &K, units: NonZeroU32) -> Result<(), Duration> {
        self.make_room();
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

    /// Forgets the keys whose buckets are full again. Where most are not, somebody invents keys, and
    /// all are forgotten: to refuse new ones would lock out those who don't.
    fn make_room(&self) {
        let len = || self.buckets.read().unwrap_or_else(PoisonError::into_inner).len();
        if len() < self.most_keys {
            return;
        }
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        buckets.retain_recent();
        if buckets.len() > self.most_keys / 2 {
            tracing::warn!(limit_keys = self.most_keys, "too many callers to count; began anew");
            *buckets = RateLimiter::hashmap_with_clock(self.quota, self.clock.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    fn limiter(per_minute: u32, most_keys: usize) -> Limiter<u32, FakeRelativeClock> {
        let per_minute = NonZeroU32::new(per_minute).expect("not zero");
        Limiter::new(per_minute, FakeRelativeClock::default(), most_keys)
    }

    #[test]
    fn an_empty_bucket_fills_again_with_time_and_each_key_has_its_own() {
        let limiter = limiter(2, 10);
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
        assert_eq!(limiter.spend(&1, ONE), Err(Duration::from_secs(30)));
        assert_eq!(limiter.spend(&2, ONE), Ok(()), "another key");
        limiter.clock.advance(Duration::from_secs(30));
        assert_eq!(limiter.spend(&1, ONE), Ok(()));
    }

    #[test]
    fn what_costs_more_than_a_bucket_holds_takes_all_of_it() {
        let limiter = limiter(2, 10);
        assert_eq!(limiter.spend(&1, NonZeroU32::MAX), Ok(()));
        assert!(limiter.spend(&1, ONE).is_err());
    }

    #[test]
    fn keys_with_full_buckets_are_forgotten_first_and_all_when_there_are_too_many() {
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
