//! Authenticated encryption of database values, with a key that is kept outside the database.
//!
//! XChaCha20-Poly1305 with a random nonce of 192 bits. The envelope is
//!
//! ```text
//! version (1 byte) | key id (16) | nonce (24) | ciphertext | tag (16)
//! ```
//!
//! It authenticates the text, its own header and the [`AssociatedData`]: an envelope that is moved
//! to another row or column does not decrypt. The key id is a hash of the key. It ties an envelope
//! to one key, so several keys can be in use while one replaces another.

use std::fmt;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use mc_domain::{Classified, ErrorKind};
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

const VERSION: u8 = 1;
/// Length of a [`KeyId`] in bytes.
pub const KEY_ID_LEN: usize = 16;
const NONCE_LEN: usize = 24;
const HEADER_LEN: usize = 1 + KEY_ID_LEN + NONCE_LEN;
const TAG_LEN: usize = 16;

/// Key of 256 bits, kept outside the database.
#[derive(Clone)]
pub struct EncryptionKey {
    id: KeyId,
    key: Zeroizing<[u8; 32]>,
}

/// Identifier of a key, which reveals nothing else about it.
pub type KeyId = [u8; KEY_ID_LEN];

/// Purpose and row that an envelope is bound to.
#[derive(Debug, Clone, Copy)]
pub struct AssociatedData<'a> {
    /// Table and column, or another name for the purpose (`signing_keys.private`).
    pub purpose: &'static str,
    /// Identity of the row, for example the bytes of its id.
    pub row: &'a [u8],
}

/// Encryption keys in use: the current key encrypts, and any of them decrypts, by key id.
#[derive(Debug, Clone)]
pub struct Encryptor {
    current: EncryptionKey,
    previous: Vec<EncryptionKey>,
}

/// Reason why an envelope does not decrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not an envelope of a known version.
    #[error("the encrypted data is damaged or was written by a newer version of the service")]
    Malformed,
    /// The envelope was encrypted with a key that this process does not have.
    #[error(
        "the data was encrypted with another key; give the service the previous encryption key too"
    )]
    UnknownKey,
    /// The envelope was modified, or is bound to other associated data.
    #[error("the encrypted data was modified, or moved from another row")]
    Forged,
    /// The key does not have 32 bytes.
    #[error("an encryption key is 32 random bytes")]
    KeyLength,
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}

impl EncryptionKey {
    /// Generates a random key.
    pub fn generate() -> Self {
        let mut key = Zeroizing::new([0; 32]);
        fill(&mut key[..]);
        Self::new(key)
    }

    /// Creates a key from 32 bytes of [`EncryptionKey::generate`] or another secure random source.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let key: [u8; 32] = bytes.try_into().map_err(|_| Error::KeyLength)?;
        Ok(Self::new(Zeroizing::new(key)))
    }

    /// Returns the key's bytes, to be written to the key file.
    pub fn expose(&self) -> &[u8; 32] {
        &self.key
    }

    /// Returns the key's id.
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
        write!(f, "EncryptionKey({})", hex::encode(&self.id[..4]))
    }
}

impl Encryptor {
    /// Encrypts with `current`; decrypts with it and with the keys that it replaced.
    pub fn new(current: EncryptionKey, previous: Vec<EncryptionKey>) -> Self {
        Self { current, previous }
    }

    /// Returns the envelope of `text`, bound to `data`: 57 bytes longer than the text.
    pub fn encrypt(&self, data: AssociatedData<'_>, text: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        fill(&mut nonce);
        let mut envelope = Vec::with_capacity(HEADER_LEN + text.len() + TAG_LEN);
        envelope.push(VERSION);
        envelope.extend_from_slice(&self.current.id);
        envelope.extend_from_slice(&nonce);
        let aad = additional_data(data, &envelope);
        let ciphertext = self
            .current
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg: text, aad: &aad })
            .expect("a text in memory is shorter than the cipher's limit of 256 GiB");
        envelope.extend_from_slice(&ciphertext);
        envelope
    }

    /// Returns the text of an `envelope` that was encrypted for `data`.
    pub fn decrypt(
        &self,
        data: AssociatedData<'_>,
        envelope: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (header, ciphertext) = split(envelope)?;
        let nonce: [u8; NONCE_LEN] =
            header[1 + KEY_ID_LEN..].try_into().map_err(|_| Error::Malformed)?;
        let aad = additional_data(data, header);
        self.key(header)?
            .cipher()
            .decrypt(&XNonce::from(nonce), Payload { msg: ciphertext, aad: &aad })
            .map(Zeroizing::new)
            .map_err(|_| Error::Forged)
    }

    /// Derives a secret from the current key, always the same for one `purpose` and `input`.
    pub fn derive(&self, purpose: &'static str, input: &[u8]) -> [u8; 32] {
        crate::mac_chain::mac(
            self.current.expose(),
            &[b"memory-copilot derived", purpose.as_bytes(), input],
        )
    }

    /// Returns whether a previous key encrypted the envelope. It should be encrypted again, so that
    /// the previous key can be deleted.
    pub fn is_outdated(&self, envelope: &[u8]) -> Result<bool, Error> {
        let (header, _) = split(envelope)?;
        Ok(self.key(header)?.id != self.current.id)
    }

    /// Returns the id of the current key.
    pub fn key_id(&self) -> KeyId {
        self.current.id
    }

    /// Returns the keys, the current one first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &EncryptionKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }

    fn key(&self, header: &[u8]) -> Result<&EncryptionKey, Error> {
        let id = &header[1..=KEY_ID_LEN];
        self.keys().find(|key| key.id == id).ok_or(Error::UnknownKey)
    }
}

