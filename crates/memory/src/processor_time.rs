//! Processor time of callers for long work, and its limit.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mc_domain::{Caller, TokenId, UserId};
use mc_indexer::thread_time;

/// The time for which a limit is set.
const PERIOD: Duration = Duration::from_mins(1);
/// How many times a caller's limit a user has for all of their tokens and sessions.
pub const CALLERS_PER_USER: u32 = 4;
/// Accounts of a kind from which settled ones are removed.
const MAX_ACCOUNTS: usize = 1 << 16;

/// The caller whose limit long work counts for, or the service itself.
#[derive(Debug, Clone, Default)]
pub enum Initiator {
    /// Background jobs of the service.
    #[default]
    Service,
    /// A caller, whose processor time is limited.
    Caller(Caller, ProcessorTimeLimit),
}

impl Initiator {
    /// Returns the user of the caller.
    pub(crate) fn user(&self) -> Option<UserId> {
        match self {
            Self::Service => None,
            Self::Caller(caller, _) => Some(caller.user),
        }
    }

    /// Measures work of this thread until the returned value is dropped, and charges it to the
    /// caller, even if the work panics.
    pub(crate) fn measure(self) -> Measurement {
        Measurement { initiator: self, start: thread_time() }
    }
}

/// Work that is being measured.
pub(crate) struct Measurement {
    initiator: Initiator,
    start: Duration,
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if let Initiator::Caller(caller, limit) = &self.initiator {
            limit.charge(*caller, thread_time().saturating_sub(self.start));
        }
    }
}

/// Limit of the processor time of each caller and of each user; by default, no limit. Cheap to
/// clone.
///
/// How long work takes is known when it ends. So it is charged then, even beyond the limit, and the
/// caller waits until it is within the limit again. Each node counts the time of its own
/// processors.
#[derive(Debug, Clone, Default)]
pub struct ProcessorTimeLimit(Option<Arc<Accounts>>);

#[derive(Debug)]
struct Accounts {
    /// By personal access token or session.
    callers: Ledger<TokenId>,
    /// By user.
    users: Ledger<UserId>,
}

impl ProcessorTimeLimit {
    /// Allows each caller this time per minute, and each user four times as much; zero is no limit.
    pub fn per_minute(time: Duration) -> Self {
        let ledgers = || Accounts {
            callers: Ledger::new(time),
            users: Ledger::new(time.saturating_mul(CALLERS_PER_USER)),
        };
        Self((!time.is_zero()).then(|| Arc::new(ledgers())))
    }

    /// Checks that a caller is within its limit, or returns how long it takes until it is.
    pub fn check(&self, caller: Caller) -> Result<(), Duration> {
        let Some(accounts) = &self.0 else { return Ok(()) };
        let now = Instant::now();
        accounts.callers.check(&caller.credential, now)?;
        accounts.users.check(&caller.user, now)
    }

    fn charge(&self, caller: Caller, used: Duration) {
        let Some(accounts) = &self.0 else { return };
        let now = Instant::now();
        accounts.callers.charge(caller.credential, used, now);
        accounts.users.charge(caller.user, used, now);
    }
}

/// The time that keys have used. Its use becomes older evenly, by `per_period` in each period: the
/// generic cell rate algorithm, with debt.
#[derive(Debug)]
struct Ledger<K> {
    per_period: Duration,
    /// The time at which all use of the key is settled (its theoretical arrival time). It is later
    /// than now by at most a period while the key is within the limit.
    settled_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Ledger<K> {
    fn new(per_period: Duration) -> Self {
        Self { per_period, settled_at: Mutex::default() }
    }

    fn check(&self, key: &K, now: Instant) -> Result<(), Duration> {
        let Some(settled_at) = self.lock().get(key).copied() else { return Ok(()) };
        let wait = settled_at.saturating_duration_since(now).saturating_sub(PERIOD);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    fn charge(&self, key: K, used: Duration, now: Instant) {
        let periods = used.as_secs_f64() / self.per_period.as_secs_f64();
        let added = PERIOD.mul_f64(periods);
        let mut accounts = self.lock();
        if accounts.len() >= MAX_ACCOUNTS {
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
        let (ledger, now) = (Ledger::new(30 * SECOND), Instant::now());
        ledger.charge("a", 30 * SECOND, now);
        assert_eq!(ledger.check(&"a", now), Ok(()), "a minute's time, and no more");
        ledger.charge("a", 2 * SECOND, now);
        assert_eq!(ledger.check(&"a", now), Err(4 * SECOND));
        assert_eq!(ledger.check(&"b", now), Ok(()), "another key");
        assert_eq!(ledger.check(&"a", now + 4 * SECOND), Ok(()));
    }

    #[test]
    fn half_a_core_is_within_a_limit_of_half_a_core() {
        let (ledger, start) = (Ledger::new(30 * SECOND), Instant::now());
        for minute in 0..600 {
            let now = start + minute * PERIOD;
            ledger.charge("a", 29 * SECOND, now);
            assert_eq!(ledger.check(&"a", now), Ok(()));
        }
        let end = start + 600 * PERIOD;
        ledger.charge("a", 31 * SECOND, end);
        assert!(ledger.check(&"a", end).is_err());
    }

    #[test]
    fn settled_accounts_are_removed_first() {
        let (ledger, now) = (Ledger::new(SECOND), Instant::now());
        for key in 0..MAX_ACCOUNTS {
            ledger.charge(key, SECOND / 10, now);
        }
        ledger.charge(MAX_ACCOUNTS, SECOND, now + PERIOD);
        assert_eq!(ledger.lock().len(), 1);
    }

    #[test]
    fn users_have_four_times_the_limit_of_a_caller() {
        let limit = ProcessorTimeLimit::per_minute(SECOND);
        let user = UserId::generate();
        let caller = || Caller { user, credential: TokenId::generate() };
        for _ in 0..4 {
            let caller = caller();
            limit.charge(caller, SECOND * 11 / 10);
            assert!(limit.check(caller).is_err(), "its own limit");
        }
        assert!(limit.check(caller()).is_err(), "the limit of its user");
        let other = Caller { user: UserId::generate(), credential: TokenId::generate() };
        assert_eq!(limit.check(other), Ok(()));
    }

    #[test]
    fn zero_is_no_limit() {
        let limit = ProcessorTimeLimit::per_minute(Duration::ZERO);
        let caller = Caller { user: UserId::generate(), credential: TokenId::generate() };
        limit.charge(caller, Duration::from_hours(1));
        assert_eq!(limit.check(caller), Ok(()));
    }
}
