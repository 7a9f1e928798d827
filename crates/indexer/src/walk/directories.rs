//! Traversal of the directories of a tree.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use mc_files::{Entry, FileKind, Metadata, Root, Snapshot};

use super::ignore_rules::Rules;
use super::leftovers;
use super::{Candidate, IGNORED_DIRECTORIES, Limits, MAX_PATH_BYTES, SkipReason, Tree};
use crate::Error;

struct Directory {
    path: String,
    /// Rules of its parent directories.
    rules: Option<Arc<Rules>>,
}

enum Classified {
    File(Candidate),
    Directory(String),
}

/// Lists the candidates below `root`, in no particular order. A directory whose name cannot be
/// stored counts once and is not entered. A protected directory is not entered.
pub(super) fn list(
    root: &Root,
    limits: Limits,
    protected: &Snapshot,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Tree, Error> {
    let mut tree = Tree::default();
    let mut todo = vec![Directory { path: String::new(), rules: None }];
    while let Some(directory) = todo.pop() {
        if is_cancelled() {
            return Err(Error::Cancelled);
        }
        list_one(root, directory, limits, protected, &mut tree, &mut todo);
    }
    Ok(tree)
}

fn list_one(
    root: &Root,
    directory: Directory,
    limits: Limits,
    protected: &Snapshot,
    tree: &mut Tree,
    todo: &mut Vec<Directory>,
) {
    let listed = root.list(&directory.path).map_err(SkipReason::from).and_then(|listing| {
        let rules = Rules::of_directory(root, &directory.path, &listing.entries, directory.rules)?;
        Ok((listing, rules))
    });
    let Ok((listing, rules)) = listed else {
        tree.skip(SkipReason::Unreadable);
        tree.unread.insert(directory.path);
        return;
    };
    for entry in &listing.entries {
        let path = Path::new(&directory.path).join(&entry.name);
        let is_directory = entry.metadata.is_some_and(|found| found.kind == FileKind::Directory);
        let is_ignored = rules.as_ref().is_some_and(|rules| rules.is_ignored(&path, is_directory));
        let is_protected = entry.metadata.is_some_and(|found| protected.contains(found.identity));
        if is_ignored || is_protected || is_never_entered(&entry.name, is_directory) {
            continue;
        }
        let is_included =
            rules.as_ref().is_some_and(|rules| rules.is_included(&path, is_directory));
        if let Some(skip) = leftovers::reason(&entry.name, is_directory).filter(|_| !is_included) {
            tree.skip(skip);
            continue;
        }
        match classify_entry(entry, &path, limits) {
            Ok(Classified::File(candidate)) => tree.candidates.push(candidate),
            Ok(Classified::Directory(path)) => todo.push(Directory { path, rules: rules.clone() }),
            Err(skip) => {
                tree.skip(skip);
                if skip == SkipReason::Unreadable {
                    tree.unread.extend(path.to_str().map(str::to_owned));
                }
            }
        }
    }
    if !listing.is_complete {
        tree.skip(SkipReason::Unreadable);
        tree.unread.insert(directory.path);
    }
}

fn is_never_entered(name: &OsStr, is_directory: bool) -> bool {
    // In a work tree of `git worktree` and in a submodule, `.git` is a file.
    name == ".git" || (is_directory && IGNORED_DIRECTORIES.iter().any(|ignored| name == *ignored))
}

fn classify_entry(entry: &Entry, path: &Path, limits: Limits) -> Result<Classified, SkipReason> {
    let Metadata { kind, size, .. } = entry.metadata.ok_or(SkipReason::Unreadable)?;
    match kind {
        FileKind::Directory => Ok(Classified::Directory(storable_path(path)?)),
        FileKind::Link => Err(SkipReason::Symlink),
        FileKind::File => {
            let path = storable_path(path)?;
            if size > limits.file_bytes {
                return Err(SkipReason::TooLarge);
            }
            Ok(Classified::File(Candidate { path, size }))
        }
        FileKind::Other => Err(SkipReason::NotAFile),
    }
}

/// Returns the path as it is stored.
fn storable_path(path: &Path) -> Result<String, SkipReason> {
    path.to_str()
        .filter(|path| path.len() <= MAX_PATH_BYTES && !path.contains(char::is_control))
        .map(str::to_owned)
        .ok_or(SkipReason::BadName)
}
