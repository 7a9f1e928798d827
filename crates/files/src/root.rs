//! An open directory, below which files are listed and read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mc_privileges::{FileAccess, UnprivilegedUser, raise_privileges};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat, statat,
};
use rustix::io::Errno;

use crate::{Error, FileError};

/// Flags that open a file below a directory, and follow no link.
pub(crate) const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags that open a directory below another one.
pub(crate) const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);

/// Maximum number of entries of a listing, which are in memory.
const MAX_LISTED: usize = 400_000;

/// Open directory, below which files are accessed. It stays the same directory if a link takes its
/// place on the disk.
///
/// A path has names separated by `/`, and is relative to the directory; empty for the directory
/// itself.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// Path of the directory when it was opened.
    path: PathBuf,
    /// User with whose rights files are accessed; `None` for the service's user.
    user: Option<UnprivilegedUser>,
    /// Whether files of other users are rejected.
    has_one_owner: bool,
}

/// Entries of a directory.
#[derive(Debug)]
pub struct Listing {
    /// The entries, in the order of the operating system.
    pub entries: Vec<Entry>,
    /// Whether the operating system returned all of them.
    pub is_complete: bool,
}

/// Entry of a directory.
#[derive(Debug)]
pub struct Entry {
    /// Name in the directory.
    pub name: OsString,
    /// What it is; `None` if the operating system refuses to inspect it.
    pub metadata: Option<Metadata>,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A device, a socket or a pipe.
    Other,
}

/// What the operating system knows about a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// Kind.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Device and inode.
    pub identity: Identity,
    /// Id of the owner.
    pub owner: u32,
    /// Permission bits, such as `0o644`.
    pub permissions: u32,
    /// Time of the last change of the content: seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    /// 512-byte blocks that it takes on the disk.
    pub blocks: u64,
}

/// Device and inode of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Number of the device.
    pub device: u64,
    /// Number of the inode.
    pub inode: u64,
}

