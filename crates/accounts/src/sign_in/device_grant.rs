//! The state machine of a device grant (RFC 8628), a login at a terminal. It does no I/O: the
//! caller locks and loads the row by the hash of its device code or user code, applies a transition
//! at a given time, and stores the result. The caller also limits the guesses at user codes, per
//! address and in total.

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::client::ClientId;
use mc_domain::{Classified, ErrorKind, Scopes, UserId};
use mc_store::sessions::{DeviceGrant, DeviceState};

/// Lifetime of both codes.
pub(super) const LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// Initial interval between two polls (RFC 8628, section 3.2).
const INITIAL_INTERVAL_SECONDS: i32 = 5;

/// Added to the interval of a client that polls too early (section 3.5).
const SLOW_DOWN_SECONDS: i32 = 5;

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
    /// `invalid_grant`; the tokens must be revoked: the code was used twice, so it may be stolen.
    Replayed,
}

impl Answer {
    /// Returns the `error` of the token endpoint (RFC 6749, section 5.2; RFC 8628, section 3.5).
    pub(super) fn error(self) -> Option<&'static str> {
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

/// The error of a decision that can't be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// The code has expired.
    #[error("this code has expired; start the login at the terminal again")]
    Expired,
    /// The grant was already approved or denied.
    #[error("this login has been decided; start it at the terminal again if you did not decide")]
    Decided,
    /// The user names none of the scopes that are requested and theirs. The grant stays pending.
    #[error(
        "the approval grants no scope, because {} must be selected explicitly; select at least one \
         of {grantable}: tick its box, set `scopes`, or pass --scope",
        Scopes::BY_NAME_ONLY
    )]
    NoNamedScope {
        /// The requested scopes that the user has.
        grantable: Scopes,
    },
    /// The user has none of the requested scopes, so the tokens could be used for nothing. The
    /// grant was denied.
    #[error(
        "the login is denied: none of the requested scopes ({requested}) is one of yours \
         ({allowed}); start it again and request one of yours: memory-copilot login --scope"
    )]
    NoCommonScope {
        /// The scopes that the client requests.
        requested: Scopes,
        /// The scopes that the user has.
        allowed: Scopes,
    },
}

impl Classified for DecisionError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Expired | Self::Decided => ErrorKind::Conflict,
            Self::NoCommonScope { .. } | Self::NoNamedScope { .. } => ErrorKind::Forbidden,
        }
    }
}

/// Creates a pending grant at `now`.
pub(super) fn begin(
    client: &ClientId,
    requested_scopes: Scopes,
    now: DateTime<Utc>,
) -> DeviceGrant {
    DeviceGrant {
        client: client.to_string(),
        requested_scopes,
        expires_at: now + LIFETIME,
        interval: INITIAL_INTERVAL_SECONDS,
        last_polled_at: None,
        state: DeviceState::Pending,
        user: None,
        scopes: Scopes::NONE,
        session: None,
    }
}

/// Approves a grant for `user`, who has the scopes `allowed` and agrees to those that are `named`.
/// Without a common scope the grant is denied, so that the client gets `access_denied` and stops
/// polling (RFC 8628, section 3.5) in place of waiting for the expiry.
pub(super) fn approve(
    grant: &mut DeviceGrant,
    user: UserId,
    allowed: Scopes,
    named: Scopes,
    now: DateTime<Utc>,
) -> Result<(), DecisionError> {
    check_undecided(grant, now)?;
    let requested = grant.requested_scopes;
    let grantable = requested.intersection(allowed);
    if grantable.is_empty() {
        grant.state = DeviceState::Denied;
        return Err(DecisionError::NoCommonScope { requested, allowed });
    }
    let scopes = grantable.intersection(named);
    if scopes.is_empty() {
        return Err(DecisionError::NoNamedScope { grantable });
    }
    grant.state = DeviceState::Approved;
    grant.user = Some(user);
    grant.scopes = scopes;
    Ok(())
}

pub(super) fn deny(grant: &mut DeviceGrant, now: DateTime<Utc>) -> Result<(), DecisionError> {
    check_undecided(grant, now)?;
    grant.state = DeviceState::Denied;
    Ok(())
}

/// Processes a poll of `client`. A decided login is answered without waiting for the interval.
pub(super) fn poll(grant: &mut DeviceGrant, client: &ClientId, now: DateTime<Utc>) -> Answer {
    if grant.client != client.as_str() {
        return Answer::Foreign;
    }
    match (grant.state, grant.user) {
        (DeviceState::Consumed, _) => Answer::Replayed,
        // Without a user: the user who approved it was deleted.
        (DeviceState::Denied, _) | (DeviceState::Approved, None) => {
            grant.state = DeviceState::Denied;
            Answer::Denied
        }
        _ if now >= grant.expires_at => Answer::Expired,
        (DeviceState::Approved, Some(user)) => {
            grant.state = DeviceState::Consumed;
            Answer::Redeem { user, scopes: grant.scopes }
        }
        (DeviceState::Pending, _) => wait(grant, now),
    }
}

