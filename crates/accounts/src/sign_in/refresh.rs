//! Refresh tokens: each is valid for one exchange, and a reused one revokes its family (RFC 9700,
//! section 4.14).
//!
//! A login starts a family with one token; an exchange uses that token up and adds the next. After
//! a theft, the thief and the owner cannot both exchange the token: the second one presents a used
//! token. Since the two cannot be distinguished, the whole family is revoked and the owner signs in
//! again.
//!
//! There is no grace period for a used token: with one, a thief shortly after the owner would get
//! tokens. So a retry after a lost response costs a login, and so does a concurrent exchange of one
//! token. A program that stores its token in a file must lock the file, read the token under the
//! lock, and store the next one before it releases the lock.
//!
//! The caller finds the row by the token's hash, locks it, calls [`judge`], and stores the result
//! in the same transaction.

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::client::ClientId;
use mc_domain::Scopes;
use mc_store::sessions::Refresh;

/// Lifetime of a token without an exchange.
pub(super) const IDLE: TimeDelta = TimeDelta::days(30);

/// Maximum lifetime of a family.
pub(super) const FAMILY: TimeDelta = TimeDelta::days(90);

/// The decision about a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Mark it used, add the next one to its family, and issue an access token.
    Rotate {
        /// The scopes of the access token; the family keeps its own.
        scopes: Scopes,
        /// The expiry of the next token.
        next_expires_at: DateTime<Utc>,
    },
    /// Respond `invalid_grant`; nothing changes.
    Refuse(Refusal),
    /// Respond `invalid_grant` and revoke the whole family: a token was stolen.
    RevokeFamily(TokenReuse),
    /// Respond `invalid_scope`; nothing changes.
    BeyondScope,
}

/// The reason why a token is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It or its family has expired.
    Expired,
    /// Its family is revoked.
    Revoked,
}

/// The evidence of a stolen token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenReuse {
    /// A used token was presented.
    Reused,
    /// A program that it was not issued to presented it.
    OtherClient,
}

/// Returns the expiry of a token issued at `now` for a family that ends at `family_ends_at`.
pub(super) fn expiry(now: DateTime<Utc>, family_ends_at: DateTime<Utc>) -> DateTime<Utc> {
    family_ends_at.min(now + IDLE)
}

/// Decides about a token that `client` presents at `now`. Without `requested` scopes, the access
/// token gets those of the family (RFC 6749, section 6).
pub(super) fn judge(
    token: &Refresh,
    client: &ClientId,
    requested: Option<Scopes>,
    now: DateTime<Utc>,
) -> Verdict {
    if token.is_revoked {
        return Verdict::Refuse(Refusal::Revoked);
    }
    // Before the expiry: a used token is evidence of a theft at any age.
    if token.used_at.is_some() {
        return Verdict::RevokeFamily(TokenReuse::Reused);
    }
    if token.client != client.as_str() {
        return Verdict::RevokeFamily(TokenReuse::OtherClient);
    }
    if now >= token.expires_at || now >= token.session_expires_at {
        return Verdict::Refuse(Refusal::Expired);
    }
    let scopes = requested.unwrap_or(token.scopes);
    if !scopes.is_subset_of(token.scopes) {
        return Verdict::BeyondScope;
    }
    Verdict::Rotate { scopes, next_expires_at: expiry(now, token.session_expires_at) }
}

#[cfg(test)]
mod tests {
    use mc_domain::{SessionId, UserId};
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

    /// Returns the first token of a family that started on day 0.
    fn first() -> Refresh {
        let family_ends_at = at(0) + FAMILY;
        Refresh {
            session: SessionId::generate(),
            user: UserId::generate(),
            client: cli().to_string(),
            scopes: scopes("memory:read memory:write"),
            expires_at: expiry(at(0), family_ends_at),
            used_at: None,
            session_expires_at: family_ends_at,
            is_revoked: false,
        }
    }

    #[test]
    fn fresh_token_is_exchanged_for_the_familys_scopes() {
        let verdict = judge(&first(), &cli(), None, at(1));
        let scopes = scopes("memory:read memory:write");
        assert_eq!(verdict, Verdict::Rotate { scopes, next_expires_at: at(31) });
    }

