//! The lock of a data directory. The kernel releases it when the process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use super::{EmbeddedError, Result};

/// A lock on a data directory, released on drop.
#[derive(Debug)]
pub struct DataDirLock(#[expect(dead_code, reason = "an open file is a held lock")] File);

impl DataDirLock {
    /// Locks the directory; [`EmbeddedError::Locked`] with the holder's process id if another
    /// process has locked it.
    pub fn acquire(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(&path)
            .and_then(only_name)
            .map_err(EmbeddedError::io("open", &path))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let (data_dir, pid) = (data_dir.to_owned(), holder(&mut file));
                EmbeddedError::Locked { data_dir, pid }
            }
            TryLockError::Error(error) => EmbeddedError::io("lock", &path)(error),
        })?;
        file.set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(EmbeddedError::io("write", &path))?;
        Ok(Self(file))
    }
}

/// Rejects a file that has another name: the owner of the directory could lead root to it.
fn only_name(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    if found.is_file() && found.nlink() == 1 {
        return Ok(file);
    }
    Err(io::Error::other("it is not a file with one name; delete it"))
}

/// Reads the process id that the holder wrote into the lock file.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.is_empty() => text,
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn data_dir_lock_has_one_holder_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let held = DataDirLock::acquire(dir.path()).expect("free");
        let message = DataDirLock::acquire(dir.path()).expect_err("taken").to_string();
        let process = format!("(process {})", std::process::id());
        assert!(
            message.contains(&process) && message.contains("directory of its own"),
            "{message}"
        );
        drop(held);
        DataDirLock::acquire(dir.path()).expect("free again");
    }

    #[test]
    fn lock_is_not_written_through_a_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let (lock, other) = (dir.path().join("lock"), dir.path().join("other"));
        fs::write(&other, "text").expect("a file");
        symlink(&other, &lock).expect("a link");
        DataDirLock::acquire(dir.path()).expect_err("a link");
        fs::remove_file(&lock).expect("a link");
        fs::hard_link(&other, &lock).expect("a link");
        DataDirLock::acquire(dir.path()).expect_err("a file with two names");
        assert_eq!(fs::read_to_string(&other).expect("a file"), "text");
    }
}
