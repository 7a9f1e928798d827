//! A copy of a workspace's tree, in which changes are tried.
//!
//! It is in the directory of the workspace, beside the tree, and has no directory of git: a command
//! that changes it changes neither the workspace nor what git does.

use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use mc_files::{CopyLimits, Root, is_name_of_git, place_apart};
use mc_privileges::UnprivilegedUser;
use mc_sandbox::{Access, Directory};
use uuid::Uuid;

use crate::fetch::{create_directory, delete_directory};
use crate::open::OpenWorkspace;
use crate::path::display;
use crate::{Error, ServiceError, Settings};

/// Start of the names of copies.
const PREFIX: &str = "copy-";
/// Limits of a copy, but for its size.
const LIMITS: CopyLimits = CopyLimits { entries: 400_000, bytes: 0, time: Duration::from_mins(1) };

/// Start of the names of this process's copies. Those of earlier processes are left over.
static OWN: LazyLock<String> = LazyLock::new(|| format!("{PREFIX}{}-", Uuid::new_v4().simple()));

/// A copy of a tree. Dropping it deletes it with everything that commands have written there.
#[derive(Debug)]
pub struct TreeCopy {
    root: Root,
    path: PathBuf,
    /// Directory around the copy, if it was created for it: that of a registered directory.
    around: Option<PathBuf>,
}

impl TreeCopy {
    /// Copies the tree of a workspace, with at most `bytes` in all files. Nobody else may change
    /// the tree meanwhile. Blocks the thread.
    pub fn create(
        settings: &Settings,
        open: &OpenWorkspace,
        bytes: u64,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<Self, ServiceError> {
        let around = settings.directory_of(open.workspace.id);
        let path = around.join(format!("{}{}", *OWN, Uuid::new_v4().simple()));
        let is_of_clone = open.work_tree.is_of_clone();
        if !is_of_clone {
            let failed = |error| ServiceError::Directory { path: display_of(&around), error };
            create_directory(&around).map_err(failed)?;
        }
        place_apart(&around);
        let root = open.work_tree.create_directory(&path)?;
        let copy = Self { root, path, around: (!is_of_clone).then_some(around) };
        let tree = open.work_tree.root()?;
        let is_left_out = |name: &OsStr| name.to_str().is_some_and(is_name_of_git);
        tree.copy_to(&copy.root, CopyLimits { bytes, ..LIMITS }, is_left_out, is_cancelled)
            .map_err(ServiceError::NotCopied)?;
        Ok(copy)
    }

    /// Returns the top directory of the copy.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the user to whom the files belong; `None` for the service's own.
    pub fn user(&self) -> Option<UnprivilegedUser> {
        self.root.user()
    }

    /// Returns the copy as the directory of a command, at the path of the workspace.
    pub fn directory(&self) -> Result<Directory, Error> {
        let handle = self.root.as_fd().try_clone_to_owned();
        let handle = handle.map_err(|error| Error::at("")(error.into()))?;
        Ok(Directory::from_handle(handle, display(""), Access::Writable))
    }
}

impl Drop for TreeCopy {
    fn drop(&mut self) {
        if let Err(error) = delete_directory(&self.path) {
            let path = display_of(&self.path);
            tracing::warn!(path, %error, "a copy is left to the collector");
        }
        if let Some(around) = &self.around {
            // Another copy may be in it.
            let _ = std::fs::remove_dir(around);
        }
    }
}

/// Deletes the copies of earlier processes from the directory of a workspace.
pub(crate) fn delete_left(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_left = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && !name.starts_with(OWN.as_str()));
        if !is_left {
            continue;
        }
        if let Err(error) = delete_directory(&entry.path()) {
            let path = display_of(&entry.path());
            tracing::warn!(path, %error, "a copy could not be deleted");
        }
    }
}

fn display_of(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_copies_of_earlier_processes_are_deleted() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = format!("{}1", *OWN);
        let kept = ["tree", "git", own.as_str()];
        for name in kept.iter().chain(&["copy-1-2"]) {
            fs::create_dir_all(directory.path().join(name).join("below")).expect("a directory");
        }
        delete_left(directory.path());
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .expect("entries")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        assert_eq!(names, [own.as_str(), "git", "tree"]);
    }
}
