//! Opens files below a folder by directory handles, so that a link that is put in the way between
//! walk and read leads nowhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use rustix::io::Errno;

use super::SkipReason;
use crate::Error;

/// An open folder, below which files are read.
#[derive(Debug)]
pub struct Root(OwnedFd);

/// What stands in a folder.
#[derive(Debug)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// Whether the system told of all of them.
    pub is_whole: bool,
}

/// A name in a folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: OsString,
    /// What it is and its size in bytes; `None` where the system does not tell.
    pub found: Option<(FileType, u64)>,
}

impl Root {
    /// Opens the folder.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open(folder, flags, Mode::empty())
            .map(Self)
            .map_err(|error| Error::Io { path: folder.display().to_string(), cause: error.into() })
    }

    /// The bytes of the regular file at `path` (`/`-separated, below the folder).
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SkipReason> {
        let mut file = File::from(self.open_below(path)?);
        let metadata = file.metadata().map_err(|_| SkipReason::Unreadable)?;
        if !metadata.is_file() {
            return Err(SkipReason::NotAFile);
        }
        if metadata.len() > max_bytes {
            return Err(SkipReason::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        // One more than allowed, since the file may grow while it is read.
        file.by_ref()
            .take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| SkipReason::Unreadable)?;
        if bytes.len() as u64 > max_bytes { Err(SkipReason::TooLarge) } else { Ok(bytes) }
    }

    /// What stands in the folder at `path` (`/`-separated, empty for this one).
    pub(super) fn list(&self, path: &str) -> Result<Listing, SkipReason> {
        let base = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let folder = match path {
            "" => openat(&self.0, ".", base, Mode::empty()).map_err(reason)?,
            path => self.open_below(path)?,
        };
        let mut listing = Listing { entries: Vec::new(), is_whole: true };
        for entry in Dir::read_from(&folder).map_err(reason)? {
            let Ok(entry) = entry else {
                listing.is_whole = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                (FileType::from_raw_mode(stat.st_mode), size)
            });
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            listing.entries.push(Entry { name, found });
        }
        Ok(listing)
    }

    fn open_below(&self, path: &str) -> Result<OwnedFd, SkipReason> {
        let base = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Without NONBLOCK the open of a pipe waits for its writer.
        let as_file = base | OFlags::NONBLOCK;
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().ok_or(SkipReason::BadName)?;
        if parts.iter().chain([&name]).any(|part| matches!(*part, "" | "." | "..")) {
            return Err(SkipReason::BadName);
        }
        let mut folder: Option<OwnedFd> = None;
        for part in parts {
            let at = folder.as_ref().unwrap_or(&self.0);
            let next = openat(at, part, base | OFlags::DIRECTORY, Mode::empty());
            folder = Some(next.map_err(reason)?);
        }
        let at = folder.as_ref().unwrap_or(&self.0);
        openat(at, name, as_file, Mode::empty()).map_err(reason)
    }
}

fn reason(error: Errno) -> SkipReason {
    match error {
        // NOFOLLOW on a link; with DIRECTORY some systems say NOTDIR.
        Errno::LOOP | Errno::NOTDIR => SkipReason::Symlink,
        Errno::NXIO => SkipReason::NotAFile,
        _ => SkipReason::Unreadable,
    }
}
