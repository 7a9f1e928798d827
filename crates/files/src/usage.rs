//! What a directory takes on the disk.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, open, openat, statat};

use crate::FileError;
use crate::root::DIRECTORY;

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

/// Counts everything below a directory, with the rights of the thread: those of the service, also
/// in directories of the users of git. Only names and sizes are read.
pub fn disk_usage(directory: &Path) -> Result<Usage, FileError> {
    let directory = open(directory, DIRECTORY, Mode::empty())?;
    let mut usage = Usage::default();
    let mut entries = 0_u64;
    let started = Instant::now();
    let mut below: Vec<(OwnedFd, Dir)> = vec![listed(directory)?];
    while let Some((directory, listing)) = below.last_mut() {
        let Some(entry) = listing.next() else {
            below.pop();
            continue;
        };
        let Ok(entry) = entry else {
            usage.is_partial = true;
            below.pop();
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
        let found = openat(&*directory, entry.file_name(), DIRECTORY, Mode::empty());
        match found.map_err(FileError::from).and_then(listed) {
            Ok(found) if below.len() < MAX_DEPTH => below.push(found),
            _ => usage.is_partial = true,
        }
    }
    Ok(usage)
}

fn listed(directory: OwnedFd) -> Result<(OwnedFd, Dir), FileError> {
    let listing = Dir::read_from(&directory)?;
    Ok((directory, listing))
}
