//! Authenticated encryption of what rests in the database, with a key that does not.
//!
//! XChaCha20-Poly1305 with a random nonce of 192 bits. The envelope is
//!
//! ```text
//! version (1 byte) | key id (16) | nonce (24) | ciphertext | tag (16)
//! ```
//!
//! and authenticates, besides the text, its own head and the [`Place`] that it belongs to: an
//! envelope that is moved to another row or column does not open there. The key id is a hash of the
//! key, so an envelope is tied to one key, and several can be in use while one replaces another.

use std::fmt;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use mc_domain::{Classified, ErrorKind};
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

const VERSION: u8 = 1;
/// Bytes of a [`KeyId`].
pub const KEY_ID_LEN: usize = 16;
const NONCE_LEN: usize = 24;
const HEAD_LEN: usize = 1 + KEY_ID_LEN + NONCE_LEN;
const TAG_LEN: usize = 16;

/// A key of 256 bits, from outside the database.
#[derive(Clone)]
pub struct EncryptionKey {
    id: KeyId,
    key: Zeroizing<[u8; 32]>,
}

/// Tells keys apart, and nothing else about them.
pub type KeyId = [u8; KEY_ID_LEN];

/// What an envelope belongs to. Two places differ if either part does.
#[derive(Debug, Clone, Copy)]
pub struct AssociatedData<'a> {
    /// Table and column, or another name for the purpose (`signing_keys.private`).
    pub purpose: &'static str,
    /// Which row, say the bytes of its id.
    pub row: &'a [u8],
}

/// The keys in use: new envelopes are sealed with the first, all are tried by their id when opening.
#[derive(Debug, Clone)]
pub struct Encryptor {
    current: EncryptionKey,
    previous: Vec<EncryptionKey>,
}

/// Why an envelope does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are no envelope of a known version.
    #[error("the sealed data is damaged or was written by a newer version of the service")]
    Malformed,
    /// It was sealed with a key that this process was not given.
    #[error(
        "the data was sealed with another key; give the previous encryption key to the service too"
    )]
    UnknownKey,
    /// It was changed, or belongs elsewhere.
    #[error("the sealed data was changed or moved from another place")]
    Forged,
    /// An encryption key is 32 bytes.
    #[error("an encryption key is 32 random bytes")]
    KeyLength,
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}

impl EncryptionKey {
    /// A new random key.
    pub fn generate() -> Self {
        let mut key = Zeroizing::new([0; 32]);
        fill(&mut key[..]);
        Self::new(key)
    }

    /// A key of 32 bytes that was made by [`SealingKey::generate`] or another source of random bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let key: [u8; 32] = bytes.try_into().map_err(|_| Error::KeyLength)?;
        Ok(Self::new(Zeroizing::new(key)))
    }

    /// The key's bytes, to be written to where the key is kept.
    pub fn expose(&self) -> &[u8; 32] {
        &self.key
    }

    /// Names the key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    fn new(key: Zeroizing<[u8; 32]>) -> Self {
        let digest =
            Sha256::new().chain_update(b"mc-auth sealing key id").chain_update(key.as_slice());
        let digest: [u8; 32] = digest.finalize().into();
        let id = digest[..KEY_ID_LEN].try_into().expect("16 of 32 bytes");
        Self { id, key }
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new_from_slice(self.key.as_slice()).expect("a key of 32 bytes")
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", hex::encode(&self.id[..4]))
    }
}

impl Encryptor {
    /// Seals with `current`; opens with it and with those that it replaced.
    pub fn new(current: EncryptionKey, previous: Vec<EncryptionKey>) -> Self {
        Self { current, previous }
    }

