//! The server side of the device flow (RFC 8628): the state machine of a device login.
//!
//! It does no I/O: the caller locks and loads a [`Grant`] by the hash of its device code or user
//! code, applies a transition at a given time, and stores the result. The caller also limits the
//! guesses at user codes, per address and in total.

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{Classified, ErrorKind, UserId};

use crate::client::ClientId;
use mc_domain::Scopes;

/// Lifetime of both codes.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// Initial interval between two polls (RFC 8628, section 3.2).
pub const INITIAL_INTERVAL_SECONDS: u32 = 5;

/// Added to the interval of a client that polls too early (section 3.5).
const SLOW_DOWN_SECONDS: u32 = 5;

/// A device login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The requesting program; only it may redeem the device code.
    pub client: ClientId,
    /// The requested scopes.
    pub requested: Scopes,
    /// The time when both codes expire, approved or not.
    pub expires_at: DateTime<Utc>,
    /// Minimum interval between two polls, in seconds.
    pub interval: u32,
    /// The time of the last poll.
    pub last_polled_at: Option<DateTime<Utc>>,
    /// The state.
    pub state: State,
}

/// The state of a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Awaits a decision.
    Pending,
    /// A user approved it.
    Approved {
        /// The user.
        user: UserId,
        /// The granted scopes; never more than requested.
        scopes: Scopes,
    },
    /// A user denied it.
    Denied,
    /// Its tokens were issued.
    Consumed,
}

/// The result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Issue tokens, once.
    Redeem {
        /// The user of the tokens.
        user: UserId,
        /// The scopes of the tokens.
        scopes: Scopes,
    },
    /// `authorization_pending`.
    Pending,
    /// `slow_down`; the interval was increased.
    SlowDown,
    /// `access_denied`.
    Denied,
    /// `expired_token`.
    Expired,
    /// `invalid_grant`: the code belongs to another client.
    Foreign,
    /// `invalid_grant`, and the issued tokens must be revoked: the code was used twice, so it was
    /// stolen.
    Replayed,
}

impl Answer {
    /// Returns the `error` of the token endpoint (RFC 6749, section 5.2; RFC 8628, section 3.5).
    pub fn error(self) -> Option<&'static str> {
        match self {
            Self::Redeem { .. } => None,
            Self::Pending => Some("authorization_pending"),
            Self::SlowDown => Some("slow_down"),
            Self::Denied => Some("access_denied"),
            Self::Expired => Some("expired_token"),
            Self::Foreign | Self::Replayed => Some("invalid_grant"),
        }
    }
}

/// The error of a decision that is too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// The code has expired.
    #[error("this code has expired; start the login at the terminal again")]
    Expired,
    /// The login was already approved or denied.
    #[error("this login has been decided; start it at the terminal again if it wasn't you")]
    Decided,
}

impl Classified for DecisionError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Conflict
    }
}

impl Grant {
    /// Starts a login at `now`.
    pub fn begin(client: ClientId, requested: Scopes, now: DateTime<Utc>) -> Self {
        Self {
            client,
            requested,
            expires_at: now + LIFETIME,
            interval: INITIAL_INTERVAL_SECONDS,
            last_polled_at: None,
            state: State::Pending,
        }
    }

    /// Approves the login for `user`. `allowed` are the scopes that the user agreed to and has.
    pub fn approve(
        &mut self,
        user: UserId,
        allowed: Scopes,
        now: DateTime<Utc>,
    ) -> Result<(), DecisionError> {
        self.check_undecided(now)?;
        self.state = State::Approved { user, scopes: self.requested.intersection(allowed) };
        Ok(())
    }

    /// Denies the login.
    pub fn deny(&mut self, now: DateTime<Utc>) -> Result<(), DecisionError> {
        self.check_undecided(now)?;
        self.state = State::Denied;
        Ok(())
    }

    /// Processes a poll of `client` with the right device code. The interval applies to pending
    /// logins only: a decision is returned at once.
    pub fn poll(&mut self, client: &ClientId, now: DateTime<Utc>) -> Answer {
        if *client != self.client {
            return Answer::Foreign;
        }
        match self.state {
            State::Consumed => Answer::Replayed,
            State::Denied => Answer::Denied,
            _ if now >= self.expires_at => Answer::Expired,
            State::Approved { user, scopes } => {
                self.state = State::Consumed;
                Answer::Redeem { user, scopes }
            }
            State::Pending => self.wait(now),
        }
    }

