//! Unprivileged users, which run programs on untrusted content if the service is root. An attacker
//! who takes over such a program does not get the rights of root.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};
use rustix::process::geteuid;

/// Id of a user, and of its group, that exist only for git.
///
/// It is not `nobody`: the embedded PostgreSQL may run as `nobody`, and other programs of the
/// machine often do. A program that was taken over could then read the files of the database.
/// Debian and systemd assign the ids from 65520 to 65533 to no account. The user namespace of a
/// container often has ids only up to 65535.
const GIT_ID: u32 = 65_527;
/// Id of the user of parsers. Git has network access and no filter of system calls, so it must not
/// be able to signal parsers.
const PARSERS_ID: u32 = 65_526;

/// User that runs a program for a service that is root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnprivilegedUser {
    /// Id of the user.
    pub uid: u32,
    /// Id of its only group.
    pub gid: u32,
}

impl UnprivilegedUser {
    /// User that exists only for git, without an account.
    pub const GIT: Self = Self { uid: GIT_ID, gid: GIT_ID };
    /// User that exists only for parsers, without an account.
    pub const PARSERS: Self = Self { uid: PARSERS_ID, gid: PARSERS_ID };

    /// Returns this user if the service is root. Otherwise the service can't run a program as
    /// another user.
    pub fn if_root(self) -> Option<Self> {
        geteuid().is_root().then_some(self)
    }

    /// Returns the owner of a directory, unless that is root or the service is not root. Its group
    /// is the primary one of the owner's account: the owner may not be in the directory's group.
    pub fn owner_of(directory: &Path) -> io::Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let uid = fs::metadata(directory)?.uid();
        if uid == 0 {
            return Ok(None);
        }
        // A small container may have no list of accounts.
        let account = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        // Root's group may read files of root.
        let gid = account.map(|account| account.gid.as_raw()).filter(|gid| *gid != 0);
        Ok(Some(Self { uid, gid: gid.unwrap_or(GIT_ID) }))
    }

    /// Returns the topmost directory on the path to `path` that this user can't enter, by its
    /// permission bits.
    pub fn first_closed_directory(self, path: &Path) -> Option<PathBuf> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut directories: Vec<&Path> = path.ancestors().collect();
        directories.reverse();
        let is_closed =
            |path: &&Path| fs::metadata(path).is_ok_and(|directory| !self.can_enter(&directory));
        directories.into_iter().find(is_closed).map(Path::to_owned)
    }

    fn can_enter(self, directory: &Metadata) -> bool {
        let execute = if directory.uid() == self.uid {
            0o100
        } else if directory.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        directory.mode() & execute != 0
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

    #[test]
    fn topmost_closed_directory_is_found() {
        let root = tempfile::tempdir().expect("a directory");
        let [outer, inner] = ["outer", "outer/inner"].map(|name| root.path().join(name));
        fs::create_dir_all(&inner).expect("a directory");
        let set_modes = |modes: [u32; 3]| {
            for (path, mode) in [root.path(), &outer, &inner].into_iter().zip(modes) {
                fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
            }
        };
        let stranger = UnprivilegedUser::GIT;
        let closed = |modes| {
            set_modes(modes);
            stranger.first_closed_directory(&inner)
        };
        // The machine may keep its temporary files in a closed directory.
        let outside = stranger.first_closed_directory(root.path().parent().expect("a directory"));
        let real = |path: &Path| {
            outside.clone().or_else(|| Some(fs::canonicalize(path).expect("a directory")))
        };
        assert_eq!(closed([0o711, 0o711, 0o711]), outside);
        assert_eq!(closed([0o711, 0o711, 0o744]), real(&inner));
        assert_eq!(closed([0o711, 0o710, 0o700]), real(&outer));
        assert_eq!(closed([0o700, 0o711, 0o711]), real(root.path()));
    }

    #[test]
    fn owner_of_a_directory_is_used_only_by_root() {
        let directory = tempfile::tempdir().expect("a directory");
        let owner = || UnprivilegedUser::owner_of(directory.path()).expect("a directory");
        assert_eq!(owner(), None, "the service's own user");
        let own = geteuid().is_root().then_some(UnprivilegedUser::GIT);
        assert_eq!(UnprivilegedUser::GIT.if_root(), own);
    }

    /// The owner may be in no other group than the primary one of the account.
    #[test]
    fn owner_does_not_get_the_group_of_the_directory() {
        if !mc_testkit::runs_as_root("only root can give a directory to another user") {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let owner_with_group = |uid, group| {
            chown(directory.path(), Some(uid), Some(group)).expect("a new owner");
            UnprivilegedUser::owner_of(directory.path()).expect("a directory")
        };
        for group in [0, 54_322] {
            let without_account = Some(UnprivilegedUser { uid: 54_321, gid: GIT_ID });
            assert_eq!(owner_with_group(54_321, group), without_account);
            let Some(account) = User::from_name("nobody").expect("a list of accounts") else {
                continue;
            };
            let (uid, gid) = (account.uid.as_raw(), account.gid.as_raw());
            assert_eq!(owner_with_group(uid, group), Some(UnprivilegedUser { uid, gid }));
        }
        assert_eq!(owner_with_group(0, 54_322), None);
    }
}
