//! The folder of the service's state: private, and one process's at a time.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, set_permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Held as long as the value lives; the system lets go of it when the process ends, however it does.
#[derive(Debug)]
pub struct Held {
    _lock: File,
}

/// Makes the folder. Private to the service; root's must be passable, since the database runs as another user.
pub fn make(dir: &Path) -> Result<()> {
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        .and_then(|()| set_permissions(dir, Permissions::from_mode(mode)))
        .with_context(|| format!("data_dir {} can't be made; set another", dir.display()))
}

/// Keeps other processes of this program out: two would take each other's work for their own, as what they left
/// when they ended.
pub fn hold(dir: &Path) -> Result<Held> {
    let path = dir.join("lock");
    let mut options = OpenOptions::new();
    let opened =
        options.create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
    let mut lock = opened.with_context(|| format!("{} can't be opened", path.display()))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            lock.set_len(0)?;
            write!(lock, "{}", std::process::id())?;
            Ok(Held { _lock: lock })
        }
        Err(Errno::WOULDBLOCK) => {
            let mut process = String::new();
            lock.read_to_string(&mut process)?;
            bail!(
                "another memory-copilot (process {process}) uses data_dir {}; stop it, or set another data_dir \
                 for this one",
                dir.display()
            )
        }
        Err(error) => Err(error).with_context(|| format!("{} can't be locked", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_process_s_at_a_time() {
        let root = tempfile::tempdir().expect("a folder");
        let dir = root.path().join("data");
        make(&dir).expect("made");
        let held = hold(&dir).expect("free");
        let said = hold(&dir).expect_err("taken").to_string();
        let process = format!("(process {})", std::process::id());
        assert!(said.contains(&process) && said.contains("set another data_dir"), "{said}");
        drop(held);
        hold(&dir).expect("free again");
    }
}
