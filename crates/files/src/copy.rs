//! Copies a tree whose content somebody else chose.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use mc_privileges::raise_privileges;
use rustix::fs::{
    AtFlags, Dir, FileType, IFlags, Mode, OFlags, Stat, Timespec, Timestamps, fchmod, fstat,
    futimens, ioctl_getflags, ioctl_setflags, mkdirat, open, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

use crate::root::{DIRECTORY, FILE};
use crate::{FileError, Root};

/// Maximum depth of directories. Two of each level are open.
const MAX_DEPTH: usize = 128;
/// Permission bits that files keep. Nothing of a copy runs as its owner.
const PERMISSIONS: u32 = 0o777;

/// Limits of a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyLimits {
    /// Number of files, links and directories.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Time.
    pub time: Duration,
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Number of files, links and directories.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Why a tree was not copied. What was copied before stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The tree has too many entries.
    #[error("has more than {0} files and directories; delete those that are made by builds")]
    Entries(u64),
    /// The files of the tree are too large.
    #[error("has more than {} MiB; delete files that are made by builds", .0 >> 20)]
    Bytes(u64),
    /// The copy takes too long.
    #[error("could not be copied within {} s; delete files that are made by builds", .0.as_secs())]
    Time(Duration),
    /// Directories are too deep.
    #[error("has directories in more than {MAX_DEPTH} levels; delete those that are not needed")]
    Depth,
    /// The caller no longer wants the copy.
    #[error("was not copied, since that was cancelled")]
    Cancelled,
    /// A file can't be copied.
    #[error("has the file {path}, which {cause}")]
    File {
        /// Path from the top of the tree.
        path: String,
        /// Why.
        cause: FileError,
    },
}

/// Directories that are open at once: one of the tree, and its copy.
struct Level {
    from: OwnedFd,
    to: OwnedFd,
    listing: Dir,
    /// Length of the path of its parent.
    parent_length: usize,
    permissions: Mode,
}

/// A copy that is being made.
struct Copying<'a> {
    limits: CopyLimits,
    is_cancelled: &'a dyn Fn() -> bool,
    started: Instant,
    copied: Copied,
    /// Path of the entry that is copied, with a `/` before each name.
    path: Vec<u8>,
}

impl Root {
    /// Copies everything below this directory into an empty one of the same user, except entries
    /// whose name is left out. Links are copied as links, and devices, sockets and pipes are left
    /// out. Files keep their permission bits and the time of their change, as build tools want.
    ///
    /// Every step is by handles and follows no link, so only this tree is read, also if a process
    /// changes it meanwhile. A file system that shares the blocks of copies does so.
    pub fn copy_to(
        &self,
        to: &Root,
        limits: CopyLimits,
        is_left_out: impl Fn(&OsStr) -> bool,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<Copied, CopyError> {
        let mut copying = Copying {
            limits,
            is_cancelled: &is_cancelled,
            started: Instant::now(),
            copied: Copied::default(),
            path: Vec::new(),
        };
        let access = self.access().map_err(|cause| copying.failed(cause))?;
        let opened = self.directory_at("").and_then(|from| Ok((from, to.directory_at("")?)));
        let (from, to) = opened.map_err(|cause| copying.failed(cause))?;
        let listing = Dir::read_from(&from).map_err(|error| copying.failed(error.into()))?;
        let top = Level { from, to, listing, parent_length: 0, permissions: Mode::RWXU };
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.listing.next() else {
                copying.leave(level)?;
                levels.pop();
                continue;
            };
            let entry = entry.map_err(|error| copying.failed(error.into()))?;
            let name = entry.file_name();
            let is_skipped = matches!(name.to_bytes(), b"." | b"..");
            if is_skipped || is_left_out(OsStr::from_bytes(name.to_bytes())) {
                continue;
            }
            let parent_length = copying.path.len();
            copying.path.push(b'/');
            copying.path.extend_from_slice(name.to_bytes());
            copying.count_entry()?;
            match copying.copy(self, level, name)? {
                Some((from, to, permissions)) => {
                    if levels.len() == MAX_DEPTH {
                        return Err(CopyError::Depth);
                    }
                    let listing = Dir::read_from(&from);
                    let listing = listing.map_err(|error| copying.failed(error.into()))?;
                    levels.push(Level { from, to, listing, parent_length, permissions });
                }
                None => copying.path.truncate(parent_length),
            }
        }
        drop(access);
        Ok(copying.copied)
    }
}

