//! What a directory takes on the disk.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::{FileError, Root};

/// Maximum number of entries that are counted.
const MAX_ENTRIES: u64 = 2_000_000;
/// Maximum depth of directories. Each one on the way is an open file.
const MAX_DEPTH: usize = 256;
/// Maximum time.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Bytes of a block, the unit in which file systems count.
const BLOCK_BYTES: u64 = 512;

/// What a directory takes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes on the disk. A file with several names counts for each of them.
    pub bytes: u64,
    /// Number of files and links.
    pub files: u64,
    /// Whether it takes more: a limit was reached, or a directory could not be read.
    pub is_partial: bool,
}

impl Root {
    /// Counts everything below the directory at the path, whatever its name.
    pub fn usage(&self, path: &str) -> Result<Usage, FileError> {
        let _access = self.access()?;
        let mut usage = Usage::default();
        let mut entries = 0_u64;
        let started = Instant::now();
        let mut open: Vec<(OwnedFd, Dir)> = vec![listed(self.directory_at(path)?)?];
        while let Some((directory, listing)) = open.last_mut() {
            let Some(entry) = listing.next() else {
                open.pop();
                continue;
            };
            let Ok(entry) = entry else {
                usage.is_partial = true;
                open.pop();
                continue;
            };
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            entries += 1;
            if entries > MAX_ENTRIES || started.elapsed() > MAX_TIME {
                usage.is_partial = true;
                break;
            }
            let Ok(stat) = statat(&*directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                // Somebody else has deleted it.
                continue;
            };
            usage.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * BLOCK_BYTES;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                usage.files += 1;
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below = openat(&*directory, entry.file_name(), flags, Mode::empty());
            match below.map_err(FileError::from).and_then(listed) {
                Ok(below) if open.len() < MAX_DEPTH => open.push(below),
                _ => usage.is_partial = true,
            }
        }
        Ok(usage)
    }
}

fn listed(directory: OwnedFd) -> Result<(OwnedFd, Dir), FileError> {
    let listing = Dir::read_from(&directory)?;
    Ok((directory, listing))
}
