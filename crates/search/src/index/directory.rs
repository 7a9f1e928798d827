//! Directory of the index: the current generation, named by a file, and one that is being built.
//!
//! ```text
//! lock          locked while a process uses this index
//! current       name of the current generation
//! <generation>/ files of tantivy
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;

const LOCK: &str = "lock";
const CURRENT: &str = "current";

/// Index directory, locked against other processes until dropped.
#[derive(Debug)]
pub struct IndexDirectory {
    root: PathBuf,
    _lock: File,
}

impl IndexDirectory {
    /// Creates the directory if it is missing, and locks it.
    pub fn open(root: &Path) -> Result<Self, Error> {
        fs::create_dir_all(root)?;
        let lock = File::create(root.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::IndexInUse(root.to_owned())),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Returns the current generation, if one was completed.
    pub fn current(&self) -> Option<PathBuf> {
        let name = fs::read_to_string(self.root.join(CURRENT)).ok()?;
        // Parsed, so that a manipulated name cannot lead out of the directory.
        let id = uuid::Uuid::parse_str(name.trim()).ok()?;
        Some(self.root.join(id.to_string()))
    }

    /// Returns whether the disk of the directory has no space for another segment.
    pub fn is_disk_full(&self) -> bool {
        mc_store::disk::is_full(&self.root)
    }

    /// Creates an empty directory for a new generation.
    pub fn create_generation(&self) -> Result<PathBuf, Error> {
        let path = self.root.join(uuid::Uuid::now_v7().to_string());
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Makes `generation` the current one atomically, and deletes the others.
    pub fn switch_to(&self, generation: &Path) -> Result<(), Error> {
        let name = generation.file_name().unwrap_or_default();
        let draft = self.root.join("current.new");
        let mut file = File::create(&draft)?;
        file.write_all(name.as_encoded_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, self.root.join(CURRENT))?;
        File::open(&self.root)?.sync_all()?;
        self.delete_unused();
        Ok(())
    }

    /// Deletes generations that are not current: old and incomplete ones.
    pub fn delete_unused(&self) {
        let current = self.current();
        let is_old = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            uuid::Uuid::parse_str(name).is_ok() && Some(path) != current.as_ref()
        };
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) => return log_undeleted(&self.root, &error),
        };
        for path in entries.flatten().map(|entry| entry.path()).filter(is_old) {
            if let Err(error) = fs::remove_dir_all(&path) {
                log_undeleted(&path, &error);
            }
        }
    }
}

/// Logs an old generation that could not be deleted; it only uses disk space.
fn log_undeleted(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "deleting an old keyword index failed");
}