/// Asks the file system to place the content of each directory of this one apart from that of the
/// others. Ext4 passes over files that were deleted in the last minutes when it creates others
/// close to them, so copies that are made and deleted again and again would take longer and longer.
/// It is only a hint, which other file systems do not know.
pub fn place_apart(directory: &Path) {
    let _raised = raise_privileges();
    // If it fails, copies are slower, but not wrong.
    let _ = open(directory, DIRECTORY, Mode::empty()).and_then(|opened| {
        let flags = ioctl_getflags(&opened)?;
        ioctl_setflags(&opened, flags | IFlags::TOPDIR)
    });
}

impl Copying<'_> {
    /// Copies an entry of a level. Returns a directory with its empty copy.
    fn copy(
        &mut self,
        tree: &Root,
        level: &Level,
        name: &CStr,
    ) -> Result<Option<(OwnedFd, OwnedFd, Mode)>, CopyError> {
        let (from, to) = (level.from.as_fd(), level.to.as_fd());
        let stat = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            // Somebody has deleted it.
            Err(Errno::NOENT) => return Ok(None),
            stat => stat.map_err(|error| self.failed(error.into()))?,
        };
        let copied = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                return copy_directory(from, to, name)
                    .map(Some)
                    .map_err(|cause| self.failed(cause));
            }
            FileType::Symlink => copy_link(from, to, name).map(|()| 0),
            FileType::RegularFile => {
                // One byte more shows that it is larger.
                let left = (self.limits.bytes - self.copied.bytes).saturating_add(1);
                copy_file(tree, from, to, name, left)
            }
            _ => Ok(0),
        };
        let bytes = match copied {
            Err(FileError::Missing) => 0,
            copied => copied.map_err(|cause| self.failed(cause))?,
        };
        self.copied.bytes += bytes;
        if self.copied.bytes > self.limits.bytes {
            return Err(CopyError::Bytes(self.limits.bytes));
        }
        Ok(None)
    }

    fn count_entry(&mut self) -> Result<(), CopyError> {
        self.copied.entries += 1;
        if self.copied.entries > self.limits.entries {
            return Err(CopyError::Entries(self.limits.entries));
        }
        if self.started.elapsed() > self.limits.time {
            return Err(CopyError::Time(self.limits.time));
        }
        if (self.is_cancelled)() { Err(CopyError::Cancelled) } else { Ok(()) }
    }

    /// Ends a level: only now does its copy get the permission bits, which may forbid changes.
    fn leave(&mut self, level: &Level) -> Result<(), CopyError> {
        let changed = fchmod(&level.to, level.permissions | Mode::RWXU);
        changed.map_err(|error| self.failed(error.into()))?;
        self.path.truncate(level.parent_length);
        Ok(())
    }

    fn failed(&self, cause: FileError) -> CopyError {
        let path = String::from_utf8_lossy(&self.path);
        CopyError::File { path: path.trim_start_matches('/').to_owned(), cause }
    }
}

fn copy_directory(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &CStr,
) -> Result<(OwnedFd, OwnedFd, Mode), FileError> {
    let from = openat(from, name, DIRECTORY, Mode::empty())?;
    let permissions = kept_permissions(&fstat(&from)?);
    mkdirat(to, name, Mode::RWXU)?;
    Ok((from, openat(to, name, DIRECTORY, Mode::empty())?, permissions))
}

fn copy_link(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr) -> Result<(), FileError> {
    let target = readlinkat(from, name, Vec::new())?;
    Ok(symlinkat(target.as_c_str(), to, name)?)
}

/// Copies at most `max_bytes` of a file, and returns how many.
fn copy_file(
    tree: &Root,
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &CStr,
    max_bytes: u64,
) -> Result<u64, FileError> {
    // Without NONBLOCK, opening a pipe that took its place waits for its writer.
    let source = openat(from, name, FILE | OFlags::NONBLOCK, Mode::empty())?;
    let stat = fstat(&source)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(0);
    }
    if tree.is_of_another(stat.st_uid) {
        return Err(FileError::OtherOwner);
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let copy = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
    let (source, mut copy) = (File::from(source), File::from(copy));
    let bytes = io::copy(&mut source.take(max_bytes), &mut copy)?;
    fchmod(&copy, kept_permissions(&stat))?;
    let changed = Timespec {
        tv_sec: stat.st_mtime,
        tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
    };
    futimens(&copy, &Timestamps { last_access: changed, last_modification: changed })?;
    Ok(bytes)
}

fn kept_permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & PERMISSIONS)
}
