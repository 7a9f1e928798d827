//! Pause for networks that failed to authenticate too often, against guessing of credentials.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock, Reference as _};

use super::client_info::ClientNetwork;
use crate::rate_limit::shared::SharedLimiter;

/// Maximum number of blocked networks. Above it, those whose pause is over are removed.
const MAX_BLOCKED: usize = 1 << 16;

/// Failed authentications by network. Nodes count them together, and a node blocks a network at the
/// next failure that it sees itself.
pub struct AuthThrottle<C: Clock = MonotonicClock> {
    allowed: SharedLimiter<ClientNetwork, C>,
    blocked: Mutex<HashMap<ClientNetwork, C::Instant>>,
}

impl<C: Clock + Clone> AuthThrottle<C> {
    pub fn new(allowed: SharedLimiter<ClientNetwork, C>) -> Self {
        Self { allowed, blocked: Mutex::new(HashMap::new()) }
    }

    /// Returns how long `network` still has to wait. To be called before a credential is checked:
    /// otherwise a valid one among many guesses would still be recognized.
    pub fn retry_after(&self, network: ClientNetwork) -> Option<Duration> {
        let now = self.allowed.clock().now();
        let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        let until = *blocked.get(&network)?;
        if until > now {
            return Some(until.duration_since(now).into());
        }
        blocked.remove(&network);
        None
    }

    /// Counts a failure.
    pub async fn record(&self, network: ClientNetwork) {
        let spent = self.allowed.spend(&network, NonZeroU32::MIN).await;
        let Err(wait) = spent else { return };
        let now = self.allowed.clock().now();
        let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        if blocked.len() >= MAX_BLOCKED {
            blocked.retain(|_, until| *until > now);
        }
        if blocked.len() < MAX_BLOCKED {
            blocked.insert(network, now + wait.into());
        }
        tracing::warn!(
            client.network = %network,
            wait_ms = wait.as_millis(),
            "authentication failed too often; network blocked"
        );
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;
    use crate::rate_limit::Limiter;

    #[tokio::test]
    async fn auth_throttle_blocks_then_allows_the_network() {
        let clock = FakeRelativeClock::default();
        let two = NonZeroU32::new(2).expect("not zero");
        let throttle =
            AuthThrottle::new(SharedLimiter::alone(Limiter::new(two, clock.clone(), 10)));
        let network = |address: &str| ClientNetwork::of(address.parse().expect("an address"));
        let (one, other) = (network("192.0.2.1"), network("192.0.2.2"));
        for _ in 0..2 {
            throttle.record(one).await;
            assert_eq!(throttle.retry_after(one), None);
        }
        throttle.record(one).await;
        assert_eq!(throttle.retry_after(one), Some(Duration::from_secs(30)));
        assert_eq!(throttle.retry_after(other), None);
        clock.advance(Duration::from_secs(30));
        assert_eq!(throttle.retry_after(one), None);
        throttle.record(one).await;
        assert_eq!(throttle.retry_after(one), None, "half a minute allows one failure");
        throttle.record(one).await;
        assert!(throttle.retry_after(one).is_some());
    }
}
