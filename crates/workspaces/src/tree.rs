//! Traversal of the directories of a workspace.

use std::time::{Duration, Instant};

use mc_files::{FileError, FileKind, Metadata, Root, is_name_of_git};

use crate::Error;

/// Maximum number of entries that one call visits.
const MAX_ENTRIES: usize = 400_000;
/// Maximum time of one call. A request ends after 30 seconds.
const MAX_TIME: Duration = Duration::from_secs(10);

/// How the traversal goes on after an entry.
pub(crate) enum Visit {
    /// With the next entry: the first one below it, if it is a directory.
    Next,
    /// Not at all.
    Stop,
}

/// An entry of the tree.
pub(crate) struct Found<'a> {
    /// Path from the root of the workspace.
    pub path: &'a str,
    /// Number of directories between the start and the entry.
    pub depth: usize,
    pub metadata: Metadata,
}

/// Visits the entries below a directory, in the order of their names, directories before their
/// content. Returns whether all were visited. Entries whose name is not UTF-8, and git's own
/// directory, are left out.
pub(crate) fn walk(
    root: &Root,
    start: &str,
    mut visit: impl FnMut(&Found<'_>) -> Visit,
) -> Result<bool, Error> {
    let started = Instant::now();
    let mut visited = 0;
    let mut is_complete = true;
    // The last one is visited first.
    let (mut todo, is_listed) = list(root, start, 0).map_err(Error::at(start))?;
    is_complete &= is_listed;
    while let Some(next) = todo.pop() {
        visited += 1;
        if visited > MAX_ENTRIES || started.elapsed() > MAX_TIME {
            return Ok(false);
        }
        let found = Found { path: &next.path, depth: next.depth, metadata: next.metadata };
        match visit(&found) {
            Visit::Stop => return Ok(false),
            Visit::Next if next.metadata.kind == FileKind::Directory => {
                match list(root, &next.path, next.depth + 1) {
                    Ok((entries, is_listed)) => {
                        todo.extend(entries);
                        is_complete &= is_listed;
                    }
                    // Somebody else may have deleted it.
                    Err(_) => is_complete = false,
                }
            }
            Visit::Next => {}
        }
    }
    Ok(is_complete)
}

struct Next {
    path: String,
    depth: usize,
    metadata: Metadata,
}

/// Returns the entries of a directory as those to visit, the last one first, and whether these are
/// all entries.
fn list(root: &Root, directory: &str, depth: usize) -> Result<(Vec<Next>, bool), FileError> {
    let (entries, is_complete) = entries(root, directory)?;
    let next = |(name, metadata): (String, Metadata)| {
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        Next { path, depth, metadata }
    };
    Ok((entries.into_iter().rev().map(next).collect(), is_complete))
}

/// Returns the entries of a directory in the order of their names, and whether these are all.
/// Entries whose name is not UTF-8, and git's own directory, are left out.
pub(crate) fn entries(
    root: &Root,
    directory: &str,
) -> Result<(Vec<(String, Metadata)>, bool), FileError> {
    let listing = root.list(directory)?;
    let named = listing.entries.into_iter().filter_map(|entry| {
        let (name, metadata) = (entry.name.into_string().ok()?, entry.metadata?);
        (!is_name_of_git(&name)).then_some((name, metadata))
    });
    let mut entries: Vec<_> = named.collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((entries, listing.is_complete))
}
