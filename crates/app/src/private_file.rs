//! Files that hold secrets: written atomically, and readable only by their owner. A service
//! that is root uses them as root.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use mc_sandbox::raise_privileges;

/// Writes the file atomically and replaces an existing one. `name` describes it in errors.
pub fn write(path: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let _raised = raise_privileges();
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .with_context(|| format!("{name} can't be written to {}", draft.display()))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&draft, path, name)
}

/// Renames the file and replaces an existing one. Syncs the directory, because otherwise the old
/// name may come back after a power failure.
pub fn rename(from: &Path, to: &Path, name: &str) -> Result<()> {
    let _raised = raise_privileges();
    fs::rename(from, to).and_then(|()| File::open(directory(to))?.sync_all()).with_context(|| {
        format!("{name} can't be moved to {}; make its directory writable", to.display())
    })
}

/// Returns the directory of a file.
pub fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Returns whether there is a file at the path.
pub fn exists(path: &Path) -> Result<bool> {
    let _raised = raise_privileges();
    path.try_exists().with_context(|| format!("{} can't be reached", path.display()))
}

/// Deletes the file.
pub fn remove(path: &Path) -> Result<()> {
    let _raised = raise_privileges();
    fs::remove_file(path).with_context(|| format!("{} can't be deleted", path.display()))
}

/// Reads the file. If others could read it, restricts its permissions to the owner.
pub fn read(path: &Path, name: &str) -> Result<Vec<u8>> {
    let _raised = raise_privileges();
    let bytes =
        fs::read(path).with_context(|| format!("{name} in {} can't be read", path.display()))?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "{name} was readable by others; fixed");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_replaces_the_file_and_restricts_it_to_its_owner() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("secret");
        for text in ["one", "two"] {
            write(&path, "a secret", text.as_bytes()).expect("written");
            assert_eq!(read(&path, "a secret").expect("read"), text.as_bytes());
        }
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1, "no draft is left");
        let nowhere = dir.path().join("none").join("secret");
        let error = rename(&path, &nowhere, "a secret").expect_err("no directory");
        let message = format!("{error:#}");
        assert!(message.contains("a secret can't be moved to"), "{message}");
    }

    #[test]
    fn bare_file_name_is_in_the_working_directory() {
        assert_eq!(directory(Path::new("encryption.key")), Path::new("."));
        assert_eq!(directory(Path::new("keys/encryption.key")), Path::new("keys"));
    }
}
