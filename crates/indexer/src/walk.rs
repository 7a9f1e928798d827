//! Lists the files of a directory tree that are worth reading, in a stable order.
//!
//! No symbolic link is followed, inside or outside the tree. A problem with one file does not stop
//! the walk: the file is skipped and counted by [`SkipReason`].

mod attributes;
mod directories;
mod generated;
mod ignore_rules;
mod leftovers;
mod patterns;

use std::collections::{BTreeMap, BTreeSet};

use mc_files::{FileError, ProtectedDirectories, Root};

use crate::{Error, language, text};
use attributes::Attributes;
pub use patterns::{InvalidPattern, PathPatterns};

/// Directories that are never entered.
pub const IGNORED_DIRECTORIES: &[&str] = &[".git", ".github", "node_modules", "dist", "build"];
/// File that excludes paths from the index, in the syntax of `.gitignore`.
pub const IGNORE_FILE: &str = ".mcpignore";
/// Longest path in bytes; longer ones don't fit a database index.
const MAX_PATH_BYTES: usize = 1000;

/// Size limits of a walk.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum size of one file, in bytes.
    pub file_bytes: u64,
    /// Maximum size of all files that are read, in bytes.
    pub repository_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1 << 20, repository_bytes: 2 << 30 }
    }
}

/// Reason why a file is not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// The file is not text.
    Binary,
    /// The file is empty.
    Empty,
    /// A program generated it: the file is marked so, minified, or a lock file.
    Generated,
    /// A directory of an editor's settings, such as `.cursor`.
    EditorSettings,
    /// A copy that an editor or a merge left behind, such as `main.rs.orig`.
    Backup,
    /// The path is not UTF-8, has control characters or is too long.
    BadName,
    /// The path contains a likely secret or an e-mail address.
    RevealingName,
    /// A device, a socket or a pipe.
    NotAFile,
    /// A file in a copy of git's user that belongs to another user.
    OtherOwner,
    /// Earlier files already reach the size limit of the repository.
    RepositoryTooLarge,
    /// A symbolic link.
    Symlink,
    /// The file exceeds the size limit.
    TooLarge,
    /// Chunking it panicked, or the database rejected it; the log has the details.
    Failed,
    /// The operating system refuses to open or read it.
    Unreadable,
}

impl SkipReason {
    /// Returns whether the file should have been indexed, and is missing because of an error.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Unreadable)
    }

    /// Returns the reason's name in counts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Empty => "empty",
            Self::Generated => "generated",
            Self::EditorSettings => "editor_settings",
            Self::Backup => "backup",
            Self::BadName => "bad_name",
            Self::RevealingName => "revealing_name",
            Self::NotAFile => "not_a_file",
            Self::OtherOwner => "other_owner",
            Self::RepositoryTooLarge => "repository_too_large",
            Self::Symlink => "symlink",
            Self::TooLarge => "too_large",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
        }
    }
}

impl From<FileError> for SkipReason {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Link | FileError::NotADirectory => Self::Symlink,
            FileError::NotAFile | FileError::Directory => Self::NotAFile,
            FileError::OtherOwner => Self::OtherOwner,
            FileError::TooLarge(_) => Self::TooLarge,
            FileError::BadName => Self::BadName,
            FileError::Missing | FileError::Exists | FileError::Changed | FileError::Io(_) => {
                Self::Unreadable
            }
        }
    }
}

/// Number of skipped files by reason.
pub type Skipped = BTreeMap<SkipReason, u64>;

/// A file that may be worth reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Path from the root, with `/`.
    pub path: String,
    /// Size in bytes at the time of the walk.
    pub size: u64,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct Tree {
    /// Candidates by path, in byte order.
    pub candidates: Vec<Candidate>,
    /// Files that were skipped.
    pub skipped: Skipped,
    /// Files and directories that the operating system refuses to inspect or list.
    unread: BTreeSet<String>,
    attributes: Attributes,
}

/// Text of a file, ready to be chunked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Text with LF line ends.
    pub text: String,
    /// Language, as [`language::detect`] names it.
    pub language: &'static str,
}

/// Lists the files below `root`, honoring `.gitignore` (with or without a repository around it)
/// and `.mcpignore`. Ignore files above `root` have no effect: the tree is the same wherever it is.
/// Protected directories are left out; as `root`, they are an error.
pub fn walk(
    root: &Root,
    limits: Limits,
    protected: &ProtectedDirectories,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Tree, Error> {
    let protected = protected.snapshot()?;
    protected.check_root(root)?;
    let mut tree = directories::list(root, limits, &protected, is_cancelled)?;
    tree.candidates.sort_by(|a, b| a.path.cmp(&b.path));
    tree.attributes = Attributes::read(root, &tree.candidates);
    apply_size_limit(&mut tree, limits.repository_bytes);
    Ok(tree)
}

impl Tree {
    /// Returns whether the file or a directory around it could not be inspected.
    ///
    /// The stored text of such a file may or may not be current.
    pub fn is_unreadable(&self, path: &str) -> bool {
        let directories = path.match_indices('/').map(|(end, _)| &path[..end]);
        ["", path].into_iter().chain(directories).any(|place| self.unread.contains(place))
    }

    /// Leaves out the files that the patterns of the repository do not accept.
    pub fn retain(&mut self, patterns: &PathPatterns) {
        self.candidates.retain(|candidate| patterns.accepts(&candidate.path));
        self.unread.retain(|path| path.is_empty() || !patterns.excludes(path));
    }

    /// Returns the files and directories that could not be inspected; the root is empty.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unread.iter().map(String::as_str)
    }

    fn skip(&mut self, skip: SkipReason) {
        *self.skipped.entry(skip).or_default() += 1;
    }

    /// Returns whether the file is generated, by `.gitattributes`, else by its name.
    pub fn is_generated_by_path(&self, path: &str) -> bool {
        self.attributes.is_generated(path).unwrap_or_else(|| generated::by_name(path))
    }

    /// Decodes a file, or returns the reason why it is not indexed.
    pub fn decode(&self, path: &str, bytes: &[u8]) -> Result<Source, SkipReason> {
        if self.is_generated_by_path(path) {
            return Err(SkipReason::Generated);
        }
        let text = text::decode(bytes).ok_or(SkipReason::Binary)?;
        if text.trim().is_empty() {
            return Err(SkipReason::Empty);
        }
        let language = language::detect(path, &text);
        let is_exempt = self.attributes.is_generated(path) == Some(false);
        if !is_exempt && generated::by_text(&text, language) {
            return Err(SkipReason::Generated);
        }
        Ok(Source { text, language })
    }
}

/// Removes the candidates that exceed the size limit of the repository.
fn apply_size_limit(tree: &mut Tree, limit: u64) {
    let mut total = 0_u64;
    let before = tree.candidates.len();
    tree.candidates.retain(|candidate| {
        let fits = total + candidate.size <= limit;
        total += if fits { candidate.size } else { 0 };
        fits
    });
    let dropped = before - tree.candidates.len();
    if dropped > 0 {
        tree.skipped.insert(SkipReason::RepositoryTooLarge, dropped as u64);
    }
}

#[cfg(test)]
mod tests;
