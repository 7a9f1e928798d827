//! SHA-256 digests, by which files, chunks and spans are compared.

use sha2::{Digest, Sha256};

/// SHA-256 digest.
pub type Hash = [u8; 32];

/// Returns the digest of `bytes`.
pub fn of(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// Returns the digest of several fields and their lengths: `"ab", "c"` and `"a", "bc"` differ.
pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Hash {
    let mut digest = Sha256::new();
    for field in fields {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field);
    }
    digest.finalize().into()
}
