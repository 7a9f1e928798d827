//! What a model has seen and edited: versions of files, and states to restore.

use std::collections::VecDeque;

use crate::edit::{Undo, Version};
use crate::navigation::EditPath;

/// Maximum number of edits that can be undone.
const MAX_EDITS: usize = 50;
/// Maximum size of the states that are kept, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of files whose versions are kept.
const MAX_FILES: usize = 1_000;

/// The last edits, and the versions of files as they were last seen. It is kept in memory, for one
/// caller and workspace.
///
/// A file that was seen is edited in this version only. So an edit can't hide a change of a command
/// or another person.
#[derive(Debug, Default)]
pub struct EditHistory {
    /// The newest one first.
    undos: VecDeque<Undo>,
    /// Size of all of them, in bytes.
    bytes: usize,
    /// By path from the root, the one that was seen last first.
    seen: VecDeque<(String, Version)>,
}

impl EditHistory {
    /// Returns the number of edits that can be undone.
    pub fn len(&self) -> usize {
        self.undos.len()
    }

    /// Returns whether no edit can be undone.
    pub fn is_empty(&self) -> bool {
        self.undos.is_empty()
    }

    /// Adds a file that the model sees. `path` is from the root.
    pub(super) fn see(&mut self, path: &str, version: Version) {
        self.forget(path);
        self.seen.push_front((path.to_owned(), version));
        self.seen.truncate(MAX_FILES);
    }

    /// Returns the version of a file that was seen last.
    pub(super) fn seen(&self, path: &EditPath) -> Option<Version> {
        let seen = self.seen.iter().find(|(seen, _)| seen == path.as_str());
        seen.map(|(_, version)| *version)
    }

    /// Adds an edit.
    pub(super) fn add(&mut self, undo: Undo) {
        self.see(undo.path().as_str(), undo.version_after());
        self.bytes += undo.size();
        self.undos.push_front(undo);
        while self.undos.len() > MAX_EDITS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.undos.pop_back() else { break };
            self.bytes -= oldest.size();
        }
    }

    /// Returns the last edit of a file.
    pub(super) fn last(&self, path: &EditPath) -> Option<&Undo> {
        self.undos.iter().find(|undo| undo.path() == path)
    }

    /// Removes the last edit of a file, which was undone.
    pub(super) fn remove_last(&mut self, path: &EditPath) {
        let at = self.undos.iter().position(|undo| undo.path() == path);
        let Some(undo) = at.and_then(|at| self.undos.remove(at)) else { return };
        self.bytes -= undo.size();
        match undo.version_before() {
            Some(version) => self.see(path.as_str(), version),
            None => self.forget(path.as_str()),
        }
    }

    fn forget(&mut self, path: &str) {
        self.seen.retain(|(seen, _)| seen != path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::navigation::{Navigation, Phase};

    fn path(name: &str) -> EditPath {
        Navigation::restore("", Phase::Edit)
            .and_then(|root| root.path_to_edit(name))
            .expect("a path")
    }

    /// An edit between states of so many bytes.
    fn edit(name: &str, before: usize, after: usize) -> Undo {
        Undo::new(&path(name), Some(vec![b'a'; before]), vec![b'b'; after])
    }

    #[test]
    fn oldest_edits_are_forgotten() {
        let mut history = EditHistory::default();
        history.add(edit("first", 1, 2));
        for _ in 0..MAX_EDITS {
            history.add(edit("many", 1, 2));
        }
        assert_eq!((history.len(), history.bytes), (50, 150));
        assert!(history.last(&path("first")).is_none() && history.last(&path("many")).is_some());
        for _ in 0..9 {
            history.add(edit("large", 1 << 20, 1 << 20));
        }
        assert_eq!((history.len(), history.bytes), (8, 16 << 20));
        history.remove_last(&path("large"));
        assert_eq!((history.len(), history.bytes), (7, 14 << 20));
        assert_eq!(history.seen(&path("large")), Some(Version::of(&vec![b'a'; 1 << 20])));
    }

    #[test]
    fn versions_of_many_files_are_forgotten() {
        let mut history = EditHistory::default();
        for number in 0..=MAX_FILES {
            history.see(&number.to_string(), Version::of(b"a"));
        }
        assert_eq!(history.seen(&path("0")), None);
        history.see("1", Version::of(b"b"));
        assert_eq!(history.seen(&path("1")), Some(Version::of(b"b")));
        assert_eq!(history.seen.len(), MAX_FILES);
    }
}
