//! SHA-256, the one hash by which files, chunks and spans are compared.

use sha2::{Digest, Sha256};

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The digest of `bytes`.
pub fn of(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The digest of several fields; their lengths are part of it, so `("ab", "c")` is not `("a",
/// "bc")`.
pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Hash {
    let mut digest = Sha256::new();
    for field in fields {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field);
    }
    digest.finalize().into()
}
