//! What each key has in use of something that all share, so that none takes all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Amounts in use by key. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shares<K> {
    max: usize,
    used: Arc<Mutex<HashMap<K, usize>>>,
}

/// An amount in use, until it is dropped.
#[derive(Debug)]
pub struct Share<K: Copy + Eq + Hash> {
    shares: Shares<K>,
    key: K,
    amount: usize,
}

impl<K: Copy + Eq + Hash> Shares<K> {
    /// Allows each key `max` at once; 0 is no limit.
    pub fn new(max: usize) -> Self {
        let max = if max == 0 { usize::MAX } else { max };
        Self { max, used: Arc::default() }
    }

    /// Returns `amount` for `key`, unless it would have too much.
    pub fn take(&self, key: K, amount: usize) -> Option<Share<K>> {
        let mut share = Share { shares: self.clone(), key, amount: 0 };
        share.grow(amount).then_some(share)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub fn is_unused(&self) -> bool {
        self.lock().is_empty()
    }
}

impl<K: Copy + Eq + Hash> Share<K> {
    /// Adds `more`; returns whether that is within the limit.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut used = self.shares.lock();
        let own = used.get(&self.key).copied().unwrap_or_default();
        let Some(sum) = own.checked_add(more).filter(|sum| *sum <= self.shares.max) else {
            return false;
        };
        used.insert(self.key, sum);
        self.amount += more;
        true
    }
}

impl<K: Copy + Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut used = self.shares.lock();
        if let Some(own) = used.get_mut(&self.key) {
            *own -= self.amount;
            if *own == 0 {
                used.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gets_no_more_than_its_share() {
        let shares = Shares::new(3);
        let mut first = shares.take("a", 2).expect("two of three");
        assert!(shares.take("a", 2).is_none());
        assert!(first.grow(1));
        assert!(!first.grow(1));
        assert!(!first.grow(usize::MAX), "no overflow");
        let other = shares.take("b", 3).expect("another key");
        drop((first, other));
        assert!(shares.is_unused());
        assert!(shares.take("a", 3).is_some());
    }

    #[test]
    fn zero_is_no_limit() {
        assert!(Shares::new(0).take("a", usize::MAX).is_some());
    }
}
