//! The folder that holds the index: one generation in use, named by a file, and one being built.
//!
//! ```text
//! lock          held while a process follows with this index
//! current       name of the generation in use
//! <generation>/ tantivy's files
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;

const LOCK: &str = "lock";
const CURRENT: &str = "current";

/// The folder, locked against other processes until dropped.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder where it is missing and takes its lock.
    pub fn open(root: &Path) -> Result<Self, Error> {
        fs::create_dir_all(root)?;
        let lock = File::create(root.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::IndexInUse(root.to_owned())),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// The generation in use, if one was completed.
    pub fn current(&self) -> Option<PathBuf> {
        let name = fs::read_to_string(self.root.join(CURRENT)).ok()?;
        // The name is our own; one that leads out of the folder was not written by us.
        let plain = uuid::Uuid::parse_str(name.trim()).ok()?;
        Some(self.root.join(plain.to_string()))
    }

    /// An empty folder for a new generation.
    pub fn fresh(&self) -> Result<PathBuf, Error> {
        let path = self.root.join(uuid::Uuid::now_v7().to_string());
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Makes `generation` the one in use, in one step, and deletes the others.
    pub fn switch_to(&self, generation: &Path) -> Result<(), Error> {
        let name = generation.file_name().unwrap_or_default();
        let draft = self.root.join("current.new");
        let mut file = File::create(&draft)?;
        file.write_all(name.as_encoded_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, self.root.join(CURRENT))?;
        File::open(&self.root)?.sync_all()?;
        self.sweep();
        Ok(())
    }

    /// Deletes generations that are not in use: old ones, and what was left half built.
    pub fn sweep(&self) {
        let current = self.current();
        let is_old = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            uuid::Uuid::parse_str(name).is_ok() && Some(path) != current.as_ref()
        };
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) => return log_unswept(&self.root, &error),
        };
        for path in entries.flatten().map(|entry| entry.path()).filter(is_old) {
            if let Err(error) = fs::remove_dir_all(&path) {
                log_unswept(&path, &error);
            }
        }
    }
}

/// Left-overs cost room and nothing else.
fn log_unswept(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "an old keyword index could not be deleted");
}
