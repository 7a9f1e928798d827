//! What each key has in use of something that all share, so that none takes all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// Amounts in use by key. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shares<K> {
    max: usize,
    used: Arc<Mutex<HashMap<K, usize>>>,
    /// Notifies those that wait for a part of their key's share.
    released: Arc<Notify>,
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
        Self { max, used: Arc::default(), released: Arc::default() }
    }

    /// Returns `amount` for `key`, unless it would have too much.
    pub fn take(&self, key: K, amount: usize) -> Option<Share<K>> {
        let mut share = Share { shares: self.clone(), key, amount: 0 };
        share.grow(amount).then_some(share)
    }

    /// Returns `amount` for `key`, at once or within `timeout`.
    pub async fn take_within(&self, key: K, amount: usize, timeout: Duration) -> Option<Share<K>> {
        let mut share = Share { shares: self.clone(), key, amount: 0 };
        share.grow_within(amount, timeout).await.then_some(share)
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

    /// Adds `more`, at once or within `timeout`; returns whether it is added.
    pub async fn grow_within(&mut self, more: usize, timeout: Duration) -> bool {
        self.grow(more) || tokio::time::timeout(timeout, self.wait_to_grow(more)).await.is_ok()
    }

    async fn wait_to_grow(&mut self, more: usize) {
        let released = Arc::clone(&self.shares.released);
        loop {
            let mut next = pin!(released.notified());
            // Before the share is looked at, so that no release in between is missed.
            next.as_mut().enable();
            if self.grow(more) {
                return;
            }
            next.await;
        }
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
        drop(used);
        if self.amount > 0 {
            self.shares.released.notify_waiters();
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

    #[tokio::test]
    async fn a_key_waits_for_its_share() {
        let shares = Shares::new(2);
        let first = shares.take("a", 2).expect("both");
        assert!(shares.take_within("a", 1, Duration::ZERO).await.is_none());
        let mut waiting = Box::pin(shares.take_within("a", 1, Duration::MAX));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(shares.take("b", 1));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(first);
        let second = waiting.await.expect("one of two");
        assert!(shares.take("a", 2).is_none());
        drop(second);
        assert!(shares.is_unused());
    }

    #[test]
    fn zero_is_no_limit() {
        assert!(Shares::new(0).take("a", usize::MAX).is_some());
    }
}
