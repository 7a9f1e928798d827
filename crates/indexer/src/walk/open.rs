//! Opens files below a folder by directory handles, so that a link that is put in the way between
//! walk and read leads nowhere.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use super::Skip;
use crate::Error;

/// An open folder, below which files are read.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// Opens the folder.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open(folder, flags, Mode::empty())
            .map(Self)
            .map_err(|error| Error::Io { path: folder.display().to_string(), cause: error.into() })
    }

    /// The bytes of the regular file at `path` (`/`-separated, below the folder).
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, Skip> {
        let mut file = File::from(self.open_below(path)?);
        let metadata = file.metadata().map_err(|_| Skip::Unreadable)?;
        if !metadata.is_file() {
            return Err(Skip::NotAFile);
        }
        if metadata.len() > max_bytes {
            return Err(Skip::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        // One more than allowed, since the file may grow while it is read.
        file.by_ref().take(max_bytes + 1).read_to_end(&mut bytes).map_err(|_| Skip::Unreadable)?;
        if bytes.len() as u64 > max_bytes { Err(Skip::TooLarge) } else { Ok(bytes) }
    }

    fn open_below(&self, path: &str) -> Result<OwnedFd, Skip> {
        let base = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Without NONBLOCK the open of a pipe waits for its writer.
        let as_file = base | OFlags::NONBLOCK;
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().ok_or(Skip::BadName)?;
        if parts.iter().chain([&name]).any(|part| matches!(*part, "" | "." | "..")) {
            return Err(Skip::BadName);
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

fn reason(error: Errno) -> Skip {
    match error {
        // NOFOLLOW on a link; with DIRECTORY some systems say NOTDIR.
        Errno::LOOP | Errno::NOTDIR => Skip::Symlink,
        Errno::NXIO => Skip::NotAFile,
        _ => Skip::Unreadable,
    }
}
