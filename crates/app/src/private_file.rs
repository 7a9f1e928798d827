//! Files that hold secrets: made once, readable by their owner alone.

use std::fs::{self, File, OpenOptions, Permissions};
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
    rename(&draft, path, what)
}

/// Gives the file another name, in place of what had it. A folder that is not synced may have the
/// old one after a power cut.
pub fn rename(from: &Path, to: &Path, what: &str) -> Result<()> {
    fs::rename(from, to).and_then(|()| File::open(folder(to))?.sync_all()).with_context(|| {
        format!("{what} can't be put at {}; see that its folder can be written", to.display())
    })
}

fn folder(path: &Path) -> &Path {
    let named = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_the_place_of_another_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("secret");
        for text in ["one", "two"] {
            write(&path, "a secret", text.as_bytes()).expect("written");
            assert_eq!(read(&path, "a secret").expect("read"), text.as_bytes());
        }
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1, "no draft is left");
        let nowhere = dir.path().join("none").join("secret");
        let said = format!("{:#}", rename(&path, &nowhere, "a secret").expect_err("no folder"));
        assert!(said.contains("a secret can't be put at"), "{said}");
    }

    #[test]
    fn a_name_alone_is_in_the_folder_where_the_process_is() {
        assert_eq!(folder(Path::new("encryption.key")), Path::new("."));
        assert_eq!(folder(Path::new("keys/encryption.key")), Path::new("keys"));
    }
}
