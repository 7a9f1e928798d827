//! The key that seals secrets in the database. It lives beside it, not in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mc_seal::{Sealer, SealingKey};

use crate::private_file;

const WHAT: &str = "the sealing key";

/// Makes the key where there is none; answers whether it did.
pub fn make_missing(path: &Path) -> Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    private_file::write(path, WHAT, hex::encode(SealingKey::generate().expose()).as_bytes())?;
    Ok(true)
}

/// Reads the key, and those that it replaced.
pub fn sealer(path: &Path, previous: &[PathBuf]) -> Result<Sealer> {
    ensure!(
        path.exists(),
        "there is no {}: copy it from where `memory-copilot serve` runs, or set sign_in.sealing_key_file",
        path.display()
    );
    let previous = previous.iter().map(|path| read(path)).collect::<Result<_>>()?;
    Ok(Sealer::new(read(path)?, previous))
}

fn read(path: &Path) -> Result<SealingKey> {
    let text = private_file::read(path, WHAT)?;
    let bytes = hex::decode(text.trim_ascii());
    let bytes = bytes.with_context(|| format!("{} does not hold a sealing key", path.display()))?;
    SealingKey::from_bytes(&bytes).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use mc_seal::Place;

    use super::*;

    const PLACE: Place<'_> = Place { purpose: "test", row: b"1" };

    #[test]
    fn a_key_that_was_replaced_still_opens() {
        let dir = tempfile::tempdir().expect("a folder");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        assert!(sealer(&old, &[]).is_err());
        assert!([&old, &new].into_iter().all(|path| make_missing(path).expect("a key")));
        assert!(!make_missing(&old).expect("a key"), "it is kept");
        let sealed = sealer(&old, &[]).expect("a key").seal(PLACE, b"secret");
        let alone = sealer(&new, &[]).expect("another key");
        assert!(alone.open(PLACE, &sealed).is_err());
        let both = sealer(&new, &[old]).expect("both keys");
        assert_eq!(both.open(PLACE, &sealed).expect("opens").as_slice(), b"secret");
    }
}