    /// The envelope of `text` for `place`: 57 bytes longer than the text.
    pub fn encrypt(&self, place: AssociatedData<'_>, text: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        fill(&mut nonce);
        let mut envelope = Vec::with_capacity(HEAD_LEN + text.len() + TAG_LEN);
        envelope.push(VERSION);
        envelope.extend_from_slice(&self.current.id);
        envelope.extend_from_slice(&nonce);
        let aad = associated(place, &envelope);
        let sealed = self
            .current
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg: text, aad: &aad })
            .expect("a text in memory is shorter than the cipher's limit of 256 GiB");
        envelope.extend_from_slice(&sealed);
        envelope
    }

    /// The text of an `envelope` that was sealed for `place`.
    pub fn decrypt(
        &self,
        place: AssociatedData<'_>,
        envelope: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (head, sealed) = parts(envelope)?;
        let nonce: [u8; NONCE_LEN] =
            head[1 + KEY_ID_LEN..].try_into().map_err(|_| Error::Malformed)?;
        let aad = associated(place, head);
        self.key(head)?
            .cipher()
            .decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: &aad })
            .map(Zeroizing::new)
            .map_err(|_| Error::Forged)
    }

    /// A secret that whoever has the current key can make again, for one purpose and one thing.
    pub fn derive(&self, purpose: &'static str, of: &[u8]) -> [u8; 32] {
        crate::mac_chain::mac(
            self.current.expose(),
            &[b"memory-copilot derived", purpose.as_bytes(), of],
        )
    }

    /// Whether the envelope was sealed with a previous key and should be written anew, so that the
    /// key can be thrown away.
    pub fn is_outdated(&self, envelope: &[u8]) -> Result<bool, Error> {
        let (head, _) = parts(envelope)?;
        Ok(self.key(head)?.id != self.current.id)
    }

    /// Names the key that seals.
    pub fn key_id(&self) -> KeyId {
        self.current.id
    }

    /// The keys, the one that seals first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &EncryptionKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }

    fn key(&self, head: &[u8]) -> Result<&EncryptionKey, Error> {
        let id = &head[1..=KEY_ID_LEN];
        self.keys().find(|key| key.id == id).ok_or(Error::UnknownKey)
    }
}

fn parts(envelope: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    if envelope.len() < HEAD_LEN + TAG_LEN || envelope[0] != VERSION {
        return Err(Error::Malformed);
    }
    Ok(envelope.split_at(HEAD_LEN))
}

fn fill(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).expect("the operating system gives random numbers");
}

/// The head, then the place's parts, each with its length, so that no two places read alike.
fn associated(place: AssociatedData<'_>, head: &[u8]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for part in [place.purpose.as_bytes(), place.row] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: AssociatedData<'static> = AssociatedData { purpose: "keys.private", row: b"row 1" };

    fn sealer() -> Encryptor {
        Encryptor::new(EncryptionKey::generate(), Vec::new())
    }

    #[test]
    fn a_text_comes_back_where_it_belongs_and_nowhere_else() {
        let sealer = sealer();
        for text in [&b""[..], b"secret", &[7; 10_000]] {
            let envelope = sealer.encrypt(HERE, text);
            assert_eq!(envelope.len(), text.len() + 57);
            assert_eq!(sealer.decrypt(HERE, &envelope).expect("opens").as_slice(), text);
            for elsewhere in [
                AssociatedData { row: b"row 2", ..HERE },
                AssociatedData { purpose: "keys.public", ..HERE },
                AssociatedData { purpose: "keys.privater", row: b"ow 1" },
            ] {
                assert_eq!(sealer.decrypt(elsewhere, &envelope), Err(Error::Forged));
            }
        }
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let sealer = sealer();
        let envelope = sealer.encrypt(HERE, b"secret");
        for bit in 0..envelope.len() * 8 {
            let mut changed = envelope.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(sealer.decrypt(HERE, &changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        let sealer = sealer();
        let envelope = sealer.encrypt(HERE, b"secret");
        for bytes in [&[][..], b"x", &envelope[..HEAD_LEN + TAG_LEN - 1], &[2; 100]] {
            assert_eq!(sealer.decrypt(HERE, bytes), Err(Error::Malformed));
        }
        assert_eq!(sealer.decrypt(HERE, &envelope[..envelope.len() - 1]), Err(Error::Forged));
    }

    #[test]
    fn a_key_is_replaced_without_losing_what_it_sealed() {
        let (old, new) = (EncryptionKey::generate(), EncryptionKey::generate());
        let envelope = Encryptor::new(old.clone(), Vec::new()).encrypt(HERE, b"secret");

        let both = Encryptor::new(new.clone(), vec![old]);
        assert_eq!(both.is_outdated(&envelope), Ok(true));
        let text = both.decrypt(HERE, &envelope).expect("the old key opens it");
        let renewed = both.encrypt(HERE, &text);
        assert_eq!(both.is_outdated(&renewed), Ok(false));

        let only_new = Encryptor::new(new, Vec::new());
        assert!(only_new.decrypt(HERE, &renewed).is_ok());
        assert_eq!(only_new.decrypt(HERE, &envelope), Err(Error::UnknownKey));
    }

    #[test]
    fn a_key_is_32_bytes_and_is_not_shown() {
        let key = EncryptionKey::generate();
        let copy = EncryptionKey::from_bytes(key.expose()).expect("32 bytes");
        assert_eq!(copy.id, key.id);
        assert!(matches!(EncryptionKey::from_bytes(&[0; 31]), Err(Error::KeyLength)));
        let shown = format!("{:?}", Encryptor::new(copy, Vec::new()));
        assert!(!shown.contains(&hex::encode(key.expose())[..16]), "{shown}");
    }
}
