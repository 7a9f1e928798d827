//! The key that encrypts secrets in the database. It is stored in a file, outside the database.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mc_crypto::{EncryptionKey, Encryptor};
use zeroize::Zeroizing;

use crate::private_file;

const NAME: &str = "the encryption key";

/// A generated key that the database has not accepted yet. Until then it is stored in a draft file:
/// if the process ends before the database accepts the key, the next start uses the same key.
pub struct GeneratedKey {
    text: Zeroizing<String>,
    /// Whether an earlier start generated the key.
    is_drafted: bool,
}

impl GeneratedKey {
    /// Writes the key to the draft file, where the next start finds it.
    pub fn draft(&self, path: &Path) -> Result<PendingKey> {
        private_file::write(&draft_of(path), NAME, self.text.as_bytes())?;
        Ok(PendingKey { path: path.to_owned() })
    }

    /// Deletes the draft file of the key: nothing was encrypted with it.
    pub fn discard(self, path: &Path) -> Result<()> {
        if !self.is_drafted {
            return Ok(());
        }
        private_file::remove(&draft_of(path))
    }
}

/// A generated key in its draft file, where only the next start finds it.
#[derive(Debug)]
#[must_use = "a draft is not the key in use"]
pub struct PendingKey {
    path: PathBuf,
}

impl PendingKey {
    /// Moves the key to the key file.
    pub fn store(self) -> Result<()> {
        private_file::rename(&draft_of(&self.path), &self.path, NAME)
    }
}

/// Reads the key and the previous keys. If there is no key file, reads the draft file or generates
/// a key; the caller stores that key once the database accepts it.
pub fn load_or_generate(
    path: &Path,
    previous: &[PathBuf],
) -> Result<(Encryptor, Option<GeneratedKey>)> {
    if private_file::exists(path)? {
        return Ok((load(path, previous)?, None));
    }
    let draft = draft_of(path);
    let is_drafted = private_file::exists(&draft)?;
    let key = if is_drafted { read(&draft)? } else { EncryptionKey::generate() };
    let new = GeneratedKey { text: Zeroizing::new(hex::encode(key.expose())), is_drafted };
    Ok((Encryptor::new(key, read_all(previous)?), Some(new)))
}

fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".draft");
    name.into()
}

/// Reads the key and the previous keys.
pub fn load(path: &Path, previous: &[PathBuf]) -> Result<Encryptor> {
    ensure!(
        private_file::exists(path)?,
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
    let text = private_file::read(path, NAME)?;
    let bytes = hex::decode(text.trim_ascii());
    let bytes =
        bytes.with_context(|| format!("{} does not hold an encryption key", path.display()))?;
    EncryptionKey::from_bytes(&bytes).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use mc_crypto::AssociatedData;

    use super::*;

    const ASSOCIATED_DATA: AssociatedData<'_> = AssociatedData { purpose: "test", row: b"1" };

    #[test]
    fn previous_key_still_decrypts() {
        let dir = tempfile::tempdir().expect("a directory");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        assert!(load(&old, &[]).is_err());
        for path in [&old, &new] {
            let (_, key) = load_or_generate(path, &[]).expect("a key");
            assert!(!path.exists(), "the database has not accepted the key");
            let key = key.expect("a new key");
            key.draft(path).expect("a draft").store().expect("a file");
        }
        let (encryptor, generated) = load_or_generate(&old, &[]).expect("the key");
        assert!(generated.is_none(), "the key file exists");
        let ciphertext = encryptor.encrypt(ASSOCIATED_DATA, b"secret");
        let without_previous = load(&new, &[]).expect("another key");
        assert!(without_previous.decrypt(ASSOCIATED_DATA, &ciphertext).is_err());
        let with_previous = load(&new, &[old]).expect("both keys");
        let plaintext = with_previous.decrypt(ASSOCIATED_DATA, &ciphertext).expect("decrypted");
        assert_eq!(plaintext.as_slice(), b"secret");
    }
}
