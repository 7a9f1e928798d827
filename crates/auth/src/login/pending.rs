//! The stored data of a login between its two steps.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use mc_crypto::{AssociatedData, Encryptor};
use oauth2::PkceCodeVerifier;
use openidconnect::Nonce;
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use super::{Callback, Error, ProviderName};
use crate::secret::LoginState;

/// Lifetime of a pending login.
pub const LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// The purpose in the associated data of an encrypted login.
const PURPOSE: &str = "mc-auth pending login";

/// The data of a started login. It has secrets: store it with [`Pending::encrypt`].
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
    /// Encrypts the login for the database, bound to the hash of `state`.
    pub fn encrypt(&self, encryptor: &Encryptor, state: &LoginState) -> Vec<u8> {
        let json = Zeroizing::new(serde_json::to_vec(self).expect("texts and times are JSON"));
        encryptor.encrypt(AssociatedData { purpose: PURPOSE, row: state.hash().as_bytes() }, &json)
    }

    /// Decrypts the login of `state`.
    pub fn decrypt(
        encryptor: &Encryptor,
        state: &LoginState,
        ciphertext: &[u8],
    ) -> Result<Self, mc_crypto::Error> {
        let hash = state.hash();
        let json = encryptor
            .decrypt(AssociatedData { purpose: PURPOSE, row: hash.as_bytes() }, ciphertext)?;
        serde_json::from_slice(&json).map_err(|_| mc_crypto::Error::Malformed)
    }

    /// Returns the expiry, after which the row can be deleted.
    pub fn expires_at(&self) -> DateTime<Utc> {
        self.expires_at
    }

    /// Checks that `callback` belongs to this login with `provider`, and that it has not expired.
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
            return Err(Error::MixUp(self.provider.clone()));
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

    fn pending(state: &LoginState) -> Pending {
        Pending {
            provider: ProviderName::parse("corp").expect("a name"),
            state_hash: hex::encode(state.hash().as_bytes()),
            redirect_uri: "https://memory.example.com/auth/corp".parse().expect("a URL"),
            pkce_verifier: PkceCodeVerifier::new("verifier".to_owned()),
            nonce: Some(Nonce::new("nonce".to_owned())),
            expires_at: DateTime::UNIX_EPOCH + LIFETIME,
        }
    }

    fn callback(state: &LoginState) -> Callback {
        Callback::from_query(&format!("code=a&state={}", state.expose())).expect("an callback")
    }

    #[test]
    fn pending_login_decrypts_only_with_its_state() {
        let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (state, other) = (LoginState::generate(), LoginState::generate());
        let ciphertext = pending(&state).encrypt(&encryptor, &state);
        let opened = Pending::decrypt(&encryptor, &state, &ciphertext).expect("opens");
        assert_eq!(opened.pkce_verifier.secret(), "verifier");
        assert!(!format!("{opened:?}").contains("verifier"));
        let elsewhere = Pending::decrypt(&encryptor, &other, &ciphertext);
        assert_eq!(elsewhere.err(), Some(mc_crypto::Error::Forged));
    }

    #[test]
    fn only_its_own_callback_completes_a_login_in_time() {
        let (state, other) = (LoginState::generate(), LoginState::generate());
        let (corp, evil) = (ProviderName::parse("corp"), ProviderName::parse("evil"));
        let (corp, evil) = (corp.expect("a name"), evil.expect("a name"));
        let pending = pending(&state);
        let start = DateTime::UNIX_EPOCH;
        assert_eq!(pending.check(&corp, &callback(&state), start), Ok(()));
        assert_eq!(pending.check(&corp, &callback(&other), start), Err(Error::WrongState));
        let mix_up = pending.check(&evil, &callback(&state), start);
        assert_eq!(mix_up, Err(Error::MixUp(corp.clone())));
        let late = pending.check(&corp, &callback(&state), start + LIFETIME);
        assert_eq!(late, Err(Error::Expired));
    }
}
