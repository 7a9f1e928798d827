//! A login between its two ends.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use oauth2::PkceCodeVerifier;
use openidconnect::Nonce;
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use super::{Callback, Error, ProviderName};
use crate::secret::LoginState;
use mc_crypto::{AssociatedData, Encryptor};

/// How long a person has to sign in.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// What a sealed login belongs to, besides the hash of its state.
const PURPOSE: &str = "mc-auth pending login";

/// What the end of a login needs to know of its beginning. It holds secrets: store it by
/// [`Pending::seal`].
#[derive(Serialize, Deserialize)]
pub struct Pending {
    pub(super) provider: ProviderName,
    /// In hexadecimal.
    pub(super) state_hash: String,
    pub(super) redirect_uri: Url,
    pub(super) pkce_verifier: PkceCodeVerifier,
    /// OpenID Connect only.
    pub(super) nonce: Option<Nonce>,
    pub(super) expires_at: DateTime<Utc>,
}

impl Pending {
    /// For the database, bound to the hash of `state`, under which it is stored.
    pub fn seal(&self, sealer: &Encryptor, state: &LoginState) -> Vec<u8> {
        let json = Zeroizing::new(serde_json::to_vec(self).expect("texts and times are JSON"));
        sealer.encrypt(AssociatedData { purpose: PURPOSE, row: state.hash().as_bytes() }, &json)
    }

    /// What was sealed for `state`.
    pub fn open(
        sealer: &Encryptor,
        state: &LoginState,
        envelope: &[u8],
    ) -> Result<Self, mc_crypto::Error> {
        let hash = state.hash();
        let json =
            sealer.decrypt(AssociatedData { purpose: PURPOSE, row: hash.as_bytes() }, envelope)?;
        serde_json::from_slice(&json).map_err(|_| mc_crypto::Error::Malformed)
    }

    /// When it is of no more use, and can be deleted.
    pub fn expires_at(&self) -> DateTime<Utc> {
        self.expires_at
    }

    /// Whether `callback` may end this login with `provider` at `now`.
    pub(super) fn check(
        &self,
        provider: &ProviderName,
        callback: &Callback,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        if self.state_hash != hex::encode(callback.state.hash().as_bytes()) {
            return Err(Error::WrongState);
        }
        if self.provider != *provider {
            return Err(Error::MixUp { provider: self.provider.clone() });
        }
        if now >= self.expires_at { Err(Error::Expired) } else { Ok(()) }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("provider", &self.provider)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mc_crypto::EncryptionKey;

    fn begun(state: &LoginState) -> Pending {
        Pending {
            provider: ProviderName::parse("corp").expect("a name"),
            state_hash: hex::encode(state.hash().as_bytes()),
            redirect_uri: "https://memory.example.com/auth/corp".parse().expect("a URL"),
            pkce_verifier: PkceCodeVerifier::new("verifier".to_owned()),
            nonce: Some(Nonce::new("nonce".to_owned())),
            expires_at: DateTime::UNIX_EPOCH + LIFETIME,
        }
    }

    fn answer(state: &LoginState) -> Callback {
        Callback::from_query(&format!("code=a&state={}", state.expose())).expect("an answer")
    }

    #[test]
    fn a_login_rests_sealed_and_belongs_to_its_state() {
        let sealer = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (state, other) = (LoginState::generate(), LoginState::generate());
        let envelope = begun(&state).seal(&sealer, &state);
        let opened = Pending::open(&sealer, &state, &envelope).expect("opens");
        assert_eq!(opened.pkce_verifier.secret(), "verifier");
        assert!(!format!("{opened:?}").contains("verifier"));
        let elsewhere = Pending::open(&sealer, &other, &envelope);
        assert_eq!(elsewhere.err(), Some(mc_crypto::Error::Forged));
    }

    #[test]
    fn only_its_own_answer_ends_a_login_and_only_in_time() {
        let (state, other) = (LoginState::generate(), LoginState::generate());
        let (corp, evil) = (ProviderName::parse("corp"), ProviderName::parse("evil"));
        let (corp, evil) = (corp.expect("a name"), evil.expect("a name"));
        let begun = begun(&state);
        let start = DateTime::UNIX_EPOCH;
        assert_eq!(begun.check(&corp, &answer(&state), start), Ok(()));
        assert_eq!(begun.check(&corp, &answer(&other), start), Err(Error::WrongState));
        let mix_up = begun.check(&evil, &answer(&state), start);
        assert_eq!(mix_up, Err(Error::MixUp { provider: corp.clone() }));
        let late = begun.check(&corp, &answer(&state), start + LIFETIME);
        assert_eq!(late, Err(Error::Expired));
    }
}
