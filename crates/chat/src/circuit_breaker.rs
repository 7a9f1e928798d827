//! Circuit breaker: requests to a server that keeps failing are rejected at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failed requests in a row after which no more are sent.
const MAX_FAILURES: u32 = 5;
/// Time without requests.
const PAUSE: Duration = Duration::from_secs(30);

/// State of one server.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// When the next request may be sent, after too many failures.
    opens_at: Option<Instant>,
}

impl CircuitBreaker {
    /// Allows a request, or returns the time until one is allowed. After the pause, one request is
    /// allowed as a trial; until it succeeds, or another pause is over, no other is.
    pub(crate) fn admit(&self) -> Result<(), Duration> {
        let mut state = self.state();
        let Some(opens_at) = state.opens_at else { return Ok(()) };
        let now = Instant::now();
        if now < opens_at {
            return Err(opens_at - now);
        }
        state.opens_at = Some(now + PAUSE);
        Ok(())
    }

    /// Records that the server answered.
    pub(crate) fn succeeded(&self) {
        *self.state() = State::default();
    }

    /// Records that the server failed.
    pub(crate) fn failed(&self) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MAX_FAILURES {
            state.opens_at = Some(Instant::now() + PAUSE);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failing_server_gets_one_trial_after_each_pause() {
        let breaker = CircuitBreaker::default();
        for _ in 0..MAX_FAILURES {
            assert_eq!(breaker.admit(), Ok(()));
            breaker.failed();
        }
        assert_eq!(breaker.admit(), Err(PAUSE));
        tokio::time::advance(PAUSE).await;
        assert_eq!(breaker.admit(), Ok(()), "the trial");
        assert_eq!(breaker.admit(), Err(PAUSE), "one trial only");
        breaker.failed();
        assert!(breaker.admit().is_err());
        tokio::time::advance(PAUSE).await;
        assert_eq!(breaker.admit(), Ok(()));
        breaker.succeeded();
        assert_eq!((breaker.admit(), breaker.admit()), (Ok(()), Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn success_between_failures_keeps_the_circuit_closed() {
        let breaker = CircuitBreaker::default();
        for _ in 0..3 * MAX_FAILURES {
            breaker.failed();
            breaker.succeeded();
        }
        assert_eq!(breaker.admit(), Ok(()));
    }
}
