//! Rules of the ignore files of a tree.
//!
//! Ignore files are read like any other file of the tree, without following links and up to a size
//! limit. A `.gitignore` that is a pipe, or a link to a device, is ignored and does not block. If
//! the system refuses to open a `.mcpignore`, its directory is not read: it may exclude private
//! files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mc_files::{Entry, Root};

use super::{IGNORE_FILE, SkipReason};

/// Largest ignore file that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// Maximum number of opening braces of a pattern. The library reads them as alternatives, which git
/// does not, and overflows the stack if thousands are nested.
const MAX_BRACES: usize = 64;

/// Rules that apply in a directory: its own, then those of its parent directories.
#[derive(Debug)]
pub(super) struct Rules {
    directory: String,
    own: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    outer: Option<Arc<Rules>>,
}

impl Rules {
    /// Reads the ignore files among the `entries` of `directory`. Those that can't be read have no
    /// rules, except that an unreadable `.mcpignore` is an error.
    pub fn of_directory(
        root: &Root,
        directory: &str,
        entries: &[Entry],
        outer: Option<Arc<Self>>,
    ) -> Result<Option<Arc<Self>>, SkipReason> {
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let read = |name: &str| {
            let rules = has(name).then(|| file(root, &below(directory, name)));
            rules.unwrap_or_else(|| Ok(Gitignore::empty()))
        };
        let own = match read(IGNORE_FILE) {
            Err(SkipReason::Unreadable) => {
                tracing::warn!(
                    directory.path = directory,
                    "directory skipped with its ignore file"
                );
                return Err(SkipReason::Unreadable);
            }
            own => own.unwrap_or_else(|_| Gitignore::empty()),
        };
        let rules = Self {
            own,
            git: read(".gitignore").unwrap_or_else(|_| Gitignore::empty()),
            exclude: if has(".git") { exclude(root, directory) } else { Gitignore::empty() },
            directory: directory.to_owned(),
            outer: outer.clone(),
        };
        let has_rules = [&rules.own, &rules.git, &rules.exclude].iter().any(|r| !r.is_empty());
        Ok(if has_rules { Some(Arc::new(rules)) } else { outer })
    }

    /// Returns whether the file or directory at `path`, relative to the root, is ignored.
    ///
    /// `.mcpignore` takes precedence over `.gitignore`, and `.gitignore` over `.git/info/exclude`.
    /// Among files of one kind, the innermost takes precedence.
    pub fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        let kinds: [fn(&Self) -> &Gitignore; 3] =
            [|rules| &rules.own, |rules| &rules.git, |rules| &rules.exclude];
        let mut verdicts = kinds.into_iter().map(|kind| self.verdict(kind, path, is_directory));
        verdicts.find_map(|verdict| verdict).unwrap_or_default()
    }

    /// Returns whether `.mcpignore` includes the file or directory (`!.cursor`), even if it is left
    /// out by default. `.gitignore` says what git tracks, not what is worth searching.
    pub fn is_included(&self, path: &Path, is_directory: bool) -> bool {
        self.verdict(|rules| &rules.own, path, is_directory) == Some(false)
    }

    fn verdict(
        &self,
        kind: fn(&Self) -> &Gitignore,
        path: &Path,
        is_directory: bool,
    ) -> Option<bool> {
        let mut level = Some(self);
        while let Some(rules) = level {
            let path = path.strip_prefix(&rules.directory).unwrap_or(path);
            match kind(rules).matched(path, is_directory) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist(_) => return Some(false),
                Match::None => level = rules.outer.as_deref(),
            }
        }
        None
    }
}

fn file(root: &Root, path: &str) -> Result<Gitignore, SkipReason> {
    let bytes = root.read(path, MAX_BYTES).map_err(SkipReason::from).inspect_err(|skip| {
        let reason = skip.as_str();
        tracing::warn!(file.path = path, reason, "ignore file skipped: it cannot be read");
    })?;
    Ok(rules(path, &bytes))
}

/// Reads `info/exclude`, the rules of this clone only.
///
/// In a work tree of `git worktree`, `.git` is a file with the path of the work tree's directory.
/// The file `commondir` there has the path of the clone's directory. In a copy of git's user, which
/// is no work tree, the file is not followed.
fn exclude(root: &Root, directory: &str) -> Gitignore {
    let git = below(directory, ".git");
    let path = format!("{git}/info/exclude");
    let bytes = match root.read(&git, MAX_BYTES) {
        Ok(_) if root.has_one_owner() => None,
        Ok(link) => exclude_of_worktree(root, &link),
        Err(_) => root.read(&path, MAX_BYTES).ok(),
    };
    bytes.map_or_else(Gitignore::empty, |bytes| rules(&path, &bytes))
}

fn exclude_of_worktree(root: &Root, link: &[u8]) -> Option<Vec<u8>> {
    let first_line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().next().map(|line| line.trim_end().to_owned())
    };
    let work_tree = PathBuf::from(first_line(link)?.strip_prefix("gitdir: ")?);
    let common = root.open_other(&work_tree).ok()?.read("commondir", MAX_BYTES).ok()?;
    let clone = root.open_other(&work_tree.join(first_line(&common)?)).ok()?;
    clone.read("info/exclude", MAX_BYTES).ok()
}

fn rules(path: &str, bytes: &[u8]) -> Gitignore {
    let text = String::from_utf8_lossy(bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        add_pattern(&mut builder, line);
    }
    builder.build().unwrap_or_else(|error| {
        tracing::warn!(file.path = path, %error, "ignore file skipped: it cannot be parsed");
        Gitignore::empty()
    })
}

/// Adds a pattern of a file of the tree, and returns whether it is valid. An invalid one is
/// skipped, like a pattern that matches nothing.
pub(super) fn add_pattern(builder: &mut GitignoreBuilder, pattern: &str) -> bool {
    pattern.matches('{').count() <= MAX_BRACES && builder.add_line(None, pattern).is_ok()
}

fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
