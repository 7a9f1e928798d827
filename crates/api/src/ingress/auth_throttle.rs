//! Guessing credentials: who was wrong too often is not listened to for a while.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock, Reference as _};

use super::client_info::ClientNetwork;
use crate::rate_limit::shared::SharedLimiter;

/// Networks that are kept out at most; above it, those whose time is over are forgotten.
const MOST_KEPT_OUT: usize = 1 << 16;

/// Failed authentications, by network. They are counted for all nodes; each learns by the next failure there that a
/// network has to wait.
pub struct AuthThrottle<C: Clock = MonotonicClock> {
    allowed: SharedLimiter<ClientNetwork, C>,
    kept_out: Mutex<HashMap<ClientNetwork, C::Instant>>,
}

impl<C: Clock + Clone> AuthThrottle<C> {
    pub fn new(allowed: SharedLimiter<ClientNetwork, C>) -> Self {
        Self { allowed, kept_out: Mutex::new(HashMap::new()) }
    }

    /// How long `network` is still to wait, where it is. Asked before a credential is looked at:
    /// otherwise the right one among many guesses would still be told from the wrong ones.
    pub fn retry_after(&self, network: ClientNetwork) -> Option<Duration> {
        let now = self.allowed.clock().now();
        let mut kept_out = self.kept_out.lock().unwrap_or_else(PoisonError::into_inner);
        let until = *kept_out.get(&network)?;
        if until > now {
            return Some(until.duration_since(now).into());
        }
        kept_out.remove(&network);
        None
    }

    /// Counts a failure.
    pub async fn failed(&self, network: ClientNetwork) {
        let spent = self.allowed.spend(&network, NonZeroU32::MIN).await;
        let Err(wait) = spent else { return };
        let now = self.allowed.clock().now();
        let mut kept_out = self.kept_out.lock().unwrap_or_else(PoisonError::into_inner);
        if kept_out.len() >= MOST_KEPT_OUT {
            kept_out.retain(|_, until| *until > now);
        }
        if kept_out.len() < MOST_KEPT_OUT {
            kept_out.insert(network, now + wait.into());
        }
        tracing::warn!(
            client.network = %network,
            wait_ms = wait.as_millis(),
            "authentication failed too often; the client has to wait"
        );
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;
    use crate::rate_limit::Limiter;

    #[tokio::test]
    async fn who_was_wrong_too_often_waits_and_is_then_heard_again() {
        let clock = FakeRelativeClock::default();
        let two = NonZeroU32::new(2).expect("not zero");
        let guesses = AuthThrottle::new(SharedLimiter::alone(Limiter::new(two, clock.clone(), 10)));
        let network = |address: &str| ClientNetwork::of(address.parse().expect("an address"));
        let (one, other) = (network("192.0.2.1"), network("192.0.2.2"));
        for _ in 0..2 {
            guesses.failed(one).await;
            assert_eq!(guesses.retry_after(one), None);
        }
        guesses.failed(one).await;
        assert_eq!(guesses.retry_after(one), Some(Duration::from_secs(30)));
        assert_eq!(guesses.retry_after(other), None);
        clock.advance(Duration::from_secs(30));
        assert_eq!(guesses.retry_after(one), None);
        guesses.failed(one).await;
        assert_eq!(guesses.retry_after(one), None, "half a minute allows one failure");
        guesses.failed(one).await;
        assert!(guesses.retry_after(one).is_some());
    }
}