impl Root {
    /// Opens a directory. If the service is root, files are accessed with the rights of the
    /// directory's owner, who may have prepared it to attack its reader.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let io = |error: Errno| Error::io(directory)(error.into());
        // Root finds a directory below private ones.
        let raised = raise_privileges();
        let opened = open_directory(directory).map_err(io)?;
        drop(raised);
        let owner = UnprivilegedUser::of_owner(fstat(&opened).map_err(io)?.st_uid);
        let user = UnprivilegedUser::for_files(owner);
        let path = directory.to_owned();
        Ok(Self { directory: opened, path, user, has_one_owner: false })
    }

    /// Opens a directory that the service created for `user` (`None`: its own), and no link in its
    /// place. Files are accessed with that user's rights, and those of other users are rejected:
    /// the user may have linked them into the directory.
    pub fn open_owned(directory: &Path, user: Option<UnprivilegedUser>) -> io::Result<Self> {
        let _raised = raise_privileges();
        let opened = open(directory, DIRECTORY, Mode::empty())?;
        Ok(Self::owned(opened, directory.to_owned(), user))
    }

    /// Returns an open directory as [`Self::open_owned`] does.
    pub fn owned(directory: OwnedFd, path: PathBuf, user: Option<UnprivilegedUser>) -> Self {
        Self { directory, path, user, has_one_owner: user.is_some() }
    }

    /// Opens another directory, which a file of this one names, with the same rights.
    pub fn open_other(&self, directory: &Path) -> Result<Self, FileError> {
        let _access = self.access()?;
        Ok(self.with_directory(open_directory(directory)?, directory.to_owned()))
    }

    /// Opens a directory below this one as another root.
    pub fn open_below(&self, path: &str) -> Result<Self, FileError> {
        let _access = self.access()?;
        let below = parts(path)?.iter().fold(self.path.clone(), |below, part| below.join(part));
        Ok(self.with_directory(self.directory_at(path)?, below))
    }

    fn with_directory(&self, directory: OwnedFd, path: PathBuf) -> Self {
        let Self { user, has_one_owner, .. } = *self;
        Self { directory, path, user, has_one_owner }
    }

    /// Returns the path of the directory when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the directory now, without symbolic links.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        let _raised = raise_privileges();
        std::fs::read_link(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    /// Returns the user with whose rights files are accessed; `None` for the service's user.
    pub fn user(&self) -> Option<UnprivilegedUser> {
        self.user
    }

    /// Returns whether files of other users than [`Self::user`] are rejected.
    pub fn has_one_owner(&self) -> bool {
        self.has_one_owner
    }

    /// Returns device and inode of the directory.
    pub fn identity(&self) -> Result<Identity, Error> {
        let stat = fstat(&self.directory).map_err(|error| Error::io(&self.path)(error.into()))?;
        Ok(Metadata::of(&stat).identity)
    }

    /// Returns device and inode of the directory, and of all directories that contain it.
    pub fn with_parents(&self) -> Result<Vec<Identity>, Error> {
        let io = |error: Errno| Error::io(&self.path)(error.into());
        let _raised = raise_privileges();
        let mut identities = vec![self.identity()?];
        // Without the permission to list them.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut parent = openat(&self.directory, "..", flags, Mode::empty()).map_err(io)?;
        loop {
            let identity = Metadata::of(&fstat(&parent).map_err(io)?).identity;
            // The root directory is its own parent.
            if identities.last() == Some(&identity) {
                return Ok(identities);
            }
            identities.push(identity);
            parent = openat(&parent, "..", flags, Mode::empty()).map_err(io)?;
        }
    }

    /// Returns what is at the path, without following a link.
    pub fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        let _access = self.access()?;
        let parts = parts(path)?;
        let Some((name, parents)) = parts.split_last() else {
            return Ok(Metadata::of(&fstat(&self.directory)?));
        };
        let parent = self.walk(parents)?;
        Ok(Metadata::of(&statat(self.or_root(parent.as_ref()), *name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Opens the regular file at the path for reading.
    pub fn open_file(&self, path: &str) -> Result<(File, Metadata), FileError> {
        let _access = self.access()?;
        let parts = parts(path)?;
        let (name, parents) = parts.split_last().ok_or(FileError::Directory)?;
        let parent = self.walk(parents)?;
        // Without NONBLOCK, opening a pipe waits for its writer.
        let flags = FILE | OFlags::NONBLOCK;
        let file = openat(self.or_root(parent.as_ref()), *name, flags, Mode::empty())?;
        let metadata = Metadata::of(&fstat(&file)?);
        match metadata.kind {
            FileKind::File if self.is_of_another(metadata.owner) => Err(FileError::OtherOwner),
            FileKind::File => Ok((File::from(file), metadata)),
            FileKind::Directory => Err(FileError::Directory),
            FileKind::Link | FileKind::Other => Err(FileError::NotAFile),
        }
    }

    /// Reads the regular file at the path.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        let (file, metadata) = self.open_file(path)?;
        if metadata.size > max_bytes {
            return Err(FileError::TooLarge(max_bytes));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.size).unwrap_or(0));
        // Reads one byte more than allowed, because the file may grow meanwhile.
        file.take(max_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(FileError::TooLarge(max_bytes));
        }
        Ok(bytes)
    }

    /// Returns the path that the symbolic link at the path leads to.
    pub fn read_link(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let _access = self.access()?;
        let parts = parts(path)?;
        let (name, parents) = parts.split_last().ok_or(FileError::Directory)?;
        let parent = self.walk(parents)?;
        let target = readlinkat(self.or_root(parent.as_ref()), *name, Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Tries again to read a file, or to list a directory, and returns why that fails. `None` if it
    /// succeeds now.
    pub fn read_error(&self, path: &str) -> Option<FileError> {
        match self.open_file(path) {
            Ok((mut file, _)) => file.read(&mut [0]).err().map(Into::into),
            Err(FileError::Directory) => self.list(path).err(),
            Err(error) => Some(error),
        }
    }

    /// Lists the directory at the path.
    pub fn list(&self, path: &str) -> Result<Listing, FileError> {
        let _access = self.access()?;
        let directory = self.directory_at(path)?;
        let mut listing = Listing { entries: Vec::new(), is_complete: true };
        for entry in Dir::read_from(&directory)? {
            let Ok(entry) = entry else {
                listing.is_complete = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if listing.entries.len() == MAX_LISTED {
                listing.is_complete = false;
                break;
            }
            let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            listing.entries.push(Entry { name, metadata: stat.as_ref().map(Metadata::of) });
        }
        Ok(listing)
    }

    /// Gives this thread the rights to files, until the result is dropped.
    pub(crate) fn access(&self) -> Result<Option<FileAccess>, FileError> {
        Ok(self.user.map(UnprivilegedUser::access_files).transpose()?)
    }

    /// Opens the directory at the path.
    pub(crate) fn directory_at(&self, path: &str) -> Result<OwnedFd, FileError> {
        match self.walk(&parts(path)?)? {
            Some(directory) => Ok(directory),
            None => Ok(openat(&self.directory, ".", DIRECTORY, Mode::empty())?),
        }
    }

    /// Opens the directory of these names, one by one; `None` for this directory itself.
    pub(crate) fn walk(&self, names: &[&str]) -> Result<Option<OwnedFd>, FileError> {
        let mut directory: Option<OwnedFd> = None;
        for name in names {
            let parent = self.or_root(directory.as_ref());
            let opened = openat(parent, *name, DIRECTORY, Mode::empty());
            directory = Some(opened.map_err(|error| not_entered(parent, name, error))?);
        }
        Ok(directory)
    }

    pub(crate) fn or_root<'a>(&'a self, directory: Option<&'a OwnedFd>) -> BorrowedFd<'a> {
        directory.unwrap_or(&self.directory).as_fd()
    }

    pub(crate) fn is_of_another(&self, owner: u32) -> bool {
        self.has_one_owner && self.user.is_some_and(|user| user.uid != owner)
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Metadata {
    fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => FileKind::Directory,
            FileType::RegularFile => FileKind::File,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        };
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            owner: stat.st_uid,
            permissions: stat.st_mode & 0o7777,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
        }
    }
}

/// Returns the names of a path.
pub(crate) fn parts(path: &str) -> Result<Vec<&str>, FileError> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let is_bad = |part: &&str| matches!(*part, "" | "." | "..") || part.contains('\0');
    if parts.iter().any(is_bad) { Err(FileError::BadName) } else { Ok(parts) }
}

/// Returns why a directory can't be entered. The system reports a link like a file.
pub(crate) fn not_entered(parent: BorrowedFd<'_>, name: &str, error: Errno) -> FileError {
    let stat = || statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    match error {
        Errno::NOTDIR if stat().is_ok_and(|stat| Metadata::of(&stat).kind == FileKind::Link) => {
            FileError::Link
        }
        error => error.into(),
    }
}

impl From<Root> for OwnedFd {
    fn from(root: Root) -> Self {
        root.directory
    }
}

fn open_directory(directory: &Path) -> rustix::io::Result<OwnedFd> {
    open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
