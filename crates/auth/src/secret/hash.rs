//! The stored hash of a secret.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a secret's text: 32 bytes, compared in constant time. Rows are found by it.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

/// The error of bytes that are not a SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored hash has 32 bytes")]
pub struct InvalidHash;

impl SecretHash {
    /// Hashes a secret's bytes.
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns the bytes, for the database.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl TryFrom<&[u8]> for SecretHash {
    type Error = InvalidHash;

    fn try_from(bytes: &[u8]) -> Result<Self, InvalidHash> {
        bytes.try_into().map(Self).map_err(|_| InvalidHash)
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl fmt::Debug for SecretHash {
    /// Writes the first bytes, which distinguish hashes in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretHash({}..)", hex::encode(&self.0[..4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_parses_back_from_its_bytes() {
        let hash = SecretHash::of(b"abc");
        assert_eq!(SecretHash::try_from(&hash.as_bytes()[..]), Ok(hash));
        assert_eq!(SecretHash::try_from(&[0; 31][..]), Err(InvalidHash));
        // FIPS 180-2, appendix B.1.
        assert_eq!(format!("{hash:?}"), "SecretHash(ba7816bf..)");
    }
}
