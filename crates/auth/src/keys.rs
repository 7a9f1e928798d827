//! The Ed25519 keys that sign access tokens, and their way from announced to retired.
//!
//! A key is announced in the JWKS before its turn, signs from then on, and once replaced goes on
//! verifying what it signed until the last of that has expired. So no token that was good when it was
//! issued is refused because of a rotation. The nodes of one service share the keys through the database;
//! one that meets an unknown key id reads them anew, though not for every made-up id that somebody
//! sends.

mod jwks;

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use jsonwebtoken::EncodingKey;
use mc_domain::{Classified, ErrorKind};
use sha2::{Digest as _, Sha256};

use crate::jwt;
use mc_crypto::{AssociatedData, Encryptor};

pub use jwks::{Jwk, Jwks};

/// What a sealed private key belongs to, besides its key id.
const PURPOSE: &str = "mc-auth signing key";

/// A key's name in tokens and in the JWKS: the RFC 7638 thumbprint of its public half, in base64url.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId(String);

/// A private key. It leaves this type only sealed.
#[derive(Clone)]
pub struct SigningKey {
    id: KeyId,
    public: [u8; 32],
    /// PKCS #8, version 2.
    private: EncodingKey,
}

/// A public key with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    id: KeyId,
    public: [u8; 32],
    state: KeyState,
}

/// Where a key stands on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Signs, from a moment that may lie ahead; accepted and published at once.
    Active {
        /// When it begins to sign.
        since: DateTime<Utc>,
    },
    /// Replaced; what it signed is still accepted.
    Retiring {
        /// From when on it is not.
        until: DateTime<Utc>,
    },
    /// Accepted no more: its time is over, or its private half was lost to somebody.
    Retired {
        /// Since when.
        since: DateTime<Utc>,
    },
}

/// Every key that a verifier knows of, retired ones included, so that it can tell them from unknown
/// ones.
#[derive(Debug, Clone, Default)]
pub struct KeySet(Vec<VerifyingKey>);

/// Why no key could be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The stored private key does not open.
    #[error("a signing key can't be opened: {0}")]
    Sealed(#[from] mc_crypto::Error),
    /// What was sealed is not the private half of the key it is stored as.
    #[error("a stored signing key is damaged; retire it and make another")]
    Damaged,
    /// The library refused to make or to use a key.
    #[error("the cryptographic library failed")]
    Library,
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}

/// Why a key id names no key to verify with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    Unknown,
    Retired,
}

impl KeyId {
    /// The id as text: 43 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// RFC 7638 with the members that RFC 8037 names: no spaces, in this order.
    fn of(public: &[u8; 32]) -> Self {
        let x = URL_SAFE_NO_PAD.encode(public);
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        Self(URL_SAFE_NO_PAD.encode(Sha256::digest(members)))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SigningKey {
    /// A new key pair.
    pub fn generate() -> Result<Self, Error> {
        let pair = Ed25519KeyPair::generate().map_err(|_| Error::Library)?;
        let document = pair.to_pkcs8().map_err(|_| Error::Library)?;
        Self::from_pkcs8(document.as_ref()).ok_or(Error::Library)
    }

    /// The private half for the database, bound to this key's id.
    pub fn seal(&self, sealer: &Encryptor) -> Vec<u8> {
        sealer.encrypt(place(&self.id), self.private.as_bytes())
    }

    /// The key pair whose public half is `public` and whose private half was sealed as `envelope`.
    pub fn open(sealer: &Encryptor, public: &[u8; 32], envelope: &[u8]) -> Result<Self, Error> {
        let private = sealer.decrypt(place(&KeyId::of(public)), envelope)?;
        let key = Self::from_pkcs8(&private).ok_or(Error::Damaged)?;
        if key.public == *public { Ok(key) } else { Err(Error::Damaged) }
    }

    /// The name that its signatures carry.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The public half, for the database.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    pub(crate) fn private(&self) -> &EncodingKey {
        &self.private
    }

    fn from_pkcs8(document: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(document).ok()?;
        let public = pair.public_key().as_ref().try_into().ok()?;
        Some(Self { id: KeyId::of(&public), public, private: EncodingKey::from_ed_der(document) })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id)
    }
}

impl VerifyingKey {
    /// The public half of an Ed25519 key pair as the database has it.
    pub fn new(public: [u8; 32], state: KeyState) -> Self {
        Self { id: KeyId::of(&public), public, state }
    }

    /// The name that its signatures carry.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The 32 bytes of the key.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// Where the key stands.
    pub fn state(&self) -> KeyState {
        self.state
    }

    /// Stops signing at `now`. What the key has signed is accepted until all of it has expired; a key
    /// that no longer signs stays as it is.
    pub fn replace(&mut self, now: DateTime<Utc>) {
        if matches!(self.state, KeyState::Active { .. }) {
            self.state = KeyState::Retiring { until: now + jwt::LIFETIME + jwt::LEEWAY };
        }
    }

    /// Accepts nothing more from `now` on: for a key whose private half may be known to others.
    pub fn retire(&mut self, now: DateTime<Utc>) {
        if !matches!(self.state, KeyState::Retired { .. }) {
            self.state = KeyState::Retired { since: now };
        }
    }

    fn is_accepted(&self, now: DateTime<Utc>) -> bool {
        match self.state {
            KeyState::Active { .. } => true,
            KeyState::Retiring { until } => now < until,
            KeyState::Retired { .. } => false,
        }
    }
}

