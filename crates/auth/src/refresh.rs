//! Refresh tokens: each is good for one exchange, and one that comes back ends its family
//! (RFC 9700, section 4.14).
//!
//! A login begins a family with one token; an exchange spends that token and adds the next. Whoever
//! steals a token can use it, and so can its owner, but not both: the second to come shows a spent
//! one. Who of the two that is can't be told, so the whole family is revoked, and the owner signs in
//! again.
//!
//! There is no grace for a spent token. With one, a thief who comes a moment after the owner would
//! get tokens, which is what the rule is there to prevent. The price is that an answer lost on the way
//! costs a login when the client tries again, as does a client that exchanges one token twice at the
//! same time: a program that keeps its token in a file takes a lock on it first, reads it under the
//! lock, and has the next one on the disk before it gives the lock back.
//!
//! The caller finds the row by the token's hash and locks it, judges, and stores what follows in the
//! same transaction.

use chrono::{DateTime, TimeDelta, Utc};

use crate::client::ClientId;
use mc_domain::Scopes;

/// How long a token is good for; each exchange starts anew.
pub const IDLE: TimeDelta = TimeDelta::days(30);

/// How long a family lasts, however often it is used.
pub const FAMILY: TimeDelta = TimeDelta::days(90);

/// A stored token with what its family says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// To which program the family was issued.
    pub client: ClientId,
    /// What the family may be used for.
    pub scopes: Scopes,
    /// When this token expires.
    pub expires_at: DateTime<Utc>,
    /// When it was exchanged, if it was.
    pub used_at: Option<DateTime<Utc>>,
    /// When the family ends.
    pub family_ends_at: DateTime<Utc>,
    /// Whether the family was revoked.
    pub is_family_revoked: bool,
}

/// What to do with a token that was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Spend it, add the next to its family, and issue an access token.
    Rotate {
        /// For the access token; the family keeps its own.
        scopes: Scopes,
        /// When the next token expires.
        next_expires_at: DateTime<Utc>,
    },
    /// Answer `invalid_grant`; nothing changes.
    Refuse(Refusal),
    /// Answer `invalid_grant` and revoke the whole family: somebody has a token who should not.
    RevokeFamily(TokenReuse),
    /// Answer `invalid_scope`; nothing changes.
    BeyondScope,
}

/// Why a token is good for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its time, or its family's, is over.
    Expired,
    /// Its family was revoked before.
    Revoked,
}

/// What gave a theft away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenReuse {
    /// A spent token came back.
    Reused,
    /// Another program than the one it was issued to has it.
    OtherClient,
}

/// When the first token of a family that ends at `family_ends_at` expires, or the next one.
pub fn expiry(now: DateTime<Utc>, family_ends_at: DateTime<Utc>) -> DateTime<Utc> {
    family_ends_at.min(now + IDLE)
}

