//! The Ed25519 keys that sign access tokens, and their states from announced to retired.
//!
//! A key is published in the JWKS before it signs. A replaced key verifies until the last token
//! that it signed has expired, so a rotation invalidates no token. The nodes of a service share the
//! keys through the database. A node that receives an unknown key id loads them again, at a limited
//! rate, since anybody can send invented ids.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use jsonwebtoken::EncodingKey;
use mc_crypto::{AssociatedData, Encryptor};
use mc_domain::{Classified, ErrorKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::jwt::Reason;

/// The purpose in the associated data of an encrypted private key.
const PURPOSE: &str = "mc-auth signing key";

/// A private key. It leaves this type only encrypted.
#[derive(Clone)]
pub struct SigningKey {
    id: String,
    public: [u8; 32],
    /// PKCS #8, version 2.
    private: EncodingKey,
}

/// A public key with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    id: String,
    public: [u8; 32],
    state: KeyState,
}

/// The phase of a signing key in its rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Signs, perhaps from a future time; published and accepted at once.
    Active {
        /// The time from which it signs.
        since: DateTime<Utc>,
    },
    /// Replaced; its tokens are still accepted.
    Retiring {
        /// The time until which they are.
        until: DateTime<Utc>,
    },
    /// No longer accepted: its lifetime is over, or its private half may have leaked.
    Retired,
}

/// All keys of a verifier, including retired ones, to distinguish them from unknown ones.
#[derive(Debug, Clone, Default)]
pub struct KeySet(Vec<VerifyingKey>);

/// The error of generating or loading a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The stored private key cannot be decrypted.
    #[error("a signing key cannot be decrypted: {0}")]
    Decryption(#[from] mc_crypto::Error),
    /// The decrypted text is not the private half of the stored public key.
    #[error("a stored signing key is damaged; retire it and generate another")]
    Damaged,
    /// The library failed to generate or to use a key.
    #[error("the cryptographic library failed")]
    Library,
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}

impl SigningKey {
    /// Generates a key pair.
    pub fn generate() -> Result<Self, Error> {
        let pair = Ed25519KeyPair::generate().map_err(|_| Error::Library)?;
        let document = pair.to_pkcs8().map_err(|_| Error::Library)?;
        Self::from_pkcs8(document.as_ref()).ok_or(Error::Library)
    }

    /// Encrypts the private half for the database, bound to this key's id.
    pub fn encrypt(&self, encryptor: &Encryptor) -> Vec<u8> {
        encryptor.encrypt(associated_data(&self.id), self.private.as_bytes())
    }

    /// Decrypts the key pair with this public half.
    pub fn decrypt(
        encryptor: &Encryptor,
        public: &[u8; 32],
        ciphertext: &[u8],
    ) -> Result<Self, Error> {
        let private = encryptor.decrypt(associated_data(&key_id(public)), ciphertext)?;
        let key = Self::from_pkcs8(&private).ok_or(Error::Damaged)?;
        if key.public == *public { Ok(key) } else { Err(Error::Damaged) }
    }

    /// Returns the id in its tokens: the RFC 7638 thumbprint of the public half, in base64url.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the public half, for the database.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    pub(crate) fn private(&self) -> &EncodingKey {
        &self.private
    }

    fn from_pkcs8(document: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(document).ok()?;
        let public = pair.public_key().as_ref().try_into().ok()?;
        Some(Self { id: key_id(&public), public, private: EncodingKey::from_ed_der(document) })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id)
    }
}

impl VerifyingKey {
    /// Creates a key from the stored public half of an Ed25519 key pair.
    pub fn new(public: [u8; 32], state: KeyState) -> Self {
        Self { id: key_id(&public), public, state }
    }

    /// Returns the id in its tokens: the RFC 7638 thumbprint of the public half, in base64url.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the 32 bytes of the key.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    fn is_accepted(&self, now: DateTime<Utc>) -> bool {
        match self.state {
            KeyState::Active { .. } => true,
            KeyState::Retiring { until } => now < until,
            KeyState::Retired => false,
        }
    }
}

impl KeySet {
    /// Creates a set of all keys.
    pub fn new(keys: Vec<VerifyingKey>) -> Self {
        Self(keys)
    }

    /// Returns the key that signs at `now`: the active one that started last.
    pub fn signer(&self, now: DateTime<Utc>) -> Option<&VerifyingKey> {
        let active_since = |key: &VerifyingKey| match key.state {
            KeyState::Active { since } if since <= now => Some(since),
            _ => None,
        };
        let active = self.0.iter().filter(|key| active_since(key).is_some());
        active.max_by_key(|key| active_since(key))
    }

