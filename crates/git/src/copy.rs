//! Directory of the copy of a repository, in the cache.
//!
//! Its content belongs to the user that runs git. An attacker who takes over git may replace a
//! directory in it by a symbolic link to another place, where the service would then write. So the
//! service accesses its files by [`Root`], which follows no link.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use mc_files::{FileError, Root};
use mc_privileges::{UnprivilegedUser, is_root, raise_privileges};

use crate::Error;

/// Permission bits of a file of a copy.
const PRIVATE: u32 = 0o600;

/// Directory of a copy, private to the user that runs git.
#[derive(Debug)]
pub(crate) struct CopyDirectory {
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
        let root = self.root()?;
        let written = match file.rsplit_once('/') {
            Some((directory, _)) => root.create_directories(directory),
            None => Ok(()),
        };
        let written = written.and_then(|()| root.replace(file, content, PRIVATE));
        written.map_err(self.failed(file))
    }

    /// Deletes these files, if they exist.
    pub fn remove(&self, files: &[&str]) -> Result<(), Error> {
        let root = self.root()?;
        files.iter().try_for_each(|file| match root.remove(file) {
            Ok(()) | Err(FileError::Missing) => Ok(()),
            Err(error) => Err(self.failed(file)(error)),
        })
    }

    /// Deletes the files in a directory whose names start with `prefix`.
    pub fn remove_with_prefix(&self, directory: &str, prefix: &str) -> Result<(), Error> {
        let listed = match self.root()?.list(directory) {
            Err(FileError::Missing) => return Ok(()),
            listed => listed.map_err(self.failed(directory))?,
        };
        let names = listed.entries.iter().filter_map(|entry| entry.name.to_str());
        let files: Vec<String> = names
            .filter(|name| name.starts_with(prefix))
            .map(|name| format!("{directory}/{name}"))
            .collect();
        self.remove(&files.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Deletes the directory with its content.
    pub fn clear(&self) -> Result<(), Error> {
        let _raised = raise_privileges();
        mc_files::delete_tree(&self.path).map_err(Error::io(&self.path))
    }

    /// Returns whether the directory has a file or directory at this `/`-separated path.
    pub fn contains(&self, file: &str) -> bool {
        self.root().is_ok_and(|root| root.metadata(file).is_ok())
    }

    /// Opens the directory, to walk, read and write it.
    pub fn root(&self) -> Result<Root, Error> {
        let opened = Root::open_owned(&self.path, self.user);
        opened.map_err(Error::io(&self.path))
    }

    fn belongs_to_another(&self, owner: u32) -> bool {
        is_root() && owner != self.user.map_or(0, |user| user.uid)
    }

    fn failed(&self, file: &str) -> impl Fn(FileError) -> Error {
        let path = self.path.join(file);
        move |error| file_failed(&path, error)
    }
}

/// Returns the error of a file at this path.
pub(crate) fn file_failed(path: &Path, error: FileError) -> Error {
    Error::File { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::io::Errno;

    use super::*;

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
        let root = copy.root().expect("a directory");
        assert_eq!(root.read("own", 100), Ok(b"own".to_vec()));
        assert_eq!(root.read("private", 100), Err(FileError::Io(Errno::ACCESS)));
        assert_eq!(root.read("readable", 100), Err(FileError::OtherOwner));
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
        assert_eq!(fs::metadata(&path).expect("a directory").mode() & 0o077, 0, "it is private");
        for path in [path.clone(), path.join("info"), path.join("info/a")] {
            let found = fs::metadata(&path).expect("a path");
            assert_eq!((found.uid(), found.gid()), (user.uid, user.gid));
        }
        CopyDirectory::create(&path, Some(user)).expect("the same copy");
        assert!(path.join("info/a").exists());
    }
}
