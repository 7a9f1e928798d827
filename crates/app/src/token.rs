//! The local bearer token, until accounts exist.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rand::Rng;
use rand::distr::Alphanumeric;

/// 43 letters and digits hold 256 bits.
const LENGTH: usize = 43;

/// Reads the token, making it at the first start; the file is readable by its owner alone.
pub fn ensure(path: &Path) -> Result<String> {
    if path.exists() {
        return read(path);
    }
    let token: String =
        rand::rng().sample_iter(Alphanumeric).take(LENGTH).map(char::from).collect();
    // Written aside and renamed: another process never reads half a token.
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .with_context(|| format!("the token can't be written to {}", draft.display()))?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    Ok(token)
}

fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("the token in {} can't be read", path.display()))?;
    let token = text.trim().to_owned();
    ensure!(
        token.len() >= 32,
        "the token in {} is too short; delete the file and start again to get a new one",
        path.display()
    );
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "the token file was readable by others; closed it");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_made_once_and_kept_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        let first = ensure(&path).expect("a token");
        assert_eq!(ensure(&path).expect("the same token"), first);
        let mode = || fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("permissions");
        ensure(&path).expect("a token");
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn a_truncated_token_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        fs::write(&path, "short").expect("a file");
        assert!(ensure(&path).is_err());
    }
}