    /// Returns the JSON Web Key Set (RFC 7517, RFC 8037) of the keys that are accepted at `now`.
    pub fn jwks(&self, now: DateTime<Utc>) -> Value {
        let accepted = self.0.iter().filter(|key| key.is_accepted(now));
        let jwk = |key: &VerifyingKey| {
            let x = URL_SAFE_NO_PAD.encode(key.public);
            json!({
                "kty": "OKP", "crv": "Ed25519", "x": x, "kid": key.id, "use": "sig", "alg": "EdDSA",
            })
        };
        json!({ "keys": accepted.map(jwk).collect::<Vec<_>>() })
    }

    /// Returns the key with this id, if it is accepted at `now`.
    pub(crate) fn find(&self, id: &str, now: DateTime<Utc>) -> Result<&VerifyingKey, Reason> {
        let key = self.0.iter().find(|key| key.id == id).ok_or(Reason::UnknownKey)?;
        if key.is_accepted(now) { Ok(key) } else { Err(Reason::RetiredKey) }
    }
}

/// Computes the RFC 7638 thumbprint over the members of RFC 8037, in their order.
fn key_id(public: &[u8; 32]) -> String {
    let x = URL_SAFE_NO_PAD.encode(public);
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members))
}

fn associated_data(id: &str) -> AssociatedData<'_> {
    AssociatedData { purpose: PURPOSE, row: id.as_bytes() }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use mc_crypto::EncryptionKey;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time")
    }

    fn key(state: KeyState) -> VerifyingKey {
        VerifyingKey::new(*SigningKey::generate().expect("a key").public(), state)
    }

    #[test]
    fn key_id_is_the_thumbprint_of_rfc_8037() {
        let x = URL_SAFE_NO_PAD.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        let public: [u8; 32] = x.expect("base64url").try_into().expect("32 bytes");
        assert_eq!(key_id(&public), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn private_key_decrypts_under_its_own_id_only() {
        let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (one, other) = (SigningKey::generate(), SigningKey::generate());
        let (one, other) = (one.expect("a key"), other.expect("a key"));
        let ciphertext = one.encrypt(&encryptor);
        let opened = SigningKey::decrypt(&encryptor, one.public(), &ciphertext).expect("opens");
        assert_eq!(opened.private().as_bytes(), one.private().as_bytes());
        let swapped = SigningKey::decrypt(&encryptor, other.public(), &ciphertext);
        assert_eq!(swapped.err(), Some(Error::Decryption(mc_crypto::Error::Forged)));
    }

    #[test]
    fn stored_private_half_of_another_key_is_rejected() {
        let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (one, other) = (SigningKey::generate(), SigningKey::generate());
        let (one, other) = (one.expect("a key"), other.expect("a key"));
        for private in [other.private().as_bytes(), b"no key"] {
            let ciphertext = encryptor.encrypt(associated_data(one.id()), private);
            let opened = SigningKey::decrypt(&encryptor, one.public(), &ciphertext);
            assert_eq!(opened.err(), Some(Error::Damaged));
        }
    }

    #[test]
    fn key_that_started_last_signs() {
        let first = key(KeyState::Active { since: at(0) });
        let second = key(KeyState::Active { since: at(100) });
        let keys = KeySet::new(vec![second.clone(), first.clone()]);
        assert_eq!(keys.signer(at(-1)), None);
        assert_eq!(keys.signer(at(99)), Some(&first));
        assert_eq!(keys.signer(at(100)), Some(&second));
    }

    #[test]
    fn replaced_key_is_accepted_until_its_last_token_expires() {
        let end = at(1000);
        let replaced = key(KeyState::Retiring { until: end });
        let keys = KeySet::new(vec![replaced.clone()]);
        assert_eq!(keys.signer(at(200)), None);
        let last_moment = end - TimeDelta::milliseconds(1);
        assert_eq!(keys.find(replaced.id(), last_moment), Ok(&replaced));
        assert_eq!(keys.find(replaced.id(), end), Err(Reason::RetiredKey));
    }

    #[test]
    fn retired_key_is_not_unknown() {
        let retired = key(KeyState::Retired);
        let keys = KeySet::new(vec![retired.clone()]);
        assert_eq!(keys.find(retired.id(), at(10)), Err(Reason::RetiredKey));
        assert_eq!(keys.find("another", at(10)), Err(Reason::UnknownKey));
    }

    #[test]
    fn jwks_has_the_public_halves_of_accepted_keys() {
        let announced = key(KeyState::Active { since: at(1000) });
        let retiring = key(KeyState::Retiring { until: at(10) });
        let retired = key(KeyState::Retired);
        let keys = KeySet::new(vec![announced.clone(), retiring.clone(), retired]);
        let published = |now| {
            let jwks = keys.jwks(now);
            jwks["keys"].as_array().expect("keys").clone()
        };
        assert_eq!(published(at(0)).len(), 2);
        let expected = json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "x": URL_SAFE_NO_PAD.encode(announced.public()),
            "kid": announced.id(),
            "use": "sig",
            "alg": "EdDSA",
        });
        assert_eq!(published(at(10)), [expected]);
    }
}