/// Judges a token that `client` presents at `now`, asking for the scopes `asked` or, without any, for
/// those of the family (RFC 6749, section 6).
pub fn judge(
    token: &StoredToken,
    client: &ClientId,
    asked: Option<Scopes>,
    now: DateTime<Utc>,
) -> Verdict {
    if token.is_family_revoked {
        return Verdict::Refuse(Refusal::Revoked);
    }
    // Before its age: a spent token tells of a theft however old it is.
    if token.used_at.is_some() {
        return Verdict::RevokeFamily(TokenReuse::Reused);
    }
    if token.client != *client {
        return Verdict::RevokeFamily(TokenReuse::OtherClient);
    }
    if now >= token.expires_at || now >= token.family_ends_at {
        return Verdict::Refuse(Refusal::Expired);
    }
    let scopes = asked.unwrap_or(token.scopes);
    if !scopes.is_subset_of(token.scopes) {
        return Verdict::BeyondScope;
    }
    Verdict::Rotate { scopes, next_expires_at: expiry(now, token.family_ends_at) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(days: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::days(days)
    }

    fn cli() -> ClientId {
        ClientId::parse("memory-copilot-cli").expect("an id")
    }

    fn scopes(text: &str) -> Scopes {
        Scopes::parse(text).expect("scopes")
    }

    /// The first token of a family that began on day 0.
    fn first() -> StoredToken {
        let family_ends_at = at(0) + FAMILY;
        StoredToken {
            client: cli(),
            scopes: scopes("memory:read memory:write"),
            expires_at: expiry(at(0), family_ends_at),
            used_at: None,
            family_ends_at,
            is_family_revoked: false,
        }
    }

    #[test]
    fn a_fresh_token_is_exchanged_for_what_its_family_has() {
        let verdict = judge(&first(), &cli(), None, at(1));
        let scopes = scopes("memory:read memory:write");
        assert_eq!(verdict, Verdict::Rotate { scopes, next_expires_at: at(31) });
    }

    #[test]
    fn a_reused_token_revokes_its_family_at_once_and_however_late() {
        let spent = StoredToken { used_at: Some(at(1)), ..first() };
        for now in [at(1), at(1) + TimeDelta::milliseconds(1), at(29), at(31), at(1000)] {
            let verdict = judge(&spent, &cli(), None, now);
            assert_eq!(verdict, Verdict::RevokeFamily(TokenReuse::Reused), "{now}");
        }
    }

    #[test]
    fn a_token_in_another_clients_hands_revokes_its_family() {
        let other = ClientId::parse("another").expect("an id");
        let verdict = judge(&first(), &other, None, at(1));
        assert_eq!(verdict, Verdict::RevokeFamily(TokenReuse::OtherClient));
    }

    #[test]
    fn a_token_that_lay_for_too_long_is_refused() {
        let last = at(30) - TimeDelta::milliseconds(1);
        assert!(matches!(judge(&first(), &cli(), None, last), Verdict::Rotate { .. }));
        let verdict = judge(&first(), &cli(), None, at(30));
        assert_eq!(verdict, Verdict::Refuse(Refusal::Expired));
    }

    #[test]
    fn no_use_makes_a_family_last_longer() {
        let end = first().family_ends_at;
        let late = StoredToken { expires_at: end, ..first() };
        let verdict = judge(&late, &cli(), None, at(80));
        assert_eq!(verdict, Verdict::Rotate { scopes: late.scopes, next_expires_at: end });
        assert_eq!(judge(&late, &cli(), None, end), Verdict::Refuse(Refusal::Expired));
    }

    #[test]
    fn a_revoked_family_stays_revoked() {
        let revoked = StoredToken { is_family_revoked: true, ..first() };
        let spent = StoredToken { used_at: Some(at(0)), ..revoked.clone() };
        for token in [revoked, spent] {
            assert_eq!(judge(&token, &cli(), None, at(1)), Verdict::Refuse(Refusal::Revoked));
        }
    }

    /// A family as the database has it.
    struct Family {
        tokens: Vec<StoredToken>,
    }

    impl Family {
        /// Presents the token with this number, and stores what follows; the next one's number.
        fn exchange(&mut self, number: usize, now: DateTime<Utc>) -> Option<usize> {
            match judge(&self.tokens[number], &cli(), None, now) {
                Verdict::Rotate { next_expires_at, .. } => {
                    let token = &mut self.tokens[number];
                    token.used_at = Some(now);
                    let next =
                        StoredToken { expires_at: next_expires_at, used_at: None, ..token.clone() };
                    self.tokens.push(next);
                    Some(self.tokens.len() - 1)
                }
                Verdict::RevokeFamily(_) => {
                    self.tokens.iter_mut().for_each(|token| token.is_family_revoked = true);
                    None
                }
                Verdict::Refuse(_) | Verdict::BeyondScope => None,
            }
        }

        fn live(&self) -> usize {
            let is_live =
                |token: &&StoredToken| !token.is_family_revoked && token.used_at.is_none();
            self.tokens.iter().filter(is_live).count()
        }
    }

    proptest! {
        /// The owner and a thief who copied a token exchange what they hold, in any order.
        #[test]
        fn a_stolen_token_serves_one_of_the_two_until_the_other_comes(
            before in 0_usize..4,
            turns in prop::collection::vec(any::<bool>(), 1..12),
        ) {
            let mut family = Family { tokens: vec![first()] };
            let mut owner = 0;
            for _ in 0..before {
                owner = family.exchange(owner, at(1)).expect("nobody else has it");
            }
            let mut hold = [owner; 2];
            let mut has_come = [false; 2];
            for turn in turns {
                let who = usize::from(turn);
                if let Some(next) = family.exchange(hold[who], at(2)) {
                    hold[who] = next;
                }
                has_come[who] = true;
                prop_assert!(family.live() <= 1);
                prop_assert_eq!(family.live() == 0, has_come == [true; 2]);
            }
        }
    }

    #[test]
    fn less_may_be_asked_for_and_never_more() {
        let less = judge(&first(), &cli(), Some(scopes("memory:read")), at(1));
        assert!(
            matches!(less, Verdict::Rotate { scopes: got, .. } if got == scopes("memory:read"))
        );
        let more = judge(&first(), &cli(), Some(scopes("memory:read admin")), at(1));
        assert_eq!(more, Verdict::BeyondScope);
    }
}