    fn wait(&mut self, now: DateTime<Utc>) -> Answer {
        let due = self.last_polled_at.map(|last| last + TimeDelta::seconds(self.interval.into()));
        self.last_polled_at = Some(now);
        if due.is_none_or(|due| now >= due) {
            return Answer::Pending;
        }
        self.interval = self.interval.saturating_add(SLOW_DOWN_SECONDS);
        Answer::SlowDown
    }

    fn check_undecided(&self, now: DateTime<Utc>) -> Result<(), DecisionError> {
        match self.state {
            State::Pending if now < self.expires_at => Ok(()),
            State::Pending => Err(DecisionError::Expired),
            _ => Err(DecisionError::Decided),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time")
    }

    fn cli() -> ClientId {
        ClientId::parse("memory-copilot-cli").expect("an id")
    }

    fn scopes(text: &str) -> Scopes {
        Scopes::parse(text).expect("scopes")
    }

    fn pending_grant() -> Grant {
        Grant::begin(cli(), scopes("memory:read memory:write"), at(0))
    }

    #[test]
    fn approved_login_is_redeemed_once() {
        let mut grant = pending_grant();
        let user = UserId::generate();
        assert_eq!(grant.poll(&cli(), at(0)), Answer::Pending);
        grant.approve(user, Scopes::ALL, at(1)).expect("still pending");
        let scopes = scopes("memory:read memory:write");
        assert_eq!(grant.poll(&cli(), at(2)), Answer::Redeem { user, scopes });
        assert_eq!(grant.poll(&cli(), at(20)), Answer::Replayed);
        assert_eq!(grant.poll(&cli(), at(10_000)), Answer::Replayed);
    }

    #[test]
    fn approval_grants_only_requested_and_own_scopes() {
        let mut grant = pending_grant();
        let user = UserId::generate();
        grant.approve(user, scopes("memory:read admin"), at(1)).expect("still pending");
        assert_eq!(grant.state, State::Approved { user, scopes: scopes("memory:read") });
    }

    #[test]
    fn early_poll_adds_five_seconds_to_the_interval() {
        let mut grant = pending_grant();
        let polls = [
            (0, Answer::Pending, 5),
            (4, Answer::SlowDown, 10),
            (14, Answer::Pending, 10),
            (23, Answer::SlowDown, 15),
            (37, Answer::SlowDown, 20),
            (57, Answer::Pending, 20),
        ];
        for (second, answer, interval) in polls {
            assert_eq!(grant.poll(&cli(), at(second)), answer, "{second}");
            assert_eq!(grant.interval, interval, "{second}");
        }
    }

    #[test]
    fn denied_login_stays_denied() {
        let mut grant = pending_grant();
        grant.deny(at(1)).expect("still pending");
        let late = grant.approve(UserId::generate(), Scopes::ALL, at(2));
        assert_eq!(late, Err(DecisionError::Decided));
        assert_eq!(grant.poll(&cli(), at(3)), Answer::Denied);
    }

    #[test]
    fn expired_login_is_neither_approved_nor_redeemed() {
        let end = LIFETIME.num_seconds();
        let mut pending = pending_grant();
        let late = pending.approve(UserId::generate(), Scopes::ALL, at(end));
        assert_eq!(late, Err(DecisionError::Expired));
        assert_eq!(pending.poll(&cli(), at(end)), Answer::Expired);

        let mut approved = pending_grant();
        approved.approve(UserId::generate(), Scopes::ALL, at(end - 1)).expect("in time");
        assert_eq!(approved.poll(&cli(), at(end)), Answer::Expired);
    }

    #[test]
    fn poll_of_another_client_changes_nothing() {
        let mut grant = pending_grant();
        grant.approve(UserId::generate(), Scopes::ALL, at(1)).expect("still pending");
        let before = grant.clone();
        let other = ClientId::parse("another").expect("an id");
        assert_eq!(grant.poll(&other, at(2)), Answer::Foreign);
        assert_eq!(grant, before);
    }

    #[test]
    fn decision_is_returned_at_once_to_an_early_poll() {
        let mut grant = pending_grant();
        assert_eq!(grant.poll(&cli(), at(0)), Answer::Pending);
        grant.deny(at(1)).expect("still pending");
        assert_eq!(grant.poll(&cli(), at(1)), Answer::Denied);
    }
}
