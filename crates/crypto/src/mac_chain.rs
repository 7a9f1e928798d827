//! Message authentication codes for rows that must not be rewritten.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::envelope::{EncryptionKey, Encryptor, KeyId};

/// Bytes of a [`Mac`].
pub const MAC_LEN: usize = 32;

/// HMAC-SHA256 over the parts of a row, each with its length, so that no two rows read alike.
pub type Mac = [u8; MAC_LEN];

/// The keys that sign rows: new ones by the first, all are tried by their id when looking back. Derived
/// from the encryption keys, and good for nothing else.
#[derive(Clone)]
pub struct AuditMacKeys {
    current: (KeyId, Zeroizing<Mac>),
    previous: Vec<(KeyId, Zeroizing<Mac>)>,
}

impl AuditMacKeys {
    /// Those that belong to the keys of `sealer`.
    pub fn of(sealer: &Encryptor) -> Self {
        let derived = |key: &EncryptionKey| {
            let mac = mac(key.expose(), &[b"memory-copilot chain"]);
            (key.id(), Zeroizing::new(mac))
        };
        let mut keys = sealer.keys().map(derived);
        let current = keys.next().expect("a sealer has a key");
        Self { current, previous: keys.collect() }
    }

    /// The mac of a row, and the id of the key that it is by.
    pub fn sign(&self, parts: &[&[u8]]) -> (KeyId, Mac) {
        let (id, key) = &self.current;
        (*id, mac(key.as_slice(), parts))
    }

    /// Whether `claimed` is the mac of the row by the key with this id; `None` where this process does
    /// not have that key.
    pub fn is_genuine(&self, key_id: &[u8], parts: &[&[u8]], claimed: &[u8]) -> Option<bool> {
        let key = self.key(key_id)?;
        Some(code(key.as_slice(), parts).verify_slice(claimed).is_ok())
    }

    /// Whether this process has the key with this id.
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
    let mut code = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    for part in parts {
        code.update(&(part.len() as u64).to_be_bytes());
        code.update(part);
    }
    code
}

impl std::fmt::Debug for AuditMacKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChainKeys(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> AuditMacKeys {
        AuditMacKeys::of(&Encryptor::new(EncryptionKey::generate(), Vec::new()))
    }

    #[test]
    fn a_row_is_genuine_as_it_was_signed_and_in_no_other_way() {
        let keys = keys();
        let (id, mac) = keys.sign(&[b"ab", b"c"]);
        assert_eq!(keys.is_genuine(&id, &[b"ab", b"c"], &mac), Some(true));
        for other in [&[&b"a"[..], b"bc"][..], &[b"ab"], &[b"ab", b"c", b""], &[b"c", b"ab"]] {
            assert_eq!(keys.is_genuine(&id, other, &mac), Some(false), "{other:?}");
        }
        assert_eq!(keys.is_genuine(&id, &[b"ab", b"c"], &mac[..31]), Some(false));
    }

    #[test]
    fn a_replaced_key_still_vouches_and_a_strange_one_is_told() {
        let (old, new) = (EncryptionKey::generate(), EncryptionKey::generate());
        let before = AuditMacKeys::of(&Encryptor::new(old.clone(), Vec::new()));
        let (id, mac) = before.sign(&[b"row"]);
        let after = AuditMacKeys::of(&Encryptor::new(new, vec![old]));
        assert_eq!(after.is_genuine(&id, &[b"row"], &mac), Some(true));
        assert_ne!(after.sign(&[b"row"]).0, id);
        assert_eq!(keys().is_genuine(&id, &[b"row"], &mac), None);
    }
}