impl KeySet {
    /// The keys that there are.
    pub fn new(keys: Vec<VerifyingKey>) -> Self {
        Self(keys)
    }

    /// The key that signs at `now`: the active one whose turn came last.
    pub fn signer(&self, now: DateTime<Utc>) -> Option<&VerifyingKey> {
        let turn = |key: &VerifyingKey| match key.state {
            KeyState::Active { since } if since <= now => Some(since),
            _ => None,
        };
        self.0.iter().filter(|key| turn(key).is_some()).max_by_key(|key| turn(key))
    }

    /// What `/.well-known/jwks.json` answers at `now`: the public halves of accepted keys.
    pub fn jwks(&self, now: DateTime<Utc>) -> Jwks {
        self.0.iter().filter(|key| key.is_accepted(now)).collect()
    }

    pub(crate) fn find(&self, id: &str, now: DateTime<Utc>) -> Result<&VerifyingKey, Unusable> {
        let key = self.0.iter().find(|key| key.id.as_str() == id).ok_or(Unusable::Unknown)?;
        if key.is_accepted(now) { Ok(key) } else { Err(Unusable::Retired) }
    }
}

fn place(id: &KeyId) -> AssociatedData<'_> {
    AssociatedData { purpose: PURPOSE, row: id.as_str().as_bytes() }
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
    fn the_key_id_is_the_thumbprint_of_rfc_8037() {
        let x = URL_SAFE_NO_PAD.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        let public: [u8; 32] = x.expect("base64url").try_into().expect("32 bytes");
        assert_eq!(KeyId::of(&public).as_str(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn a_private_key_rests_sealed_and_opens_as_itself_only() {
        let sealer = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (one, other) = (SigningKey::generate(), SigningKey::generate());
        let (one, other) = (one.expect("a key"), other.expect("a key"));
        let envelope = one.seal(&sealer);
        let opened = SigningKey::open(&sealer, one.public(), &envelope).expect("opens");
        assert_eq!(opened.private().as_bytes(), one.private().as_bytes());
        let swapped = SigningKey::open(&sealer, other.public(), &envelope);
        assert_eq!(swapped.err(), Some(Error::Sealed(mc_crypto::Error::Forged)));
    }

    #[test]
    fn a_stored_key_that_is_another_one_is_refused() {
        let sealer = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (one, other) = (SigningKey::generate(), SigningKey::generate());
        let (one, other) = (one.expect("a key"), other.expect("a key"));
        for private in [other.private().as_bytes(), b"no key"] {
            let envelope = sealer.encrypt(place(one.id()), private);
            let opened = SigningKey::open(&sealer, one.public(), &envelope);
            assert_eq!(opened.err(), Some(Error::Damaged));
        }
    }

    #[test]
    fn the_key_whose_turn_came_last_signs() {
        let first = key(KeyState::Active { since: at(0) });
        let second = key(KeyState::Active { since: at(100) });
        let keys = KeySet::new(vec![second.clone(), first.clone()]);
        assert_eq!(keys.signer(at(-1)), None);
        assert_eq!(keys.signer(at(99)), Some(&first));
        assert_eq!(keys.signer(at(100)), Some(&second));
    }

    #[test]
    fn a_replaced_key_is_accepted_until_its_last_token_has_expired() {
        let mut replaced = key(KeyState::Active { since: at(0) });
        replaced.replace(at(100));
        let end = at(100) + jwt::LIFETIME + jwt::LEEWAY;
        let keys = KeySet::new(vec![replaced.clone()]);
        assert_eq!(keys.signer(at(200)), None);
        let last_moment = end - TimeDelta::milliseconds(1);
        assert_eq!(keys.find(replaced.id().as_str(), last_moment), Ok(&replaced));
        assert_eq!(keys.find(replaced.id().as_str(), end), Err(Unusable::Retired));

        let before = replaced.clone();
        replaced.replace(at(500));
        assert_eq!(replaced, before, "a second replacement must not lengthen its time");
    }

    #[test]
    fn a_retired_key_is_told_from_an_unknown_one_and_never_comes_back() {
        let mut retired = key(KeyState::Active { since: at(0) });
        retired.retire(at(10));
        retired.replace(at(20));
        let keys = KeySet::new(vec![retired.clone()]);
        assert_eq!(keys.find(retired.id().as_str(), at(10)), Err(Unusable::Retired));
        assert_eq!(keys.find("another", at(10)), Err(Unusable::Unknown));
    }

    #[test]
    fn the_published_keys_are_those_that_are_accepted_without_their_private_half() {
        let announced = key(KeyState::Active { since: at(1000) });
        let retiring = key(KeyState::Retiring { until: at(10) });
        let retired = key(KeyState::Retired { since: at(-10) });
        let keys = KeySet::new(vec![announced.clone(), retiring.clone(), retired]);
        let published = |now| {
            let jwks = serde_json::to_value(keys.jwks(now)).expect("JSON");
            jwks["keys"].as_array().expect("keys").clone()
        };
        assert_eq!(published(at(0)).len(), 2);
        let expected = serde_json::json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "x": URL_SAFE_NO_PAD.encode(announced.public()),
            "kid": announced.id().as_str(),
            "use": "sig",
            "alg": "EdDSA",
        });
        assert_eq!(published(at(10)), [expected]);
    }
}
