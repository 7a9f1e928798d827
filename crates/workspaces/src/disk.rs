//! What a tree takes on the disk.

use mc_files::{FileKind, Root};

use crate::Error;
use crate::tree::{self, Visit};

/// Bytes of a block, the unit in which file systems count.
const BLOCK_BYTES: u64 = 512;

/// What a tree takes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes on the disk. A file with several names counts for each of them.
    pub bytes: u64,
    /// Number of files and links.
    pub files: u64,
    /// Whether the tree is too large to be counted in one call, so that it takes more.
    pub is_partial: bool,
}

/// Counts the files below a directory.
pub fn usage(root: &Root, directory: &str) -> Result<Usage, Error> {
    let mut usage = Usage::default();
    let is_complete = tree::walk(root, directory, |found| {
        usage.bytes += found.metadata.blocks * BLOCK_BYTES;
        usage.files += u64::from(found.metadata.kind != FileKind::Directory);
        Visit::Next
    })?;
    Ok(Usage { is_partial: !is_complete, ..usage })
}
