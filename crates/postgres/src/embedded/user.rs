//! Who runs the server. PostgreSQL refuses root, so root hands it to a user without privileges.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};
use tokio::process::Command;

use super::EmbeddedError;

/// Users to fall back on, the first that exists.
const DEFAULTS: [&str; 2] = ["postgres", "nobody"];

/// The user that runs the server in place of root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerUser {
    pub name: String,
    uid: u32,
    gid: u32,
}

impl ServerUser {
    /// The user to run `cluster`'s server: none when the service is not root and runs it itself;
    /// else the configured one, the owner of an existing cluster, or a default.
    pub fn choose(configured: Option<&str>, cluster: &Path) -> Result<Option<Self>, EmbeddedError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        if let Some(name) = configured {
            let user = Self::find_by_name(name)?;
            return user.map(Some).ok_or_else(|| EmbeddedError::UnknownUser(name.to_owned()));
        }
        if let Some(owner) = Self::owner_of(cluster) {
            return Ok(Some(owner));
        }
        for name in DEFAULTS {
            if let Some(user) = Self::find_by_name(name)? {
                return Ok(Some(user));
            }
        }
        Err(EmbeddedError::UnknownUser(DEFAULTS.join("\" or \"")))
    }

    fn find_by_name(name: &str) -> Result<Option<Self>, EmbeddedError> {
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

    /// Makes `command` run as this user, without root's groups.
    pub fn run(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives a folder and what is in it to this user, unless the folder is its own already.
    pub fn own(&self, folder: &Path) -> Result<(), EmbeddedError> {
        let owner = fs::metadata(folder).map_err(EmbeddedError::io("read", folder))?.uid();
        if owner == self.uid { Ok(()) } else { self.own_all(folder) }
    }

    fn own_all(&self, path: &Path) -> Result<(), EmbeddedError> {
        let kind = fs::symlink_metadata(path).map_err(EmbeddedError::io("read", path))?;
        if kind.is_dir() {
            for entry in fs::read_dir(path).map_err(EmbeddedError::io("list", path))? {
                self.own_all(&entry.map_err(EmbeddedError::io("list", path))?.path())?;
            }
        }
        if kind.is_symlink() {
            return Ok(());
        }
        // The folder itself last: an interrupted run then starts over.
        chown(path, Some(self.uid), Some(self.gid)).map_err(EmbeddedError::io("give away", path))
    }

    /// The first folder above `path` that doesn't let this user through, if any.
    pub fn closed_on_the_way_to(&self, path: &Path) -> Option<PathBuf> {
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.reverse();
        parents
            .into_iter()
            .find(|dir| fs::metadata(dir).is_ok_and(|folder| !self.may_enter(&folder)))
            .map(Path::to_owned)
    }

    fn may_enter(&self, folder: &Metadata) -> bool {
        let execute = if folder.uid() == self.uid {
            0o100
        } else if folder.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        folder.mode() & execute != 0
    }
}

impl From<User> for ServerUser {
    fn from(user: User) -> Self {
        Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }
    }
}