fn split(envelope: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    if envelope.len() < HEADER_LEN + TAG_LEN || envelope[0] != VERSION {
        return Err(Error::Malformed);
    }
    Ok(envelope.split_at(HEADER_LEN))
}

fn fill(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).expect("the operating system provides random numbers");
}

/// Returns the header and the length-prefixed parts of `data`, so that no two encode alike.
fn additional_data(data: AssociatedData<'_>, header: &[u8]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    for part in [data.purpose.as_bytes(), data.row] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: AssociatedData<'static> = AssociatedData { purpose: "keys.private", row: b"row 1" };

    fn encryptor() -> Encryptor {
        Encryptor::new(EncryptionKey::generate(), Vec::new())
    }

    #[test]
    fn an_envelope_decrypts_only_with_its_associated_data() {
        let encryptor = encryptor();
        for text in [&b""[..], b"secret", &[7; 10_000]] {
            let envelope = encryptor.encrypt(DATA, text);
            assert_eq!(envelope.len(), text.len() + 57);
            assert_eq!(encryptor.decrypt(DATA, &envelope).expect("a text").as_slice(), text);
            for elsewhere in [
                AssociatedData { row: b"row 2", ..DATA },
                AssociatedData { purpose: "keys.public", ..DATA },
                AssociatedData { purpose: "keys.privater", row: b"ow 1" },
            ] {
                assert_eq!(encryptor.decrypt(elsewhere, &envelope), Err(Error::Forged));
            }
        }
    }

    #[test]
    fn a_changed_bit_prevents_decryption() {
        let encryptor = encryptor();
        let envelope = encryptor.encrypt(DATA, b"secret");
        for bit in 0..envelope.len() * 8 {
            let mut changed = envelope.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(encryptor.decrypt(DATA, &changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_malformed_envelope_is_rejected() {
        let encryptor = encryptor();
        let envelope = encryptor.encrypt(DATA, b"secret");
        for bytes in [&[][..], b"x", &envelope[..HEADER_LEN + TAG_LEN - 1], &[2; 100]] {
            assert_eq!(encryptor.decrypt(DATA, bytes), Err(Error::Malformed));
        }
        assert_eq!(encryptor.decrypt(DATA, &envelope[..envelope.len() - 1]), Err(Error::Forged));
    }

    #[test]
    fn a_replaced_key_still_decrypts_its_envelopes() {
        let (old, new) = (EncryptionKey::generate(), EncryptionKey::generate());
        let envelope = Encryptor::new(old.clone(), Vec::new()).encrypt(DATA, b"secret");

        let both = Encryptor::new(new.clone(), vec![old]);
        assert_eq!(both.is_outdated(&envelope), Ok(true));
        let text = both.decrypt(DATA, &envelope).expect("the old key decrypts it");
        let renewed = both.encrypt(DATA, &text);
        assert_eq!(both.is_outdated(&renewed), Ok(false));

        let only_new = Encryptor::new(new, Vec::new());
        assert!(only_new.decrypt(DATA, &renewed).is_ok());
        assert_eq!(only_new.decrypt(DATA, &envelope), Err(Error::UnknownKey));
    }

    #[test]
    fn a_key_has_32_bytes_and_is_not_shown() {
        let key = EncryptionKey::generate();
        let copy = EncryptionKey::from_bytes(key.expose()).expect("32 bytes");
        assert_eq!(copy.id, key.id);
        assert!(matches!(EncryptionKey::from_bytes(&[0; 31]), Err(Error::KeyLength)));
        let shown = format!("{:?}", Encryptor::new(copy, Vec::new()));
        assert!(!shown.contains(&hex::encode(key.expose())[..16]), "{shown}");
    }
}
