//! Goes through the folders of a tree.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;

use super::ignore_rules::Rules;
use super::open::Entry;
use super::{Candidate, IGNORED_FOLDERS, Limits, MAX_PATH_BYTES, Root, SkipReason, Tree};
use crate::Error;

/// A folder that is still to be listed.
struct Folder {
    path: String,
    /// Of the folders around it.
    rules: Option<Arc<Rules>>,
}

/// What an entry turns out to be.
enum Found {
    File(Candidate),
    Folder(String),
}

/// Finds the candidates below `root`, in no particular order. A folder whose name can't be stored
/// counts once and is not entered.
pub(super) fn list(
    root: &Root,
    limits: Limits,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Tree, Error> {
    let mut tree = Tree::default();
    let mut todo = vec![Folder { path: String::new(), rules: None }];
    while let Some(folder) = todo.pop() {
        if is_cancelled() {
            return Err(Error::Cancelled);
        }
        list_one(root, folder, limits, &mut tree, &mut todo);
    }
    Ok(tree)
}

fn list_one(root: &Root, folder: Folder, limits: Limits, tree: &mut Tree, todo: &mut Vec<Folder>) {
    let Ok(listing) = root.list(&folder.path) else {
        tree.skip(SkipReason::Unreadable);
        tree.unread.insert(folder.path);
        return;
    };
    let rules = Rules::of_folder(root, &folder.path, &listing.entries, folder.rules);
    for entry in &listing.entries {
        let path = Path::new(&folder.path).join(&entry.name);
        let is_folder = entry.found.is_some_and(|(kind, _)| kind == FileType::Directory);
        let is_ignored = rules.as_ref().is_some_and(|rules| rules.ignore(&path, is_folder));
        if is_ignored || is_never_entered(&entry.name, is_folder) {
            continue;
        }
        match classify_entry(entry, &path, limits) {
            Ok(Found::File(candidate)) => tree.candidates.push(candidate),
            Ok(Found::Folder(path)) => todo.push(Folder { path, rules: rules.clone() }),
            Err(skip) => {
                tree.skip(skip);
                if skip == SkipReason::Unreadable {
                    tree.unread.extend(path.to_str().map(str::to_owned));
                }
            }
        }
    }
    if !listing.is_whole {
        tree.skip(SkipReason::Unreadable);
        tree.unread.insert(folder.path);
    }
}

fn is_never_entered(name: &OsStr, is_folder: bool) -> bool {
    // In a work tree of `git worktree` and in a submodule, `.git` is a file.
    name == ".git" || (is_folder && IGNORED_FOLDERS.iter().any(|ignored| name == *ignored))
}

fn classify_entry(entry: &Entry, path: &Path, limits: Limits) -> Result<Found, SkipReason> {
    let (kind, size) = entry.found.ok_or(SkipReason::Unreadable)?;
    match kind {
        FileType::Directory => Ok(Found::Folder(named(path)?)),
        FileType::Symlink => Err(SkipReason::Symlink),
        FileType::RegularFile => {
            let path = named(path)?;
            if size > limits.file_bytes {
                return Err(SkipReason::TooLarge);
            }
            Ok(Found::File(Candidate { path, size }))
        }
        _ => Err(SkipReason::NotAFile),
    }
}

/// The path as it is stored.
fn named(path: &Path) -> Result<String, SkipReason> {
    path.to_str()
        .filter(|path| path.len() <= MAX_PATH_BYTES && !path.contains(char::is_control))
        .map(str::to_owned)
        .ok_or(SkipReason::BadName)
}
