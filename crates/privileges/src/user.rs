//! Unprivileged users, which work on untrusted content if the service is root. An attacker who
//! takes over such a program does not get the rights of root.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::iter;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Gid, Uid, User, setfsgid, setfsuid};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::set_thread_groups;

use crate::privileges::{RaisedPrivileges, is_root, raise_privileges};

/// Id of a user, and of its group, that exist only for git.
///
/// It is not `nobody`: the embedded PostgreSQL may run as `nobody`, and other programs of the
/// machine often do. A program that was taken over could then read the files of the database.
/// Debian and systemd assign the ids from 65520 to 65533 to no account. The user namespace of a
/// container often has ids only up to 65535.
const GIT_ID: u32 = 65_527;
/// Id of the user of git for ssh and `file:` URLs.
const PRIVATE_GIT_ID: u32 = 65_528;
/// Id of the user of git for repositories that several users of the machine can change.
const SHARED_GIT_ID: u32 = 65_529;
/// Id of the user of parsers. Git has network access and no filter of system calls, so it must not
/// be able to signal parsers.
const PARSERS_ID: u32 = 65_526;

/// Id of the user as which the service itself works.
const SERVICE_ID: u32 = 65_525;

/// Maximum number of links on the way to a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// User that works for a service that is root.
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
    /// User that exists only for git, for the copies of ssh and `file:` URLs. Only callers with the
    /// scope `ingest:local` can request these.
    pub const PRIVATE_GIT: Self = Self { uid: PRIVATE_GIT_ID, gid: PRIVATE_GIT_ID };
    /// User that exists only for git, for repositories on this disk that several users can change.
    pub const SHARED_GIT: Self = Self { uid: SHARED_GIT_ID, gid: SHARED_GIT_ID };
    /// User that exists only for parsers, without an account.
    pub const PARSERS: Self = Self { uid: PARSERS_ID, gid: PARSERS_ID };
    /// User as which the threads of a service that is root work.
    pub const SERVICE: Self = Self { uid: SERVICE_ID, gid: SERVICE_ID };
    /// Root, without capabilities: for files that belong to root.
    const ROOT: Self = Self { uid: 0, gid: 0 };

    /// Returns this user if the service is root. Otherwise the service can't run a program as
    /// another user.
    pub fn if_root(self) -> Option<Self> {
        is_root().then_some(self)
    }

    /// Returns the user that runs git on the repository at an absolute path, and the path without
    /// symbolic links. The user can change the repository, and so could attack the git that reads
    /// it.
    ///
    /// It is the owner of the path. If that is root, it is the owner of the last directory or link
    /// on the way to it that does not belong to root. If other users can write to a directory on
    /// the way, it is [`Self::SHARED_GIT`]. It is `None` if only root can change what the path
    /// leads to, or the service is not root.
    pub fn reader_of(path: &Path) -> io::Result<(PathBuf, Option<Self>)> {
        let _raised = raise_privileges();
        let (real, way) = resolve(path)?;
        let end = fs::symlink_metadata(&real)?;
        if !is_root() {
            return Ok((real, None));
        }
        let mut from_the_end = iter::once(&end).chain(way.iter().rev());
        let owner = from_the_end.find_map(|part| Self::of_owner(part.uid()));
        let is_open =
            is_open_to_others(&end, true) || way.iter().any(|part| is_open_to_others(part, false));
        Ok((real, owner.or_else(|| is_open.then_some(Self::SHARED_GIT))))
    }

    /// Returns the user with whose rights files of `owner` are read; `None` if the service is not
    /// root. Files of root (`None`) are read as root, but without capabilities.
    pub fn for_files(owner: Option<Self>) -> Option<Self> {
        is_root().then(|| owner.unwrap_or(Self::ROOT))
    }

    /// Returns the owner of a directory by id, unless that is root or the service is not root. Its
    /// group is the primary one of the owner's account, or that of [`Self::SHARED_GIT`]: the owner
    /// may not be in the directory's group.
    pub fn of_owner(uid: u32) -> Option<Self> {
        if uid == 0 || !is_root() {
            return None;
        }
        // A small container may have no list of accounts.
        let account = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        // Root's group may read files of root.
        let gid = account.map(|account| account.gid.as_raw()).filter(|gid| *gid != 0);
        Some(Self { uid, gid: gid.unwrap_or(SHARED_GIT_ID) })
    }

    /// Gives the current thread the access to files that this user has, until the result is
    /// dropped: the thread is in no other group, and has no capabilities. A thread that is created
    /// meanwhile keeps this access.
    ///
    /// It protects against files that lead elsewhere, not against code that takes over the thread.
    /// The first call makes the kernel refuse core dumps of the process.
    pub fn access_files(self) -> io::Result<FileAccess> {
        let access = FileAccess { groups: getgroups()?, raised: raise_privileges() };
        set_thread_groups(&[])?;
        // Both return the former id, also if they change nothing.
        setfsgid(Gid::from_raw(self.gid));
        setfsuid(Uid::from_raw(self.uid));
        let current = (current_fsuid().as_raw(), current_fsgid().as_raw());
        // Otherwise, `access` restores the ids.
        if current == (self.uid, self.gid) {
            access.raised.lower_capabilities()?;
            Ok(access)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    /// Returns the topmost directory on the path to `path` that this user can't enter, by its
    /// permission bits.
    pub fn first_closed_directory(self, path: &Path) -> Option<PathBuf> {
        let _raised = raise_privileges();
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

/// Returns an absolute path without links, and the directories and links through which it leads.
fn resolve(path: &Path) -> io::Result<(PathBuf, Vec<Metadata>)> {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        let parts =
            parts.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    // The next part is the last one.
    let (mut left, mut links) = (parts(path), 0);
    let mut current = PathBuf::from("/");
    let mut way = vec![fs::symlink_metadata(&current)?];
    while let Some(part) = left.pop() {
        if part == ".." {
            current.pop();
            continue;
        }
        let next = current.join(part);
        let found = fs::symlink_metadata(&next)?;
        if found.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = fs::read_link(&next)?;
            left.extend(parts(&target));
            if target.is_absolute() {
                current = PathBuf::from("/");
            }
        } else {
            current = next;
        }
        way.push(found);
    }
    Ok((current, way))
}

/// Returns whether users other than root can replace or add entries of this directory.
fn is_open_to_others(directory: &Metadata, is_end: bool) -> bool {
    // In a directory like `/tmp`, only root can replace the files of root.
    let is_sticky = !is_end && directory.mode() & 0o1000 != 0;
    !directory.is_symlink() && directory.mode() & 0o022 != 0 && !is_sticky
}

/// A thread's access to files as another user; see [`UnprivilegedUser::access_files`].
#[derive(Debug)]
#[must_use]
pub struct FileAccess {
    /// Groups of the thread before.
    groups: Vec<rustix::process::Gid>,
    /// Dropped after the ids are restored: the kernel makes capabilities for files effective when
    /// the id becomes root's.
    raised: RaisedPrivileges,
}

impl Drop for FileAccess {
    fn drop(&mut self) {
        self.raised.raise_again();
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
    use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};

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
        let (real, reader) = UnprivilegedUser::reader_of(directory.path()).expect("a directory");
        assert_eq!(reader, None, "the service's own user");
        assert_eq!(real, fs::canonicalize(&directory).expect("a directory"));
        let own = geteuid().is_root().then_some(UnprivilegedUser::GIT);
        assert_eq!(UnprivilegedUser::GIT.if_root(), own);
    }

    #[test]
    fn root_reads_only_what_no_other_user_can_change() {
        if !mc_testkit::runs_as_root("only root can give a directory to another user") {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(&directory).expect("a directory");
        let [outer, inner] = ["outer", "outer/inner"].map(|name| root.join(name));
        fs::create_dir_all(&inner).expect("a directory");
        let reader = |path: &Path| {
            let (real, user) = UnprivilegedUser::reader_of(path).expect("a path");
            assert_eq!(real, inner, "{}", path.display());
            user
        };
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
        };
        let shared = Some(UnprivilegedUser::SHARED_GIT);
        for (mode, expected) in [(0o777, shared), (0o775, shared), (0o1777, None), (0o755, None)] {
            set_mode(&outer, mode);
            assert_eq!(reader(&inner), expected, "{mode:o}");
        }
        set_mode(&inner, 0o1777);
        assert_eq!(reader(&inner), shared);
        set_mode(&inner, 0o755);

        // A link of root leads to a link of another user, which leads to a directory of root.
        let alice = Some(UnprivilegedUser { uid: 54_321, gid: SHARED_GIT_ID });
        let [link, second, home] = ["link", "home/second", "home"].map(|name| root.join(name));
        fs::create_dir(&home).expect("a directory");
        symlink("../outer/./inner", &second).expect("a link");
        symlink(&second, &link).expect("a link");
        assert_eq!((reader(&link), reader(&home.join("../link"))), (None, None));
        lchown(&second, Some(54_321), None).expect("a new owner");
        assert_eq!(reader(&link), alice);
        chown(&outer, Some(54_321), None).expect("a new owner");
        assert_eq!(reader(&inner), alice);

        let error = |name| {
            let error = UnprivilegedUser::reader_of(&root.join(name)).expect_err("no path");
            Errno::from_io_error(&error).expect("an error of the system")
        };
        assert_eq!(error("none"), Errno::NOENT);
        symlink("circle", root.join("circle")).expect("a link");
        assert_eq!(error("circle"), Errno::LOOP);
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
            UnprivilegedUser::reader_of(directory.path()).expect("a directory").1
        };
        for group in [0, 54_322] {
            let without_account = Some(UnprivilegedUser { uid: 54_321, gid: SHARED_GIT_ID });
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
