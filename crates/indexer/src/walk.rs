//! From a folder to the files in it that are worth reading, in a stable order.
//!
//! No link is followed, inside or outside the tree, and nothing that is wrong with one file stops
//! the walk: it is counted under its reason ([`Skip`]).

mod attributes;
mod directories;
mod generated;
mod ignore_rules;
mod open;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::text::{self, Encoding};
use crate::{Error, language};
use attributes::Attributes;
pub use open::Root;

/// Folders that are never entered (seed 002).
pub const IGNORED_FOLDERS: &[&str] = &[".git", ".github", "node_modules", "dist", "build"];
/// The file in which a repository says what shall not be indexed, in the syntax of `.gitignore`.
pub const IGNORE_FILE: &str = ".mcpignore";
/// Longest path in bytes; longer ones don't fit a database index.
const MAX_PATH_BYTES: usize = 1000;

/// What is too large (seed 002).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files that are read.
    pub repository_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1 << 20, repository_bytes: 2 << 30 }
    }
}

/// Why a file is not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Not text.
    Binary,
    /// Nothing in it.
    Empty,
    /// Made by a program: marked so, minified, or a lock file.
    Generated,
    /// The path is no UTF-8, has control characters or is too long.
    BadName,
    /// The path holds what looks like a secret or somebody's e-mail address.
    RevealingName,
    /// A device, a socket or a pipe.
    NotAFile,
    /// The files before it already fill the limit of the repository.
    RepositoryTooLarge,
    /// A symbolic link.
    Symlink,
    /// Larger than a file may be.
    TooLarge,
    /// Reading it ended in a fault of ours, or the database refused it; the log says more.
    Failed,
    /// The system refuses to open or to read it.
    Unreadable,
}

impl SkipReason {
    /// The reason's name in counts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Empty => "empty",
            Self::Generated => "generated",
            Self::BadName => "bad_name",
            Self::RevealingName => "revealing_name",
            Self::NotAFile => "not_a_file",
            Self::RepositoryTooLarge => "repository_too_large",
            Self::Symlink => "symlink",
            Self::TooLarge => "too_large",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
        }
    }
}

/// How many files were skipped for which reason.
pub type Skipped = BTreeMap<SkipReason, u64>;

/// A file that may be worth reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Path from the root, with `/`.
    pub path: String,
    /// Bytes, when the walk came by.
    pub size: u64,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Tree {
    /// By path, in byte order.
    pub candidates: Vec<Candidate>,
    /// What was left out.
    pub skipped: Skipped,
    /// Files and folders that the system refuses to look at or to list.
    unread: BTreeSet<String>,
    attributes: Attributes,
}

/// A file's text, ready to be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The text, with LF.
    pub text: String,
    /// How it was encoded.
    pub encoding: Encoding,
    /// As [`language::detect`] names it.
    pub language: &'static str,
}

/// Lists the files below `root`, honouring `.gitignore` (with or without a repository around it)
/// and `.mcpignore`. Ignore files above `root` don't count: the tree is the same wherever it lies.
pub fn walk(root: &Path, limits: Limits, is_cancelled: &dyn Fn() -> bool) -> Result<Tree, Error> {
    let root = Root::open(root)?;
    let mut tree = directories::list(&root, limits, is_cancelled)?;
    tree.candidates.sort_by(|a, b| a.path.cmp(&b.path));
    tree.attributes = Attributes::read(&root, &tree.candidates);
    keep_within(&mut tree, limits.repository_bytes);
    Ok(tree)
}

impl Tree {
    /// Whether nothing can be said of the file: it, or a folder around it, could not be looked at.
    /// What is stored of such a file is neither known to be right nor to be gone.
    pub fn is_unreadable(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        ["", path].into_iter().chain(folders).any(|place| self.unread.contains(place))
    }

    fn skip(&mut self, skip: SkipReason) {
        *self.skipped.entry(skip).or_default() += 1;
    }

    /// Whether the path alone tells that a program made the file; what `.gitattributes` says counts
    /// for more than the name.
    pub fn is_generated_by_path(&self, path: &str) -> bool {
        self.attributes.generated(path).unwrap_or_else(|| generated::by_name(path))
    }

    /// Makes text of a file's bytes, or says why it is not indexed.
    pub fn understand(&self, path: &str, bytes: &[u8]) -> Result<Source, SkipReason> {
        if self.is_generated_by_path(path) {
            return Err(SkipReason::Generated);
        }
        let (text, encoding) = text::decode(bytes).ok_or(SkipReason::Binary)?;
        if text.trim().is_empty() {
            return Err(SkipReason::Empty);
        }
        let language = language::detect(path, &text);
        let is_kept = self.attributes.generated(path) == Some(false);
        if !is_kept && generated::by_text(&text, language) {
            return Err(SkipReason::Generated);
        }
        Ok(Source { text, encoding, language })
    }
}

/// Leaves out what comes after the limit is reached.
fn keep_within(tree: &mut Tree, limit: u64) {
    let mut total = 0_u64;
    let before = tree.candidates.len();
    tree.candidates.retain(|candidate| {
        let fits = total + candidate.size <= limit;
        if fits {
            total += candidate.size;
        }
        fits
    });
    let dropped = before - tree.candidates.len();
    if dropped > 0 {
        tree.skipped.insert(SkipReason::RepositoryTooLarge, dropped as u64);
    }
}

/// The folder itself, without links; the walk is confined to it.
pub fn resolve(folder: &Path) -> Result<PathBuf, Error> {
    let io = |cause| Error::Io { path: folder.display().to_string(), cause };
    let folder = folder.canonicalize().map_err(io)?;
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(Error::BadLocation(format!("{} is not a folder", folder.display())))
    }
}

#[cfg(test)]
mod tests;