fn wait(grant: &mut DeviceGrant, now: DateTime<Utc>) -> Answer {
    let due = grant.last_polled_at.map(|last| last + TimeDelta::seconds(grant.interval.into()));
    grant.last_polled_at = Some(now);
    if due.is_none_or(|due| now >= due) {
        return Answer::Pending;
    }
    grant.interval = grant.interval.saturating_add(SLOW_DOWN_SECONDS);
    Answer::SlowDown
}

fn check_undecided(grant: &DeviceGrant, now: DateTime<Utc>) -> Result<(), DecisionError> {
    match grant.state {
        DeviceState::Pending if now < grant.expires_at => Ok(()),
        DeviceState::Pending => Err(DecisionError::Expired),
        _ => Err(DecisionError::Decided),
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

    fn pending_grant() -> DeviceGrant {
        begin(&cli(), scopes("memory:read memory:write"), at(0))
    }

    #[test]
    fn approved_login_is_redeemed_once() {
        let mut grant = pending_grant();
        let user = UserId::generate();
        assert_eq!(poll(&mut grant, &cli(), at(0)), Answer::Pending);
        approve(&mut grant, user, Scopes::ALL, Scopes::ALL, at(1)).expect("still pending");
        let scopes = scopes("memory:read memory:write");
        assert_eq!(poll(&mut grant, &cli(), at(2)), Answer::Redeem { user, scopes });
        assert_eq!(poll(&mut grant, &cli(), at(20)), Answer::Replayed);
        assert_eq!(poll(&mut grant, &cli(), at(10_000)), Answer::Replayed);
    }

    #[test]
    fn approval_grants_only_requested_and_own_scopes() {
        let mut grant = pending_grant();
        let user = UserId::generate();
        approve(&mut grant, user, scopes("memory:read admin"), Scopes::ALL, at(1))
            .expect("still pending");
        assert_eq!((grant.user, grant.scopes), (Some(user), scopes("memory:read")));
    }

    #[test]
    fn approval_without_a_common_scope_denies_the_login() {
        let mut grant = pending_grant();
        let (requested, allowed) = (grant.requested_scopes, scopes("ingest admin"));
        let rejected = approve(&mut grant, UserId::generate(), allowed, Scopes::ALL, at(1));
        assert_eq!(rejected, Err(DecisionError::NoCommonScope { requested, allowed }));
        assert_eq!(poll(&mut grant, &cli(), at(2)), Answer::Denied);
    }

    #[test]
    fn approval_without_a_named_scope_leaves_the_login_pending() {
        let mut grant = pending_grant();
        let (own, named) = (Scopes::ALL, scopes("ingest admin"));
        let rejected = approve(&mut grant, UserId::generate(), own, named, at(1));
        let grantable = grant.requested_scopes;
        assert_eq!(rejected, Err(DecisionError::NoNamedScope { grantable }));
        assert_eq!(poll(&mut grant, &cli(), at(2)), Answer::Pending);
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
            assert_eq!(poll(&mut grant, &cli(), at(second)), answer, "{second}");
            assert_eq!(grant.interval, interval, "{second}");
        }
    }

    #[test]
    fn denied_login_stays_denied() {
        let mut grant = pending_grant();
        deny(&mut grant, at(1)).expect("still pending");
        let late = approve(&mut grant, UserId::generate(), Scopes::ALL, Scopes::ALL, at(2));
        assert_eq!(late, Err(DecisionError::Decided));
        assert_eq!(poll(&mut grant, &cli(), at(3)), Answer::Denied);
    }

    #[test]
    fn expired_login_is_neither_approved_nor_redeemed() {
        let end = LIFETIME.num_seconds();
        let mut pending = pending_grant();
        let late = approve(&mut pending, UserId::generate(), Scopes::ALL, Scopes::ALL, at(end));
        assert_eq!(late, Err(DecisionError::Expired));
        assert_eq!(poll(&mut pending, &cli(), at(end)), Answer::Expired);

        let mut approved = pending_grant();
        approve(&mut approved, UserId::generate(), Scopes::ALL, Scopes::ALL, at(end - 1))
            .expect("in time");
        assert_eq!(poll(&mut approved, &cli(), at(end)), Answer::Expired);
    }

    #[test]
    fn poll_of_another_client_changes_nothing() {
        let mut grant = pending_grant();
        approve(&mut grant, UserId::generate(), Scopes::ALL, Scopes::ALL, at(1))
            .expect("still pending");
        let other = ClientId::parse("another").expect("an id");
        assert_eq!(poll(&mut grant, &other, at(2)), Answer::Foreign);
        assert_eq!((grant.state, grant.last_polled_at), (DeviceState::Approved, None));
    }

    #[test]
    fn decision_is_returned_at_once_to_an_early_poll() {
        let mut grant = pending_grant();
        assert_eq!(poll(&mut grant, &cli(), at(0)), Answer::Pending);
        deny(&mut grant, at(1)).expect("still pending");
        assert_eq!(poll(&mut grant, &cli(), at(1)), Answer::Denied);
    }
}
