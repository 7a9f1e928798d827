//! Directories that are never read. They are recognized by device and inode, so neither another
//! spelling of a path nor a bind mount hides them.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mc_privileges::raise_privileges;

use crate::{Error, Identity, Root};

/// Why a directory above the data directory is refused.
const CONTAINS_DATA: &str = "contains the data directory of the service";
/// Directories of the kernel: devices, and the memory and environment of processes.
const KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

/// Directories that are never read, whoever requests it: those of the kernel, and the data
/// directory of the service. That has the encryption key, the local token, and copies of the
/// repositories of every project, with unmasked text.
#[derive(Debug, Clone, Default)]
pub struct ProtectedDirectories {
    data_dir: Option<PathBuf>,
}

/// The protected directories at one moment. A directory that is created in one of them later is
/// protected by its parents.
#[derive(Debug)]
pub struct Snapshot {
    protected: HashSet<Identity>,
    /// Devices of the file systems of the kernel, parts of which may be mounted elsewhere.
    kernel: HashSet<u64>,
    /// The directories that contain the data directory.
    ancestors: HashSet<Identity>,
}

impl ProtectedDirectories {
    /// Protects this data directory, too.
    pub fn with_data_dir(data_dir: &Path) -> Self {
        Self { data_dir: Some(data_dir.to_owned()) }
    }

    /// Rejects a path that is protected, is in a protected directory, or contains the data
    /// directory.
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        self.snapshot()?.check(path)
    }

    /// Lists the protected directories at this moment, to check any number of paths.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let (mut protected, mut ancestors) = (HashSet::new(), HashSet::new());
        for directory in KERNEL {
            protected.extend(identity(Path::new(directory))?);
        }
        // Where they are not mounted, they are on the device of the root directory.
        let root = identity(Path::new("/"))?.map(|root| root.device);
        let devices = protected.iter().map(|each| each.device);
        let kernel = devices.filter(|device| Some(*device) != root).collect();
        if let Some(data_dir) = &self.data_dir {
            let missing = || Error::io(data_dir)(ErrorKind::NotFound.into());
            protected.insert(identity(data_dir)?.ok_or_else(missing)?);
            // Each of its directories may be on another disk, by a link or a mount.
            let _raised = raise_privileges();
            let entries = data_dir.read_dir().into_iter().flatten().flatten();
            protected.extend(entries.filter_map(|entry| identity(&entry.path()).ok().flatten()));
            let real = data_dir.canonicalize().map_err(Error::io(data_dir))?;
            let parents = real.ancestors().skip(1);
            ancestors.extend(parents.filter_map(|each| identity(each).ok().flatten()));
        }
        Ok(Snapshot { protected, kernel, ancestors })
    }
}

impl Snapshot {
    /// Rejects a path as [`ProtectedDirectories::check`] does.
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        self.check_inside(path)?;
        if identity(path)?.is_some_and(|own| self.ancestors.contains(&own)) {
            return Err(refused(path, CONTAINS_DATA));
        }
        Ok(())
    }

    /// Rejects a path that is protected or is in a protected directory.
    pub fn check_inside(&self, path: &Path) -> Result<(), Error> {
        let real = nearest_existing(path)?;
        for directory in real.ancestors() {
            if identity(directory)?.is_some_and(|each| self.contains(each)) {
                return Err(never_read(path));
            }
        }
        Ok(())
    }

    /// Rejects an open directory that is a protected one.
    pub fn check_root(&self, root: &Root) -> Result<(), Error> {
        if self.contains(root.identity()?) { Err(never_read(root.path())) } else { Ok(()) }
    }

    /// Rejects an open directory as [`Self::check`] does, wherever its path leads now.
    pub fn check_open(&self, root: &Root) -> Result<(), Error> {
        let with_parents = root.with_parents()?;
        if with_parents.iter().any(|each| self.contains(*each)) {
            return Err(never_read(root.path()));
        }
        if with_parents.first().is_some_and(|own| self.ancestors.contains(own)) {
            return Err(refused(root.path(), CONTAINS_DATA));
        }
        Ok(())
    }

    /// Returns whether a directory is one of the protected ones.
    pub fn contains(&self, directory: Identity) -> bool {
        self.protected.contains(&directory) || self.kernel.contains(&directory.device)
    }
}

/// Returns the absolute path of a directory without symbolic links.
pub fn resolve(directory: &Path) -> Result<PathBuf, Error> {
    let _raised = raise_privileges();
    let directory = directory.canonicalize().map_err(Error::io(directory))?;
    if directory.is_dir() { Ok(directory) } else { Err(Error::NotADirectory(directory)) }
}

/// Returns the real path, without the components at its end that don't exist. Git tries other names
/// for a repository that does not exist, in the same directory.
fn nearest_existing(path: &Path) -> Result<PathBuf, Error> {
    let _raised = raise_privileges();
    for each in path.ancestors() {
        match each.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            real => return real.map_err(Error::io(path)),
        }
    }
    Ok(PathBuf::from("/"))
}

/// Returns the identity of a path, whose symbolic links are followed; `None` if it does not exist.
fn identity(path: &Path) -> Result<Option<Identity>, Error> {
    let _raised = raise_privileges();
    match path.metadata() {
        Ok(metadata) => Ok(Some(Identity { device: metadata.dev(), inode: metadata.ino() })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
    }
}

fn never_read(path: &Path) -> Error {
    refused(path, "is in the data directory of the service, or in /proc, /sys or /dev")
}

fn refused(path: &Path, reason: &'static str) -> Error {
    Error::Protected { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests;
