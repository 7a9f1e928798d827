//! The operating system user that runs the server. PostgreSQL does not run as root, so a service
//! that is root runs it as an unprivileged user.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use mc_privileges::{UnprivilegedUser, is_root};
use nix::unistd::{Uid, User};
use tokio::process::Command;

use super::{EmbeddedError, Result};

/// Default users; the first that exists is used.
const DEFAULT_USERS: [&str; 2] = ["postgres", "nobody"];

/// A user that runs the server instead of root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerUser {
    pub name: String,
    uid: u32,
    gid: u32,
}

impl ServerUser {
    /// Returns the user to run `cluster`'s server as: the configured one, the owner of an existing
    /// cluster, or a default. Returns `None` if the service is not root and runs the server itself.
    pub fn choose(configured: Option<&str>, cluster: &Path) -> Result<Option<Self>> {
        if !is_root() {
            return Ok(None);
        }
        if let Some(name) = configured {
            let user = Self::find_by_name(name)?;
            return user.map(Some).ok_or_else(|| EmbeddedError::UnknownUser(name.to_owned()));
        }
        if let Some(owner) = Self::owner_of(cluster) {
            return Ok(Some(owner));
        }
        for name in DEFAULT_USERS {
            if let Some(user) = Self::find_by_name(name)? {
                return Ok(Some(user));
            }
        }
        Err(EmbeddedError::UnknownUser(DEFAULT_USERS.join("\" or \"")))
    }

    fn find_by_name(name: &str) -> Result<Option<Self>> {
        let user = User::from_name(name).map_err(|error| {
            EmbeddedError::io("look up users in", Path::new("/etc/passwd"))(error.into())
        })?;
        Ok(user.map(Self::from))
    }

    fn owner_of(cluster: &Path) -> Option<Self> {
        let uid = fs::metadata(cluster).ok()?.uid();
        if uid == 0 {
            return None;
        }
        User::from_uid(Uid::from_raw(uid)).ok().flatten().map(Self::from)
    }

    /// Sets the user and group of `command`, and drops root's groups.
    pub fn apply_to(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Makes this user the owner of a directory and its content, unless it owns the directory.
    pub fn take_ownership(&self, directory: &Path) -> Result<()> {
        let owner = fs::metadata(directory).map_err(EmbeddedError::io("read", directory))?.uid();
        if owner == self.uid { Ok(()) } else { self.chown_recursively(directory) }
    }

    fn chown_recursively(&self, path: &Path) -> Result<()> {
        let kind = fs::symlink_metadata(path).map_err(EmbeddedError::io("read", path))?;
        if kind.is_dir() {
            for entry in fs::read_dir(path).map_err(EmbeddedError::io("list", path))? {
                self.chown_recursively(&entry.map_err(EmbeddedError::io("list", path))?.path())?;
            }
        }
        if kind.is_symlink() {
            return Ok(());
        }
        // A directory is changed after its content: if this is interrupted, the next start repeats
        // it.
        chown(path, Some(self.uid), Some(self.gid))
            .map_err(EmbeddedError::io("change the owner of", path))
    }

    /// Returns the topmost parent directory of `path` that this user can't enter.
    pub fn first_closed_parent(&self, path: &Path) -> Option<PathBuf> {
        let user = UnprivilegedUser { uid: self.uid, gid: self.gid };
        user.first_closed_directory(path.parent()?)
    }
}

impl From<User> for ServerUser {
    fn from(user: User) -> Self {
        Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }
    }
}
