//! Files that hold secrets: written atomically, and readable only by their owner. A service
//! that is root uses them as root.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use mc_privileges::raise_privileges;

/// Writes the file atomically and replaces an existing one. `name` describes it in errors.
pub fn write(path: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let _raised = raise_privileges();
    let draft = path.with_extension("new");
    // A new file: an earlier draft may be a link to another one.
    let created = match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft),
    };
    let mut file =
        created.with_context(|| format!("{name} can't be written to {}", draft.display()))?;
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

/// Reads the file. If others could read it, restricts its permissions to the owner. The permissions
/// of a file that has another name, or is reached by a link, stay unchanged: it may be another's.
pub fn read(path: &Path, name: &str) -> Result<Vec<u8>> {
    let _raised = raise_privileges();
    let unreadable = || format!("{name} in {} can't be read", path.display());
    let mut file = File::open(path).with_context(unreadable)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(unreadable)?;
    let found = file.metadata()?;
    let is_private = found.mode().trailing_zeros() >= 6;
    if is_private {
        return Ok(bytes);
    }
    if found.nlink() == 1 && !path.is_symlink() {
        tracing::warn!(path = %path.display(), "{name} was readable by others; fixed");
        file.set_permissions(Permissions::from_mode(0o600))?;
    } else {
        let path = path.display();
        tracing::warn!(%path, "{name} is readable by others; run `chmod 600` on it");
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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

    /// The owner of the directory could lead root to a file of another user.
    #[test]
    fn file_behind_a_link_is_neither_written_nor_closed() {
        let dir = tempfile::tempdir().expect("a directory");
        let [path, draft, other] =
            ["secret", "secret.new", "other"].map(|name| dir.path().join(name));
        fs::write(&other, "another").expect("a file");
        fs::set_permissions(&other, Permissions::from_mode(0o644)).expect("permissions");
        let is_unchanged = || {
            let mode = fs::metadata(&other).expect("a file").mode() & 0o777;
            mode == 0o644 && fs::read(&other).expect("a file") == b"another"
        };
        let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
            [|from, to| symlink(from, to), |from, to| fs::hard_link(from, to)];
        for link in links {
            link(&other, &path).expect("a link");
            assert_eq!(read(&path, "a secret").expect("read"), b"another");
            assert!(is_unchanged());
            link(&other, &draft).expect("a link");
            write(&path, "a secret", b"text").expect("written");
            assert!(is_unchanged());
            fs::remove_file(&path).expect("a file");
        }
    }

    #[test]
    fn bare_file_name_is_in_the_working_directory() {
        assert_eq!(directory(Path::new("encryption.key")), Path::new("."));
        assert_eq!(directory(Path::new("keys/encryption.key")), Path::new("keys"));
    }
}
