//! Limits of the processor time of requests, by key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mc_processor_time::Meter;

/// The time for which a limit is set.
const PERIOD: Duration = Duration::from_mins(1);
/// Keys from which settled ones are removed.
const MAX_KEYS: usize = 1 << 16;

/// Limit of the processor time of each key, such as a caller.
///
/// How long work takes is known when it ends. So it is charged then, even beyond the limit, and the
/// key waits until it is within the limit again. Its use becomes older evenly, by `per_period` in
/// each period: the generic cell rate algorithm, with debt. Each node counts the time of its own
/// processors.
#[derive(Debug)]
pub struct ProcessorTimeLimit<K> {
    per_period: Duration,
    /// The time at which all use of the key is settled (its theoretical arrival time). It is later
    /// than now by at most a period while the key is within the limit.
    settled_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> ProcessorTimeLimit<K> {
    /// Allows each key this time per minute; `None` for zero, which is no limit.
    pub fn per_minute(time: Duration) -> Option<Self> {
        (!time.is_zero()).then(|| Self::new(time))
    }

    fn new(per_period: Duration) -> Self {
        Self { per_period, settled_at: Mutex::default() }
    }

    /// Checks that a key is within the limit, or returns how long it takes until it is.
    pub fn check(&self, key: &K) -> Result<(), Duration> {
        self.check_at(key, Instant::now())
    }

    fn check_at(&self, key: &K, now: Instant) -> Result<(), Duration> {
        let Some(settled_at) = self.lock().get(key).copied() else { return Ok(()) };
        let wait = settled_at.saturating_duration_since(now).saturating_sub(PERIOD);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Returns the meter that charges work to a key.
    pub fn meter(self: &Arc<Self>, key: K) -> Meter
    where
        K: Copy + Send + Sync + 'static,
    {
        let this = Arc::clone(self);
        Meter::new(move |used| this.charge(key, used))
    }

    /// Charges processor time to a key.
    pub fn charge(&self, key: K, used: Duration) {
        self.charge_at(key, used, Instant::now());
    }

    fn charge_at(&self, key: K, used: Duration, now: Instant) {
        let periods = used.as_secs_f64() / self.per_period.as_secs_f64();
        let added = PERIOD.mul_f64(periods);
        let mut accounts = self.lock();
        if accounts.len() >= MAX_KEYS {
            accounts.retain(|_, settled_at| *settled_at > now);
        }
        let settled_at = accounts.entry(key).or_insert(now);
        *settled_at = now.max(*settled_at) + added;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.settled_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn use_above_the_limit_is_settled_before_the_next_request() {
        let (limit, now) = (ProcessorTimeLimit::new(30 * SECOND), Instant::now());
        limit.charge_at("a", 30 * SECOND, now);
        assert_eq!(limit.check_at(&"a", now), Ok(()), "a minute's time, and no more");
        limit.charge_at("a", 2 * SECOND, now);
        assert_eq!(limit.check_at(&"a", now), Err(4 * SECOND));
        assert_eq!(limit.check_at(&"b", now), Ok(()), "another key");
        assert_eq!(limit.check_at(&"a", now + 4 * SECOND), Ok(()));
    }

    #[test]
    fn half_a_core_is_within_a_limit_of_half_a_core() {
        let (limit, start) = (ProcessorTimeLimit::new(30 * SECOND), Instant::now());
        for minute in 0..600 {
            let now = start + minute * PERIOD;
            limit.charge_at("a", 29 * SECOND, now);
            assert_eq!(limit.check_at(&"a", now), Ok(()));
        }
        let end = start + 600 * PERIOD;
        limit.charge_at("a", 31 * SECOND, end);
        assert!(limit.check_at(&"a", end).is_err());
    }

    #[test]
    fn settled_keys_are_removed_first() {
        let (limit, now) = (ProcessorTimeLimit::new(SECOND), Instant::now());
        for key in 0..MAX_KEYS {
            limit.charge_at(key, SECOND / 10, now);
        }
        limit.charge_at(MAX_KEYS, SECOND, now + PERIOD);
        assert_eq!(limit.lock().len(), 1);
    }

    #[test]
    fn zero_is_no_limit() {
        assert!(ProcessorTimeLimit::<u8>::per_minute(Duration::ZERO).is_none());
    }
}
