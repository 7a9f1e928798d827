//! Entries of one directory.

use mc_files::{FileKind, Metadata, Root};

use crate::Error;
use crate::tree;

/// Entry of a directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name in the directory.
    pub name: String,
    /// Whether it is a file, a directory, a link or something else.
    pub kind: FileKind,
    /// Size of a file, in bytes; 0 for others.
    pub bytes: u64,
}

/// Entries of a directory, in the order of their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DirectoryListing {
    /// The first entries. Git's own directory and names that are not UTF-8 are left out.
    pub entries: Vec<Entry>,
    /// Number of entries after them.
    pub omitted_entries: usize,
    /// Whether the directory has more entries than are read.
    pub is_partial: bool,
}

/// Lists a directory. For a file or a link, returns this one entry.
pub fn list(root: &Root, path: &str, max_entries: usize) -> Result<DirectoryListing, Error> {
    let metadata = root.metadata(path).map_err(Error::at(path))?;
    if metadata.kind != FileKind::Directory {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let entries = vec![entry((name, metadata))];
        return Ok(DirectoryListing { entries, ..DirectoryListing::default() });
    }
    let (entries, is_complete) = tree::entries(root, path).map_err(Error::at(path))?;
    let omitted_entries = entries.len().saturating_sub(max_entries);
    let entries = entries.into_iter().take(max_entries).map(entry).collect();
    Ok(DirectoryListing { entries, omitted_entries, is_partial: !is_complete })
}

fn entry((name, metadata): (String, Metadata)) -> Entry {
    let bytes = if metadata.kind == FileKind::File { metadata.size } else { 0 };
    Entry { name, kind: metadata.kind, bytes }
}
