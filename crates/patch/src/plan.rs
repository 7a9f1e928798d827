//! Applies a patch of several files.

use std::collections::HashSet;
use std::fmt;

use crate::apply::{Applied, Tolerance, apply};
use crate::conflict::{Conflict, Reason};
use crate::types::{FilePatch, Operation, Patch};

/// The result for one file of a patch.
#[derive(Debug, Clone)]
pub struct PlannedFile<E> {
    /// Its part of the patch.
    pub patch: FilePatch,
    /// Content of [`FilePatch::old_path`]; `None` without such a file.
    pub before: Option<Vec<u8>>,
    /// The new content, or why there is none.
    pub outcome: Result<Applied, Failure<E>>,
}

/// Why a file of a patch can't be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure<E> {
    /// The patch does not fit.
    Conflict(Conflict),
    /// A file can't be read.
    Unreadable(E),
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(conflict) => conflict.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

/// Applies all files of a patch to the contents that `read` returns, `None` for a file that does
/// not exist. Each file is changed as it was before the patch: the order of the files means
/// nothing.
pub fn plan<E>(
    patch: Patch,
    tolerance: Tolerance,
    read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
) -> Vec<PlannedFile<E>> {
    let is_removed = |file: &&FilePatch| {
        file.refusal.is_none() && matches!(file.operation, Operation::Delete | Operation::Rename)
    };
    let removed = patch.files.iter().filter(is_removed);
    let removed: HashSet<String> =
        removed.filter_map(|file| file.old_path().map(str::to_owned)).collect();
    let mut planner =
        Planner { tolerance, read, removed, written: HashSet::new(), changed: HashSet::new() };
    patch.files.into_iter().map(|file| planner.file(file)).collect()
}

struct Planner<R> {
    tolerance: Tolerance,
    read: R,
    /// Paths that are free after the patch, unless it writes them.
    removed: HashSet<String>,
    written: HashSet<String>,
    /// Paths of the files that are changed, moved or deleted.
    changed: HashSet<String>,
}

impl<E, R: FnMut(&str) -> Result<Option<Vec<u8>>, E>> Planner<R> {
    fn file(&mut self, patch: FilePatch) -> PlannedFile<E> {
        let mut before = None;
        let outcome = self.outcome(&patch, &mut before);
        PlannedFile { patch, before, outcome }
    }

    fn outcome(
        &mut self,
        patch: &FilePatch,
        before: &mut Option<Vec<u8>>,
    ) -> Result<Applied, Failure<E>> {
        let conflict = |reason| Failure::Conflict(Conflict { hunk: None, reason });
        // A path that is refused is not read.
        if let Some(refusal) = patch.refusal {
            return Err(conflict(Reason::Refused(refusal)));
        }
        if !self.written.insert(patch.path.clone()) {
            return Err(conflict(Reason::Repeated));
        }
        let is_changed = patch.operation != Operation::Copy;
        if let Some(path) = patch.old_path() {
            if is_changed && !self.changed.insert(path.to_owned()) {
                return Err(conflict(Reason::Repeated));
            }
            *before = (self.read)(path).map_err(Failure::Unreadable)?;
        }
        let is_new =
            matches!(patch.operation, Operation::Create | Operation::Rename | Operation::Copy);
        if is_new && !self.removed.contains(&patch.path) {
            let existing = (self.read)(&patch.path).map_err(Failure::Unreadable)?;
            if existing.is_some() {
                return Err(conflict(Reason::Exists));
            }
        }
        apply(patch, before.as_deref(), self.tolerance).map_err(Failure::Conflict)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::parse;

    fn reasons(diff: &str, files: &[(&str, &str)]) -> Vec<Option<Reason>> {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            Ok::<_, Infallible>(found.map(|(_, content)| content.as_bytes().to_owned()))
        };
        let patch = parse(diff.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let planned = plan(patch, Tolerance::Exact, read);
        let reason = |file: PlannedFile<Infallible>| match file.outcome {
            Ok(_) => None,
            Err(Failure::Conflict(conflict)) => Some(conflict.reason),
            Err(Failure::Unreadable(error)) => match error {},
        };
        planned.into_iter().map(reason).collect()
    }

    #[test]
    fn files_of_a_patch_may_swap_their_places() {
        let diff = "diff --git a/a b/b\nrename from a\nrename to b\n\
                    diff --git a/b b/a\nrename from b\nrename to a\n";
        assert_eq!(reasons(diff, &[("a", "1"), ("b", "2")]), [None, None]);
        assert_eq!(reasons(diff, &[("a", "1")]), [None, Some(Reason::Missing)]);
    }

    #[test]
    fn targets_must_be_free_and_files_be_named_once() {
        let copy = "diff --git a/a b/b\ncopy from a\ncopy to b\n";
        assert_eq!(reasons(copy, &[("a", "1"), ("b", "2")]), [Some(Reason::Exists)]);
        let change = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n";
        let twice = reasons(&change.repeat(2), &[("a", "1\n")]);
        assert_eq!(twice, [None, Some(Reason::Repeated)]);
        let moved = "diff --git a/a b/b\nrename from a\nrename to b\n".to_owned();
        let moved_and_changed =
            reasons(&(moved + "diff --git a/a b/a\n" + change), &[("a", "1\n")]);
        assert_eq!(moved_and_changed, [None, Some(Reason::Repeated)]);
    }
}
