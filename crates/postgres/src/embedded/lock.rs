//! The lock of a data directory. The kernel releases it when the process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
            .open(&path)
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
}
