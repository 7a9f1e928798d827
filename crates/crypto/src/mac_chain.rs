//! Message authentication codes for rows that must not be rewritten.

use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::envelope::{EncryptionKey, Encryptor, KeyId};

/// Length of a [`Mac`] in bytes.
pub const MAC_LEN: usize = 32;

/// HMAC-SHA256 of the length-prefixed parts of a row, so that no two rows encode alike.
pub type Mac = [u8; MAC_LEN];

/// The last row of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Sequence number of the row.
    pub seq: i64,
    /// MAC of the row; hexadecimal in serialized form.
    #[serde(with = "as_hex")]
    pub mac: Mac,
}

mod as_hex {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{MAC_LEN, Mac};

    pub fn serialize<S: Serializer>(mac: &Mac, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(mac))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mac, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut mac = [0; MAC_LEN];
        hex::decode_to_slice(text, &mut mac).map_err(D::Error::custom)?;
        Ok(mac)
    }
}

/// MAC keys of the audit log, derived from the encryption keys.
///
/// The current key signs, and any of them verifies, by key id.
#[derive(Clone)]
pub struct AuditMacKeys {
    current: (KeyId, Zeroizing<Mac>),
    previous: Vec<(KeyId, Zeroizing<Mac>)>,
}

impl AuditMacKeys {
    /// Derives a MAC key from each key of `encryptor`.
    pub fn derive(encryptor: &Encryptor) -> Self {
        let derived = |key: &EncryptionKey| {
            let mac = mac(key.expose(), &[b"memory-copilot chain"]);
            (key.id(), Zeroizing::new(mac))
        };
        let mut keys = encryptor.keys().map(derived);
        let current = keys.next().expect("an encryptor has a key");
        Self { current, previous: keys.collect() }
    }

    /// Returns the MAC of a row and the id of the key that signed it.
    pub fn sign(&self, parts: &[&[u8]]) -> (KeyId, Mac) {
        let (id, key) = &self.current;
        (*id, mac(key.as_slice(), parts))
    }

    /// Returns whether `claimed` is the row's MAC under the key `key_id`, or `None` if this process
    /// does not have that key.
    pub fn is_genuine(&self, key_id: &[u8], parts: &[&[u8]], claimed: &[u8]) -> Option<bool> {
        let key = self.key(key_id)?;
        Some(code(key.as_slice(), parts).verify_slice(claimed).is_ok())
    }

    /// Returns whether this process has the key `key_id`.
    pub fn has(&self, key_id: &[u8]) -> bool {
        self.key(key_id).is_some()
    }

    fn key(&self, key_id: &[u8]) -> Option<&Mac> {
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        keys.find(|(id, _)| id.as_slice() == key_id).map(|(_, key)| &**key)
    }
}

pub(crate) fn mac(key: &[u8], parts: &[&[u8]]) -> Mac {
    code(key, parts).finalize().into_bytes().into()
}

fn code(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut code = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
    for part in parts {
        code.update(&(part.len() as u64).to_be_bytes());
        code.update(part);
    }
    code
}

impl std::fmt::Debug for AuditMacKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditMacKeys(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> AuditMacKeys {
        AuditMacKeys::derive(&Encryptor::new(EncryptionKey::generate(), Vec::new()))
    }

    #[test]
    fn only_the_signed_row_is_genuine() {
        let keys = keys();
        let (id, mac) = keys.sign(&[b"ab", b"c"]);
        assert_eq!(keys.is_genuine(&id, &[b"ab", b"c"], &mac), Some(true));
        for other in [&[&b"a"[..], b"bc"][..], &[b"ab"], &[b"ab", b"c", b""], &[b"c", b"ab"]] {
            assert_eq!(keys.is_genuine(&id, other, &mac), Some(false), "{other:?}");
        }
        assert_eq!(keys.is_genuine(&id, &[b"ab", b"c"], &mac[..31]), Some(false));
    }

    #[test]
    fn a_replaced_key_verifies_and_an_unknown_key_is_reported() {
        let (old, new) = (EncryptionKey::generate(), EncryptionKey::generate());
        let before = AuditMacKeys::derive(&Encryptor::new(old.clone(), Vec::new()));
        let (id, mac) = before.sign(&[b"row"]);
        let after = AuditMacKeys::derive(&Encryptor::new(new, vec![old]));
        assert_eq!(after.is_genuine(&id, &[b"row"], &mac), Some(true));
        assert_ne!(after.sign(&[b"row"]).0, id);
        assert_eq!(keys().is_genuine(&id, &[b"row"], &mac), None);
    }
}
