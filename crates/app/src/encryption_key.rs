//! The key that seals secrets in the database. It lives beside it, not in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mc_crypto::{EncryptionKey, Encryptor};
use zeroize::Zeroizing;

use crate::private_file;

const WHAT: &str = "the encryption key";

/// A key that no start has kept yet. Until it is known whether it is the first it lies in a draft
/// beside: a start that is ended in between has the next one ask again, for the same key.
pub struct GeneratedKey {
    text: Zeroizing<String>,
    /// Whether an earlier start made it.
    is_drafted: bool,
}

impl GeneratedKey {
    /// Puts it where the next start takes it up and asks again.
    pub fn draft(&self, path: &Path) -> Result<PendingKey> {
        private_file::write(&draft_of(path), WHAT, self.text.as_bytes())?;
        Ok(PendingKey { of: path.to_owned() })
    }

    /// Deletes the draft that it was found in: it has sealed nothing.
    pub fn discard(self, path: &Path) -> Result<()> {
        if !self.is_drafted {
            return Ok(());
        }
        let draft = draft_of(path);
        fs::remove_file(&draft).with_context(|| format!("{} can't be deleted", draft.display()))
    }
}

/// A new key on disk, where only the next start would find it.
#[derive(Debug)]
#[must_use = "a draft is not found by others"]
pub struct PendingKey {
    of: PathBuf,
}

impl PendingKey {
    /// Puts it where every start finds the key.
    pub fn keep(self) -> Result<()> {
        private_file::rename(&draft_of(&self.of), &self.of, WHAT)
    }
}

/// Reads the key, and those that it replaced. Where there is none it takes up the draft of one or
/// makes one, which is to be kept once it is known to be the first.
pub fn find_or_make(
    path: &Path,
    previous: &[PathBuf],
) -> Result<(Encryptor, Option<GeneratedKey>)> {
    if path.exists() {
        return Ok((sealer(path, previous)?, None));
    }
    let draft = draft_of(path);
    let is_drafted = draft.exists();
    let key = if is_drafted { read(&draft)? } else { EncryptionKey::generate() };
    let new = GeneratedKey { text: Zeroizing::new(hex::encode(key.expose())), is_drafted };
    Ok((Encryptor::new(key, read_all(previous)?), Some(new)))
}

fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".draft");
    name.into()
}

/// Reads the key, and those that it replaced.
pub fn sealer(path: &Path, previous: &[PathBuf]) -> Result<Encryptor> {
    ensure!(
        path.exists(),
        "there is no {}: copy it from where `memory-copilot serve` runs, or set \
         encryption.key_file",
        path.display()
    );
    Ok(Encryptor::new(read(path)?, read_all(previous)?))
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<EncryptionKey>> {
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<EncryptionKey> {
    let text = private_file::read(path, WHAT)?;
    let bytes = hex::decode(text.trim_ascii());
    let bytes =
        bytes.with_context(|| format!("{} does not hold an encryption key", path.display()))?;
    EncryptionKey::from_bytes(&bytes).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use mc_crypto::AssociatedData;

    use super::*;

    const PLACE: AssociatedData<'_> = AssociatedData { purpose: "test", row: b"1" };

    #[test]
    fn a_key_that_was_replaced_still_opens() {
        let dir = tempfile::tempdir().expect("a folder");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        assert!(sealer(&old, &[]).is_err());
        for path in [&old, &new] {
            let (_, key) = find_or_make(path, &[]).expect("a key");
            assert!(!path.exists(), "nobody knows yet whether it is the first");
            let key = key.expect("a new one");
            key.draft(path).expect("a draft").keep().expect("a file");
        }
        let (first, none) = find_or_make(&old, &[]).expect("the key");
        assert!(none.is_none(), "it is kept");
        let sealed = first.encrypt(PLACE, b"secret");
        let alone = sealer(&new, &[]).expect("another key");
        assert!(alone.decrypt(PLACE, &sealed).is_err());
        let both = sealer(&new, &[old]).expect("both keys");
        assert_eq!(both.decrypt(PLACE, &sealed).expect("opens").as_slice(), b"secret");
    }
}