    #[test]
    fn reused_token_revokes_its_family_at_any_age() {
        let spent = Refresh { used_at: Some(at(1)), ..first() };
        for now in [at(1), at(1) + TimeDelta::milliseconds(1), at(29), at(31), at(1000)] {
            let verdict = judge(&spent, &cli(), None, now);
            assert_eq!(verdict, Verdict::RevokeFamily(TokenReuse::Reused), "{now}");
        }
    }

    #[test]
    fn token_presented_by_another_client_revokes_its_family() {
        let other = ClientId::parse("another").expect("an id");
        let verdict = judge(&first(), &other, None, at(1));
        assert_eq!(verdict, Verdict::RevokeFamily(TokenReuse::OtherClient));
    }

    #[test]
    fn idle_token_expires() {
        let last = at(30) - TimeDelta::milliseconds(1);
        assert!(matches!(judge(&first(), &cli(), None, last), Verdict::Rotate { .. }));
        let verdict = judge(&first(), &cli(), None, at(30));
        assert_eq!(verdict, Verdict::Refuse(Refusal::Expired));
    }

    #[test]
    fn exchanges_do_not_extend_the_family() {
        let end = first().session_expires_at;
        let late = Refresh { expires_at: end, ..first() };
        let verdict = judge(&late, &cli(), None, at(80));
        assert_eq!(verdict, Verdict::Rotate { scopes: late.scopes, next_expires_at: end });
        assert_eq!(judge(&late, &cli(), None, end), Verdict::Refuse(Refusal::Expired));
    }

    #[test]
    fn revoked_family_stays_revoked() {
        let revoked = Refresh { is_revoked: true, ..first() };
        let spent = Refresh { used_at: Some(at(0)), ..revoked.clone() };
        for token in [revoked, spent] {
            assert_eq!(judge(&token, &cli(), None, at(1)), Verdict::Refuse(Refusal::Revoked));
        }
    }

    /// A stored family.
    struct Family {
        tokens: Vec<Refresh>,
    }

    impl Family {
        /// Exchanges the token with this index, and returns the index of the next one.
        fn exchange(&mut self, number: usize, now: DateTime<Utc>) -> Option<usize> {
            match judge(&self.tokens[number], &cli(), None, now) {
                Verdict::Rotate { next_expires_at, .. } => {
                    let token = &mut self.tokens[number];
                    token.used_at = Some(now);
                    let next =
                        Refresh { expires_at: next_expires_at, used_at: None, ..token.clone() };
                    self.tokens.push(next);
                    Some(self.tokens.len() - 1)
                }
                Verdict::RevokeFamily(_) => {
                    self.tokens.iter_mut().for_each(|token| token.is_revoked = true);
                    None
                }
                Verdict::Refuse(_) | Verdict::BeyondScope => None,
            }
        }

        fn live(&self) -> usize {
            let is_live = |token: &&Refresh| !token.is_revoked && token.used_at.is_none();
            self.tokens.iter().filter(is_live).count()
        }
    }

    proptest! {
        /// Exchanges by the owner and by a thief with a copy of the token, in any order.
        #[test]
        fn stolen_token_works_for_one_party_until_the_other_exchanges(
            before in 0_usize..4,
            turns in prop::collection::vec(any::<bool>(), 1..12),
        ) {
            let mut family = Family { tokens: vec![first()] };
            let mut owner = 0;
            for _ in 0..before {
                owner = family.exchange(owner, at(1)).expect("nobody else has it");
            }
            let mut held_tokens = [owner; 2];
            let mut has_exchanged = [false; 2];
            for turn in turns {
                let index = usize::from(turn);
                if let Some(next) = family.exchange(held_tokens[index], at(2)) {
                    held_tokens[index] = next;
                }
                has_exchanged[index] = true;
                prop_assert!(family.live() <= 1);
                prop_assert_eq!(family.live() == 0, has_exchanged == [true; 2]);
            }
        }
    }

    #[test]
    fn exchange_may_narrow_scopes_and_never_widen_them() {
        let less = judge(&first(), &cli(), Some(scopes("memory:read")), at(1));
        assert!(
            matches!(less, Verdict::Rotate { scopes: got, .. } if got == scopes("memory:read"))
        );
        let more = judge(&first(), &cli(), Some(scopes("memory:read admin")), at(1));
        assert_eq!(more, Verdict::BeyondScope);
    }
}
