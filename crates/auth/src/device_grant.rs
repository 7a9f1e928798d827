//! The service's side of the device flow (RFC 8628): what a login that was begun at a terminal is
//! worth at any moment.
//!
//! The rules are pure: the caller loads a [`Grant`] under a lock by the hash of its device code or of
//! its user code, applies one of them at a time it names, and stores what came out. Guesses at user
//! codes are the caller's to limit, per address and in all.

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{Classified, ErrorKind, UserId};

use crate::client::ClientId;
use mc_domain::Scopes;

/// How long a person has to approve a login.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// Seconds between two polls that a client is told at first (RFC 8628, section 3.2).
pub const FIRST_INTERVAL: u32 = 5;

/// Seconds that a client which polls too early must wait longer from then on (section 3.5).
const SLOWER_BY: u32 = 5;

/// A login that was begun at a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which program asks; only it may redeem the device code.
    pub client: ClientId,
    /// What it asks for.
    pub requested: Scopes,
    /// When both codes expire, approved or not.
    pub expires_at: DateTime<Utc>,
    /// Seconds that have to lie between two polls.
    pub interval: u32,
    /// The last poll.
    pub last_polled_at: Option<DateTime<Utc>>,
    /// What has become of it.
    pub state: State,
}

/// What has become of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nobody has decided.
    Pending,
    /// A person signed in and agreed.
    Approved {
        /// Who.
        user: UserId,
        /// To what; never more than was requested.
        scopes: Scopes,
    },
    /// A person refused.
    Denied,
    /// Its tokens were handed out.
    Consumed,
}

/// The answer to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Hand out tokens, this one time.
    Redeem {
        /// To whom.
        user: UserId,
        /// For what.
        scopes: Scopes,
    },
    /// `authorization_pending`.
    Pending,
    /// `slow_down`; the interval is longer now.
    SlowDown,
    /// `access_denied`.
    Denied,
    /// `expired_token`.
    Expired,
    /// `invalid_grant`: another client's code.
    Foreign,
    /// `invalid_grant`, and what was handed out has to be revoked: two have the code, and one of them
    /// stole it.
    Replayed,
}

impl Answer {
    /// The `error` of the token endpoint (RFC 6749, section 5.2, and RFC 8628, section 3.5).
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

/// A decision that comes too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// Nobody decided in time.
    #[error("this code has expired; start the login at the terminal again")]
    Expired,
    /// It was approved or refused before.
    #[error("this login has been decided; start it at the terminal again if it wasn't you")]
    Decided,
}

impl Classified for DecisionError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Conflict
    }
}

impl Grant {
    /// A login that begins at `now`.
    pub fn begin(client: ClientId, requested: Scopes, now: DateTime<Utc>) -> Self {
        Self {
            client,
            requested,
            expires_at: now + LIFETIME,
            interval: FIRST_INTERVAL,
            last_polled_at: None,
            state: State::Pending,
        }
    }

    /// Approves the login for `user`. `allowed` is what the user agreed to and may give.
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

    /// Refuses the login.
    pub fn deny(&mut self, now: DateTime<Utc>) -> Result<(), DecisionError> {
        self.check_undecided(now)?;
        self.state = State::Denied;
        Ok(())
    }

    /// Answers a poll of `client` with the right device code, and takes note of it. Only a login that
    /// waits can be asked for too often: a decision is told at once.
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
        self.interval = self.interval.saturating_add(SLOWER_BY);
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

    fn begun() -> Grant {
        Grant::begin(cli(), scopes("memory:read memory:write"), at(0))
    }

    #[test]
    fn an_approved_login_is_redeemed_once() {
        let mut grant = begun();
        let user = UserId::generate();
        assert_eq!(grant.poll(&cli(), at(0)), Answer::Pending);
        grant.approve(user, Scopes::ALL, at(1)).expect("still pending");
        let scopes = scopes("memory:read memory:write");
        assert_eq!(grant.poll(&cli(), at(2)), Answer::Redeem { user, scopes });
        assert_eq!(grant.poll(&cli(), at(20)), Answer::Replayed);
        assert_eq!(grant.poll(&cli(), at(10_000)), Answer::Replayed);
    }

    #[test]
    fn nobody_approves_more_than_was_asked_for_or_than_they_have() {
        let mut grant = begun();
        let user = UserId::generate();
        grant.approve(user, scopes("memory:read admin"), at(1)).expect("still pending");
        assert_eq!(grant.state, State::Approved { user, scopes: scopes("memory:read") });
    }

    #[test]
    fn each_early_poll_makes_the_interval_five_seconds_longer() {
        let mut grant = begun();
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
    fn a_refused_login_stays_refused() {
        let mut grant = begun();
        grant.deny(at(1)).expect("still pending");
        let late = grant.approve(UserId::generate(), Scopes::ALL, at(2));
        assert_eq!(late, Err(DecisionError::Decided));
        assert_eq!(grant.poll(&cli(), at(3)), Answer::Denied);
    }

    #[test]
    fn an_expired_login_can_be_neither_approved_nor_redeemed() {
        let end = LIFETIME.num_seconds();
        let mut pending = begun();
        let late = pending.approve(UserId::generate(), Scopes::ALL, at(end));
        assert_eq!(late, Err(DecisionError::Expired));
        assert_eq!(pending.poll(&cli(), at(end)), Answer::Expired);

        let mut approved = begun();
        approved.approve(UserId::generate(), Scopes::ALL, at(end - 1)).expect("in time");
        assert_eq!(approved.poll(&cli(), at(end)), Answer::Expired);
    }

    #[test]
    fn another_client_gets_nothing_and_changes_nothing() {
        let mut grant = begun();
        grant.approve(UserId::generate(), Scopes::ALL, at(1)).expect("still pending");
        let before = grant.clone();
        let other = ClientId::parse("another").expect("an id");
        assert_eq!(grant.poll(&other, at(2)), Answer::Foreign);
        assert_eq!(grant, before);
    }

    #[test]
    fn a_decision_is_told_at_once_however_early_the_poll() {
        let mut grant = begun();
        assert_eq!(grant.poll(&cli(), at(0)), Answer::Pending);
        grant.deny(at(1)).expect("still pending");
        assert_eq!(grant.poll(&cli(), at(1)), Answer::Denied);
    }
}
