//! Unprivileged users, which run programs on untrusted content if the service is root. An attacker
//! who takes over such a program does not get the rights of root.

use std::fs::{self, Metadata};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid, User, setfsgid, setfsuid};
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::set_thread_groups;

/// Id of a user, and of its group, that exist only for git.
///
/// It is not `nobody`: the embedded PostgreSQL may run as `nobody`, and other programs of the
/// machine often do. A program that was taken over could then read the files of the database.
/// Debian and systemd assign the ids from 65520 to 65533 to no account. The user namespace of a
/// container often has ids only up to 65535.
const GIT_ID: u32 = 65_527;
/// Id of the user of git for ssh and `file:` URLs.
const PRIVATE_GIT_ID: u32 = 65_528;
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
    /// User that exists only for git, for repositories that not every caller may request.
    pub const PRIVATE_GIT: Self = Self { uid: PRIVATE_GIT_ID, gid: PRIVATE_GIT_ID };
    /// User that exists only for parsers, without an account.
    pub const PARSERS: Self = Self { uid: PARSERS_ID, gid: PARSERS_ID };

    /// Returns this user if the service is root. Otherwise the service can't run a program as
    /// another user.
    pub fn if_root(self) -> Option<Self> {
        geteuid().is_root().then_some(self)
    }

    /// Returns the user that runs git on the repository at an absolute path: the owner of the path.
    /// If that is root, the owner of the innermost directory around it, or of a link that leads to
    /// it, that is not root's. If other users can write to one of these, [`Self::PRIVATE_GIT`].
    /// `None` if only root can change what is found at the path, or the service is not root.
    pub fn reader_of(path: &Path) -> io::Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let real = fs::canonicalize(path)?;
        let mut is_of_root_only = true;
        for part in real.ancestors().chain(path.ancestors()) {
            let found = fs::symlink_metadata(part)?;
            if let Some(owner) = Self::of_owner(found.uid()) {
                return Ok(Some(owner));
            }
            is_of_root_only &= !is_open_to_others(&found, part == real);
        }
        Ok(if is_of_root_only { None } else { Some(Self::PRIVATE_GIT) })
    }

    /// Returns the owner of a directory by id, unless that is root or the service is not root. Its
    /// group is the primary one of the owner's account: the owner may not be in the directory's
    /// group.
    pub fn of_owner(uid: u32) -> Option<Self> {
        if uid == 0 || !geteuid().is_root() {
            return None;
        }
        // A small container may have no list of accounts.
        let account = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        // Root's group may read files of root.
        let gid = account.map(|account| account.gid.as_raw()).filter(|gid| *gid != 0);
        Some(Self { uid, gid: gid.unwrap_or(GIT_ID) })
    }

    /// Gives the current thread the access to files that this user has, until the result is
    /// dropped: the thread is in no other group, and the kernel takes root's capabilities for files
    /// from it. A thread that is created meanwhile keeps this access.
    ///
    /// It protects against files that lead elsewhere, not against code that takes over the thread.
    /// The first call makes the kernel refuse core dumps of the process.
    pub fn access_files(self) -> io::Result<FileAccess> {
        let access = FileAccess { groups: getgroups()?, of_this_thread: PhantomData };
        set_thread_groups(&[])?;
        // Both return the former id, also if they change nothing.
        setfsgid(Gid::from_raw(self.gid));
        setfsuid(Uid::from_raw(self.uid));
        let current = (current_fsuid().as_raw(), current_fsgid().as_raw());
        // Otherwise, `access` restores the ids.
        if current == (self.uid, self.gid) {
            Ok(access)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
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

/// Returns whether others than root can change what is found at a path by changing this part of it.
fn is_open_to_others(part: &Metadata, is_end: bool) -> bool {
    let of_others = if part.gid() == 0 { 0o002 } else { 0o022 };
    // In a directory like `/tmp`, nobody can replace the files of root.
    let is_sticky = !is_end && part.mode() & 0o1000 != 0;
    !part.is_symlink() && part.mode() & of_others != 0 && !is_sticky
}

/// A thread's access to files as another user; see [`UnprivilegedUser::access_files`].
#[derive(Debug)]
#[must_use]
pub struct FileAccess {
    /// Groups of the thread before.
    groups: Vec<rustix::process::Gid>,
    /// It restores the ids of the thread that drops it, so it must stay on its thread.
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for FileAccess {
    fn drop(&mut self) {
        setfsuid(Uid::from_raw(geteuid().as_raw()));
        setfsgid(Gid::from_raw(getegid().as_raw()));
        // It succeeded before. Otherwise, the thread has fewer rights than before.
        let _ = set_thread_groups(&self.groups);
    }
}

/// An invalid id changes nothing.
fn current_fsuid() -> Uid {
    setfsuid(Uid::from_raw(u32::MAX))
}

fn current_fsgid() -> Gid {
    setfsgid(Gid::from_raw(u32::MAX))
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
        let reader = || UnprivilegedUser::reader_of(directory.path()).expect("a directory");
        assert_eq!(reader(), None, "the service's own user");
        let own = geteuid().is_root().then_some(UnprivilegedUser::GIT);
        assert_eq!(UnprivilegedUser::GIT.if_root(), own);
    }

    /// Root reads only what nobody else can replace.
    #[test]
    fn reader_is_who_can_change_what_is_read() {
        if !mc_testkit::runs_as_root("only root can give a directory to another user") {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let [outer, inner] = ["outer", "outer/inner"].map(|name| directory.path().join(name));
        fs::create_dir_all(&inner).expect("a directory");
        let reader = |path: &Path| UnprivilegedUser::reader_of(path).expect("a path");
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
        };
        assert_eq!(reader(&inner), None);
        for (mode, is_safe) in [(0o777, false), (0o1777, true), (0o755, true)] {
            set_mode(&outer, mode);
            assert_eq!(reader(&inner).is_none(), is_safe, "{mode:o}");
        }
        set_mode(&inner, 0o1777);
        assert_eq!(reader(&inner), Some(UnprivilegedUser::PRIVATE_GIT));
        set_mode(&inner, 0o755);

        let alice = Some(UnprivilegedUser { uid: 54_321, gid: GIT_ID });
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&inner, &link).expect("a link");
        assert_eq!(reader(&link), None);
        std::os::unix::fs::lchown(&link, Some(54_321), None).expect("a new owner");
        assert_eq!(reader(&link), alice);
        chown(&outer, Some(54_321), None).expect("a new owner");
        assert_eq!(reader(&inner), alice);
        let missing = UnprivilegedUser::reader_of(&directory.path().join("none"));
        assert_eq!(missing.expect_err("no path").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn thread_reads_files_as_another_user_until_its_access_ends() {
        if !mc_testkit::runs_as_root("only root can read files as another user") {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).expect("permissions");
        let files = [("open", 0o644), ("of-group", 0o640), ("private", 0o600)];
        for (name, mode) in files {
            let path = directory.path().join(name);
            fs::write(&path, "text").expect("a file");
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("permissions");
        }
        // The machine may keep its temporary files in a closed directory.
        let opened = fs::File::open(&directory).expect("a directory");
        let readable = || {
            let flags = rustix::fs::OFlags::RDONLY;
            let mode = rustix::fs::Mode::empty();
            files.map(|(name, _)| rustix::fs::openat(&opened, name, flags, mode).is_ok())
        };
        // Only this thread is in the group.
        set_thread_groups(&[rustix::process::Gid::ROOT]).expect("a group");
        let access = UnprivilegedUser::GIT.access_files().expect("access");
        assert_eq!(readable(), [true, false, false]);
        drop(access);
        assert_eq!(readable(), [true; 3]);
        let ids = (current_fsuid().as_raw(), current_fsgid().as_raw());
        assert_eq!(ids, (0, getegid().as_raw()));
        assert_eq!(getgroups(), Ok(vec![rustix::process::Gid::ROOT]));
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
            UnprivilegedUser::reader_of(directory.path()).expect("a directory")
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
