//! The encryption key of a data directory: rows that a benchmark writes before the service starts
//! must be signed with the same key, or the service rejects the database.

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use mc_crypto::{AuditMacKeys, EncryptionKey, Encryptor};
use mc_store::audit::Chains;

use super::make_dir;

/// The default path of the key of `serve`.
const FILE: &str = "encryption.key";

/// Returns the audit's MAC keys under the key of the data directory, which is generated if missing.
pub fn chains(data_dir: &Path) -> Result<Chains> {
    let encryptor = Encryptor::new(key(data_dir)?, Vec::new());
    Ok(Chains::new(AuditMacKeys::derive(&encryptor), HashMap::new()))
}

fn key(data_dir: &Path) -> Result<EncryptionKey> {
    let path = data_dir.join(FILE);
    if let Ok(text) = std::fs::read_to_string(&path) {
        let bytes = hex::decode(text.trim_ascii());
        let bytes =
            bytes.with_context(|| format!("{} does not hold an encryption key", path.display()))?;
        return EncryptionKey::from_bytes(&bytes).with_context(|| path.display().to_string());
    }
    let key = EncryptionKey::generate();
    make_dir(data_dir)?;
    let written = File::create(&path).and_then(|mut file| {
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(hex::encode(key.expose()).as_bytes())
    });
    written.with_context(|| format!("{} can't be written", path.display()))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_directory_keeps_its_key() {
        let dir = tempfile::tempdir().expect("a directory");
        let data_dir = dir.path().join("data");
        let made = key(&data_dir).expect("a key").id();
        assert_eq!(key(&data_dir).expect("the key").id(), made);
        let other = key(&dir.path().join("other")).expect("a key").id();
        assert_ne!(other, made);
    }
}
