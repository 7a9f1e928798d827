//! Access to files below a directory by handles, so that no symbolic link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mc_privileges::{FileAccess, UnprivilegedUser, raise_privileges};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, statat};
use rustix::io::Errno;

use super::SkipReason;
use crate::Error;
use crate::protected::Identity;

/// Flags that open a file below a directory, and follow no link.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags that open a directory below another one.
const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);

/// Open directory, below which files are read. It stays the same directory if a link takes its
/// place on the disk.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// Path of the directory when it was opened.
    path: PathBuf,
    /// User with whose rights files are read; `None` for the service's user.
    reader: Option<UnprivilegedUser>,
    /// Whether this is a copy of git's user, whose files alone are read.
    is_copy_of_git: bool,
}

#[derive(Debug)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// Whether the operating system returned all of them.
    pub is_complete: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub name: OsString,
    /// `None` if the operating system refuses to inspect the entry.
    stat: Option<Stat>,
}

impl Entry {
    /// Returns the file type, and the size in bytes.
    pub fn kind_and_size(&self) -> Option<(FileType, u64)> {
        let stat = self.stat?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Some((FileType::from_raw_mode(stat.st_mode), size))
    }

    /// Returns device and inode.
    pub fn identity(&self) -> Option<Identity> {
        self.stat.map(identity)
    }
}

fn identity(stat: Stat) -> Identity {
    Identity { device: stat.st_dev, inode: stat.st_ino }
}

impl Root {
    /// Opens the root directory of a walk. If the service is root, the directory is read with the
    /// rights of its owner, who may have prepared it to attack its reader.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let io = |error: Errno| Error::io(directory)(error.into());
        // Root finds a directory below private ones.
        let raised = raise_privileges();
        let opened = open_directory(directory).map_err(io)?;
        drop(raised);
        let owner = UnprivilegedUser::of_owner(fstat(&opened).map_err(io)?.st_uid);
        let reader = UnprivilegedUser::for_files(owner);
        let path = directory.to_owned();
        Ok(Self { directory: opened, path, reader, is_copy_of_git: false })
    }

    /// Opens another directory, which a file of this one names, with the same rights.
    pub(super) fn open_other(&self, directory: &Path) -> Result<Self, SkipReason> {
        let _access = self.access()?;
        let opened = open_directory(directory).map_err(reason)?;
        let (reader, is_copy_of_git) = (self.reader, self.is_copy_of_git);
        Ok(Self { directory: opened, path: directory.to_owned(), reader, is_copy_of_git })
    }

    /// Returns an open directory of a copy as the root of a walk. If it belongs to git's user, it
    /// is read with that user's rights (`reader`), and files of other users are skipped: that user
    /// may have linked them into the copy.
    pub(crate) fn of_copy(
        directory: OwnedFd,
        path: PathBuf,
        reader: Option<UnprivilegedUser>,
    ) -> Self {
        Self { directory, path, reader, is_copy_of_git: reader.is_some() }
    }

    /// Returns the path of the directory when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns device and inode of the directory.
    pub(super) fn identity(&self) -> Result<Identity, Error> {
        let stat = fstat(&self.directory);
        stat.map(identity).map_err(|error| Error::io(&self.path)(error.into()))
    }

    /// Returns whether this is a copy of git's user. If that git was taken over, the files of the
    /// copy may try to lead elsewhere.
    pub(super) fn belongs_to_git(&self) -> bool {
        self.is_copy_of_git
    }

    /// Reads the regular file at `path` (`/`-separated, relative to this directory).
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SkipReason> {
        let _access = self.access()?;
        let mut file = File::from(self.open_below(path)?);
        let metadata = file.metadata().map_err(|_| SkipReason::Unreadable)?;
        if !metadata.is_file() {
            return Err(SkipReason::NotAFile);
        }
        if self.is_copy_of_git && self.reader.is_some_and(|git| git.uid != metadata.uid()) {
            return Err(SkipReason::OtherOwner);
        }
        if metadata.len() > max_bytes {
            return Err(SkipReason::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        // Reads one byte more than allowed, because the file may grow meanwhile.
        file.by_ref()
            .take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| SkipReason::Unreadable)?;
        if bytes.len() as u64 > max_bytes { Err(SkipReason::TooLarge) } else { Ok(bytes) }
    }

    /// Tries again to read a file, or to list a directory, and returns why that fails. `None` if it
    /// succeeds now.
    pub fn read_error(&self, path: &str) -> Option<std::io::Error> {
        let _access = self.reader.map(UnprivilegedUser::access_files).transpose().ok()?;
        let opened = match path {
            "" => openat(&self.directory, ".", DIRECTORY, Mode::empty()),
            path => self.open_path(path).ok()?,
        };
        let file = match opened {
            Ok(opened) => File::from(opened),
            Err(error) => return Some(error.into()),
        };
        match file.metadata() {
            Ok(metadata) if metadata.is_dir() => Dir::read_from(&file).err().map(Into::into),
            Ok(_) => (&file).read(&mut [0]).err(),
            Err(error) => Some(error),
        }
    }

    /// Lists the directory at `path` (`/`-separated, empty for this one).
    pub(super) fn list(&self, path: &str) -> Result<Listing, SkipReason> {
        let _access = self.access()?;
        let directory = match path {
            "" => openat(&self.directory, ".", DIRECTORY, Mode::empty()).map_err(reason)?,
            path => self.open_below(path)?,
        };
        let mut listing = Listing { entries: Vec::new(), is_complete: true };
        for entry in Dir::read_from(&directory).map_err(reason)? {
            let Ok(entry) = entry else {
                listing.is_complete = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            listing.entries.push(Entry { name, stat });
        }
        Ok(listing)
    }

    fn access(&self) -> Result<Option<FileAccess>, SkipReason> {
        let access = self.reader.map(UnprivilegedUser::access_files).transpose();
        access.map_err(|_| SkipReason::Unreadable)
    }

    /// Opens the file or directory at `path`, one path component at a time.
    fn open_below(&self, path: &str) -> Result<OwnedFd, SkipReason> {
        self.open_path(path)?.map_err(reason)
    }

    /// Like [`Self::open_below`]; the inner result has the error of the operating system.
    fn open_path(&self, path: &str) -> Result<rustix::io::Result<OwnedFd>, SkipReason> {
        // Without NONBLOCK, opening a pipe waits for its writer.
        let as_file = FILE | OFlags::NONBLOCK;
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().ok_or(SkipReason::BadName)?;
        if parts.iter().chain([&name]).any(|part| matches!(*part, "" | "." | "..")) {
            return Err(SkipReason::BadName);
        }
        let mut directory: Option<OwnedFd> = None;
        for part in parts {
            let parent = directory.as_ref().unwrap_or(&self.directory);
            match openat(parent, part, DIRECTORY, Mode::empty()) {
                Ok(next) => directory = Some(next),
                Err(error) => return Ok(Err(error)),
            }
        }
        let parent = directory.as_ref().unwrap_or(&self.directory);
        Ok(openat(parent, name, as_file, Mode::empty()))
    }
}

fn open_directory(directory: &Path) -> rustix::io::Result<OwnedFd> {
    open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn reason(error: Errno) -> SkipReason {
    match error {
        // NOFOLLOW fails on a link with LOOP; with DIRECTORY, some systems return NOTDIR.
        Errno::LOOP | Errno::NOTDIR => SkipReason::Symlink,
        Errno::NXIO => SkipReason::NotAFile,
        _ => SkipReason::Unreadable,
    }
}
