//! Directory of the copy of a repository, in the cache.
//!
//! Its content belongs to the user that runs git. An attacker who takes over git may replace a
//! directory in it by a symbolic link to another place, where the service would then write. So the
//! service opens each directory of a path by itself, and follows no link. A service that is root
//! raises its privileges here, since the files are another user's.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, fchown, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, open, openat, statat, unlinkat};

use crate::Error;
use crate::walk::Root;
use mc_privileges::{UnprivilegedUser, is_root, raise_privileges};

/// Directory of a copy, private to the user that runs git.
#[derive(Debug)]
pub(super) struct CopyDirectory {
    path: PathBuf,
    user: Option<UnprivilegedUser>,
}

impl CopyDirectory {
    /// Creates the directory for `user` (`None`: the service's user), if it does not exist. If the
    /// service is root, it first deletes a directory of another user: an earlier version created
    /// it, or a service that ran as that user.
    pub fn create(path: &Path, user: Option<UnprivilegedUser>) -> Result<Self, Error> {
        let io = Error::io(path);
        let copy = Self { path: path.to_owned(), user };
        let _raised = raise_privileges();
        match path.symlink_metadata() {
            Ok(found) if !copy.belongs_to_another(found.uid()) => return Ok(copy),
            Ok(_) => copy.clear()?,
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(io(cause)),
        }
        DirBuilder::new().mode(0o700).create(path).map_err(io)?;
        if let Some(user) = user {
            lchown(path, Some(user.uid), Some(user.gid))
                .map_err(|cause| Error::PrivilegesNotDropped { uid: user.uid, cause })?;
        }
        Ok(copy)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the user that runs git here; `None` for the service's.
    pub fn user(&self) -> Option<UnprivilegedUser> {
        self.user
    }

    /// Creates or replaces a file at this `/`-separated path, and its missing directories.
    pub fn write(&self, file: &str, content: &[u8]) -> Result<(), Error> {
        self.try_write(file, content).map_err(Error::io(&self.path.join(file)))
    }

    /// Deletes these files, if they exist.
    pub fn remove(&self, files: &[&str]) -> Result<(), Error> {
        files.iter().try_for_each(|file| {
            self.try_remove(file).or_else(if_missing).map_err(Error::io(&self.path.join(file)))
        })
    }

    /// Deletes the files in a directory whose names start with `prefix`.
    pub fn remove_with_prefix(&self, directory: &str, prefix: &str) -> Result<(), Error> {
        self.try_remove_with_prefix(directory, prefix)
            .or_else(if_missing)
            .map_err(Error::io(&self.path.join(directory)))
    }

    /// Deletes the directory with its content.
    pub fn clear(&self) -> Result<(), Error> {
        let _raised = raise_privileges();
        fs::remove_dir_all(&self.path).map_err(Error::io(&self.path))
    }

    /// Returns whether the directory has a file or directory at this `/`-separated path.
    pub fn contains(&self, file: &str) -> bool {
        let _raised = raise_privileges();
        let (below, name) = split(file);
        let found = self.open_below(below).map(|at| statat(at, name, AtFlags::SYMLINK_NOFOLLOW));
        matches!(found, Ok(Ok(_)))
    }

    /// Opens this `/`-separated directory of the copy, to walk and read it.
    pub fn open_root(&self, below: &str) -> io::Result<Root> {
        let _raised = raise_privileges();
        let directory = self.open_below(below)?;
        let path = parts(below).fold(self.path.clone(), |path, part| path.join(part));
        Ok(Root::of_copy(directory, path, self.user))
    }

    fn belongs_to_another(&self, owner: u32) -> bool {
        is_root() && owner != self.user.map_or(0, |user| user.uid)
    }

    fn try_write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        let _raised = raise_privileges();
        let (below, name) = split(file);
        let directory = self.create_below(below)?;
        // Creates a new file: the old one may be a hard link to a file outside of the copy.
        unlinkat(&directory, name, AtFlags::empty())
            .map_err(io::Error::from)
            .or_else(if_missing)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut written = File::from(openat(&directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        self.give_to_user(&written)?;
        written.write_all(content)
    }

    fn try_remove(&self, file: &str) -> io::Result<()> {
        let _raised = raise_privileges();
        let (below, name) = split(file);
        Ok(unlinkat(self.open_below(below)?, name, AtFlags::empty())?)
    }

    fn try_remove_with_prefix(&self, directory: &str, prefix: &str) -> io::Result<()> {
        let _raised = raise_privileges();
        let directory = self.open_below(directory)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            if entry.file_name().to_bytes().starts_with(prefix.as_bytes()) {
                unlinkat(&directory, entry.file_name(), AtFlags::empty())?;
            }
        }
        Ok(())
    }

    fn open_below(&self, below: &str) -> io::Result<OwnedFd> {
        parts(below).try_fold(self.open()?, |directory, part| open_part(&directory, part))
    }

    fn create_below(&self, below: &str) -> io::Result<OwnedFd> {
        parts(below).try_fold(self.open()?, |directory, part| {
            let is_new = match mkdirat(&directory, part, Mode::RWXU).map_err(io::Error::from) {
                Ok(()) => true,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            let created = open_part(&directory, part)?;
            if is_new {
                self.give_to_user(&created)?;
            }
            Ok(created)
        })
    }

    fn open(&self) -> io::Result<OwnedFd> {
        Ok(open(&self.path, DIRECTORY, Mode::empty())?)
    }

    fn give_to_user(&self, created: impl AsFd) -> io::Result<()> {
        match self.user {
            Some(user) => fchown(created, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }
}

/// Flags to open a directory, but not through a symbolic link.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_part(directory: &OwnedFd, part: &str) -> io::Result<OwnedFd> {
    Ok(openat(directory, part, DIRECTORY, Mode::empty())?)
}

/// Splits a path into its directory, which may be empty, and its name.
fn split(file: &str) -> (&str, &str) {
    file.rsplit_once('/').unwrap_or(("", file))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn if_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::walk::SkipReason;

    /// An attacker who takes over git can create any link in the copy.
    #[test]
    fn links_in_a_copy_lead_the_service_nowhere() {
        let [cache, outside] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let [kept, linked] = ["kept", "tmp_kept"].map(|name| outside.path().join(name));
        for file in [&kept, &linked] {
            fs::write(file, "kept").expect("a file");
        }
        let copy = CopyDirectory::create(&cache.path().join("copy"), None).expect("a copy");
        symlink(outside.path(), copy.path().join("info")).expect("a link");
        symlink(&kept, copy.path().join("file")).expect("a link");
        fs::hard_link(&kept, copy.path().join("hard")).expect("a link");
        copy.write("info/new", b"x").expect_err("a link");
        copy.remove(&["info/kept"]).expect_err("a link");
        copy.remove_with_prefix("info", "tmp_").expect_err("a link");
        for name in ["file", "hard"] {
            copy.write(name, b"replaced").expect("a file");
            assert_eq!(fs::read(copy.path().join(name)).expect("a file"), b"replaced");
        }
        assert_eq!(fs::read_dir(outside.path()).expect("a directory").count(), 2);
        for file in [&kept, &linked] {
            assert_eq!(fs::read(file).expect("a file"), b"kept");
        }
    }

    /// Git of root runs as another user, who can link files of root unless the kernel forbids it.
    #[test]
    fn hard_link_to_a_file_of_another_user_is_skipped() {
        if !mc_testkit::runs_as_root("only root runs git as another user") {
            return;
        }
        let user = UnprivilegedUser::GIT;
        let cache = tempfile::tempdir().expect("a directory");
        let copy = CopyDirectory::create(&cache.path().join("copy"), Some(user)).expect("a copy");
        copy.write("own", b"own").expect("a file");
        for (name, mode) in [("private", 0o600), ("readable", 0o644)] {
            let file = cache.path().join(name);
            fs::write(&file, "secret").expect("a file");
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("permissions");
            fs::hard_link(&file, copy.path().join(name)).expect("a link");
        }
        let root = copy.open_root("").expect("a directory");
        assert_eq!(root.read("own", 100), Ok(b"own".to_vec()));
        assert_eq!(root.read("private", 100), Err(SkipReason::Unreadable));
        assert_eq!(root.read("readable", 100), Err(SkipReason::OtherOwner));
    }

    #[test]
    fn files_are_written_and_removed_by_name_and_prefix() {
        let cache = tempfile::tempdir().expect("a directory");
        let copy = CopyDirectory::create(&cache.path().join("copy"), None).expect("a copy");
        for file in ["a/b/tmp_1", "a/b/pack", "c"] {
            copy.write(file, file.as_bytes()).expect("a file");
            assert_eq!(fs::read(copy.path().join(file)).expect("a file"), file.as_bytes());
        }
        copy.remove(&["c", "no/such/file"]).expect("removed");
        copy.remove_with_prefix("a/b", "tmp_").expect("removed");
        copy.remove_with_prefix("no/such", "tmp_").expect("nothing there");
        let left = |directory: &str| {
            let entries = fs::read_dir(copy.path().join(directory)).expect("a directory");
            entries.map(|entry| entry.expect("an entry").file_name()).collect::<Vec<_>>()
        };
        assert_eq!((left(""), left("a/b")), (vec!["a".into()], vec!["pack".into()]));
    }

    /// Only root can give a directory to another user.
    #[test]
    fn copy_of_another_user_is_replaced_by_root() {
        let cache = tempfile::tempdir().expect("a directory");
        let path = cache.path().join("copy");
        let ours = CopyDirectory::create(&path, None).expect("a copy");
        ours.write("a", b"").expect("a file");
        CopyDirectory::create(&path, None).expect("the same copy");
        assert!(path.join("a").exists());
        if !mc_testkit::runs_as_root("only root can give a directory to another user") {
            return;
        }
        let user = UnprivilegedUser::GIT;
        let theirs = CopyDirectory::create(&path, Some(user)).expect("another copy");
        assert!(!path.join("a").exists());
        theirs.write("info/a", b"").expect("a file");
        for path in [path.clone(), path.join("info"), path.join("info/a")] {
            let found = fs::metadata(&path).expect("a path");
            assert_eq!((found.uid(), found.gid(), found.mode() & 0o077), (user.uid, user.gid, 0));
        }
        CopyDirectory::create(&path, Some(user)).expect("the same copy");
        assert!(path.join("info/a").exists());
    }
}
