//! Files and directories by a glob.

use mc_files::{FileKind, Root};
use mc_search::glob;
use regex::Regex;

use crate::Error;
use crate::tree::{self, Visit};

/// Entries whose paths match a glob.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Paths from the root of the workspace; those of directories end with `/`.
    pub paths: Vec<String>,
    /// Whether there may be more: the limit of matches or of the traversal was reached.
    pub is_partial: bool,
}

/// Finds entries below a directory. The glob is relative to it: `*` matches within one directory,
/// `**` across directories, and a glob without a slash matches names in any directory.
pub fn find(
    root: &Root,
    directory: &str,
    pattern: &str,
    max_matches: usize,
) -> Result<Matches, Error> {
    let matcher = matcher(pattern)?;
    let prefix = if directory.is_empty() { 0 } else { directory.len() + 1 };
    let mut paths = Vec::new();
    let is_complete = tree::walk(root, directory, |found| {
        let is_directory = found.metadata.kind == FileKind::Directory;
        if matcher.is_match(&found.path[prefix..]) {
            if paths.len() == max_matches {
                return Visit::Stop;
            }
            paths.push(if is_directory { format!("{}/", found.path) } else { found.path.into() });
        }
        Visit::Next
    })?;
    Ok(Matches { paths, is_partial: !is_complete })
}

/// Returns the regular expression of a glob, which matches a whole path.
pub(crate) fn matcher(pattern: &str) -> Result<Regex, Error> {
    let regex = glob::to_regex(pattern)?;
    Regex::new(&format!("^(?s:{regex})$")).map_err(|error| Error::Pattern(error.to_string()))
}
