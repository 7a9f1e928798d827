//! A queue in which keys get permits round-robin.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Permits that the keys get in turn, one at a time. So a key that waits for many delays each other
/// key by one. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue<K: Copy + Eq + Hash>(Arc<Mutex<State<K>>>);

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    /// Unused permits; none while a request waits.
    free: usize,
    /// Waiting requests by key, in the order of the calls. No list is empty.
    waiting: HashMap<K, VecDeque<oneshot::Sender<Permit<K>>>>,
    /// The keys of `waiting`, the next one first.
    turns: VecDeque<K>,
}

/// A permit, which goes to the next key when it is dropped.
#[derive(Debug)]
pub struct Permit<K: Copy + Eq + Hash>(FairQueue<K>);

impl<K: Copy + Eq + Hash> FairQueue<K> {
    /// Creates a queue for this number of permits.
    pub fn new(permits: usize) -> Self {
        let state = State { free: permits, waiting: HashMap::new(), turns: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for a permit. A request that stops waiting gets none.
    pub async fn acquire(&self, key: K) -> Permit<K> {
        match self.take_or_wait(key) {
            Ok(permit) => permit,
            Err(permit) => permit.await.expect("the queue keeps waiting requests"),
        }
    }

    fn take_or_wait(&self, key: K) -> Result<Permit<K>, oneshot::Receiver<Permit<K>>> {
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            return Ok(Permit(self.clone()));
        }
        let (sender, permit) = oneshot::channel();
        state.enqueue(key, sender);
        Err(permit)
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of unused permits.
    #[cfg(test)]
    pub fn free(&self) -> usize {
        self.lock().free
    }

    /// Returns the number of waiting requests.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.lock().waiting.values().map(VecDeque::len).sum()
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    fn enqueue(&mut self, key: K, permit: oneshot::Sender<Permit<K>>) {
        match self.waiting.entry(key) {
            Entry::Occupied(mut waiting) => waiting.get_mut().push_back(permit),
            Entry::Vacant(waiting) => {
                waiting.insert(VecDeque::from([permit]));
                self.turns.push_back(key);
            }
        }
    }

    /// Returns the request that gets the next permit, and moves its key behind all others.
    fn next(&mut self) -> Option<oneshot::Sender<Permit<K>>> {
        while let Some(key) = self.turns.pop_front() {
            let Entry::Occupied(mut waiting) = self.waiting.entry(key) else { continue };
            let next = waiting.get_mut().pop_front();
            if waiting.get().is_empty() {
                waiting.remove();
            } else {
                self.turns.push_back(key);
            }
            // A cancelled request waits no longer.
            if let Some(next) = next.filter(|next| !next.is_closed()) {
                return Some(next);
            }
        }
        None
    }
}

impl<K: Copy + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let Some(next) = state.next() else {
            state.free += 1;
            return;
        };
        drop(state);
        // If the request was cancelled just now, the permit is dropped and goes to the one after.
        drop(next.send(Self(self.0.clone())));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::{BoxFuture, select_all};

    use super::*;

    type Waiting = BoxFuture<'static, (char, Permit<char>)>;

    /// Waits for a permit; the first poll puts it into the queue.
    fn waiting(queue: &FairQueue<char>, key: char) -> Waiting {
        let queue = queue.clone();
        let mut waiting: Waiting = Box::pin(async move { (key, queue.acquire(key).await) });
        assert!((&mut waiting).now_or_never().is_none(), "all permits are taken");
        waiting
    }

    /// Returns the keys in the order in which they get the permit.
    async fn order(mut waiting: Vec<Waiting>) -> String {
        let mut order = String::new();
        while !waiting.is_empty() {
            let ((key, permit), _, rest) = select_all(waiting).await;
            order.push(key);
            drop(permit);
            waiting = rest;
        }
        order
    }

    #[tokio::test]
    async fn another_key_gets_a_permit_before_the_tenth_of_the_first() {
        let queue = FairQueue::new(1);
        let permit = queue.acquire('a').await;
        let mut all: Vec<_> = (0..10).map(|_| waiting(&queue, 'a')).collect();
        all.push(waiting(&queue, 'b'));
        all.push(waiting(&queue, 'b'));
        all.push(waiting(&queue, 'c'));
        drop(permit);
        assert_eq!(order(all).await, "abcabaaaaaaaa");
        assert_eq!(queue.free(), 1);
    }

    #[tokio::test]
    async fn a_request_that_stops_waiting_gets_no_permit() {
        let queue = FairQueue::new(1);
        let permit = queue.acquire('a').await;
        let (cancelled, kept) = (waiting(&queue, 'a'), waiting(&queue, 'b'));
        drop(cancelled);
        drop(permit);
        assert_eq!(order(vec![kept]).await, "b");
        // This one is cancelled between getting the permit and using it.
        let permit = queue.acquire('a').await;
        let cancelled = waiting(&queue, 'a');
        drop(permit);
        assert_eq!(queue.free(), 0);
        drop(cancelled);
        assert_eq!(queue.free(), 1);
        assert!(queue.waiting() == 0 && queue.lock().turns.is_empty());
    }
}
