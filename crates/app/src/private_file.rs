//! Files that hold secrets: made once, readable by their owner alone.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes the file, in place of what was there; another process never reads half of it.
pub fn write(path: &Path, what: &str, bytes: &[u8]) -> Result<()> {
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .with_context(|| format!("{what} can't be written to {}", draft.display()))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(fs::rename(&draft, path)?)
}

/// Reads the file, closing it to others first where it was open to them.
pub fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let bytes =
        fs::read(path).with_context(|| format!("{what} in {} can't be read", path.display()))?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "{what} was readable by others; closed it");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(bytes)
}
