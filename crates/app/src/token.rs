//! The token of the local administrator, with which the command line and local clients
//! authenticate.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mc_auth::secret::PersonalAccessToken;

use crate::private_file;

const NAME: &str = "the token";

/// Reads the token, or generates it at the first start; only the owner can read its file.
pub fn ensure(path: &Path) -> Result<String> {
    if private_file::exists(path)? {
        return read(path);
    }
    let token = PersonalAccessToken::generate();
    private_file::write(path, NAME, token.expose().as_bytes())?;
    Ok(token.expose().to_owned())
}

fn read(path: &Path) -> Result<String> {
    let bytes = private_file::read(path, NAME)?;
    let text = String::from_utf8(bytes).context("the token is not UTF-8")?;
    let token = text.trim().to_owned();
    ensure!(
        token.len() >= 32 && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "the token in {} is too short or has invalid characters; delete the file and restart the \
        service to get a new one",
        path.display()
    );
    Ok(token)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn token_is_generated_once_and_stays_private() {
        let dir = tempfile::tempdir().expect("a directory");
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
    fn truncated_token_is_rejected() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("token");
        fs::write(&path, "short").expect("a file");
        assert!(ensure(&path).is_err());
    }
}
