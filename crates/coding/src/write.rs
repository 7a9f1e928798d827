//! Applies a checked patch to its tree.

use mc_files::{FileError, Root};
use mc_patch::{FilePatch, Operation, PlannedFile};

use crate::CheckedPatch;

/// Permission bits of created files.
const REGULAR: u32 = 0o644;
const EXECUTABLE: u32 = 0o755;

/// Why a patch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Some of its files can't be changed.
    #[error("the patch does not apply, so no file was changed; check it to see why")]
    DoesNotApply,
    /// A file could not be written.
    #[error("{path} {cause}; no file was changed")]
    Failed {
        /// The file.
        path: String,
        /// Why.
        cause: FileError,
    },
    /// A file could not be written, and the files before it could not be restored.
    #[error("{path} {cause}, and {left} could not be restored; restore it with git")]
    Incomplete {
        /// The file.
        path: String,
        /// Why.
        cause: FileError,
        /// File that was changed.
        left: String,
    },
}

/// Applies a patch to the tree that it was checked against: all of its files, or none. A file that
/// was changed meanwhile is not overwritten.
pub fn write<E>(root: &Root, checked: &CheckedPatch<E>) -> Result<(), WriteError> {
    if !checked.applies() {
        return Err(WriteError::DoesNotApply);
    }
    let mut done: Vec<Step> = Vec::new();
    for step in steps(root, checked) {
        let result = step.and_then(|step| step.run(root).map(|()| step));
        match result {
            Ok(step) => done.push(step),
            Err(StepError { path, cause }) => return Err(restored(root, done, path, cause)),
        }
    }
    Ok(())
}

/// Undoes the steps, last first, and returns the error for the one that failed.
fn restored(root: &Root, done: Vec<Step>, path: String, cause: FileError) -> WriteError {
    for step in done.into_iter().rev() {
        let left = step.path.clone();
        if step.undone().run(root).is_err() {
            return WriteError::Incomplete { path, cause, left };
        }
    }
    WriteError::Failed { path, cause }
}

/// Change of one path.
#[derive(Debug, Clone)]
struct Step {
    path: String,
    /// Content before; `None` if the file is created.
    before: Option<Vec<u8>>,
    /// Content afterwards; `None` if the file is deleted.
    after: Option<Vec<u8>>,
    /// Permission bits of a file that is created.
    permissions: u32,
}

struct StepError {
    path: String,
    cause: FileError,
}

impl Step {
    fn run(&self, root: &Root) -> Result<(), StepError> {
        let path = self.path.as_str();
        let failed = |cause| StepError { path: path.to_owned(), cause };
        let result = match (&self.before, &self.after) {
            (Some(before), Some(after)) => root.replace_content(path, before, after),
            (Some(before), None) => self.remove(root, before),
            (None, Some(after)) => self.create(root, after),
            (None, None) => Ok(()),
        };
        result.map_err(failed)
    }

    fn create(&self, root: &Root, content: &[u8]) -> Result<(), FileError> {
        if let Some((directory, _)) = self.path.rsplit_once('/') {
            root.create_directories(directory)?;
        }
        root.create(&self.path, content, self.permissions)
    }

    fn remove(&self, root: &Root, before: &[u8]) -> Result<(), FileError> {
        if root.read(&self.path, before.len() as u64 + 1)? != before {
            return Err(FileError::Changed);
        }
        root.remove(&self.path)
    }

    fn undone(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }
}

/// Returns the steps: first the deletions, so that other files may take their places, and last the
/// creations.
fn steps<'a, E>(
    root: &'a Root,
    checked: &'a CheckedPatch<E>,
) -> impl Iterator<Item = Result<Step, StepError>> + 'a {
    let files = || checked.files.iter();
    let removed = files()
        .filter(|file| matches!(file.patch.operation, Operation::Delete | Operation::Rename));
    let removed: Vec<_> = removed.filter_map(|file| removal(root, file)).collect();
    let modified = files().filter(|file| file.patch.operation == Operation::Modify);
    let modified = modified.map(|file| Ok(step(file, file.before.clone(), REGULAR)));
    let created = files()
        .filter(|file| !matches!(file.patch.operation, Operation::Modify | Operation::Delete));
    let created: Vec<_> =
        created.map(|file| Ok(step(file, None, permissions(root, &file.patch)))).collect();
    removed.into_iter().chain(modified).chain(created)
}

fn step<E>(file: &PlannedFile<E>, before: Option<Vec<u8>>, permissions: u32) -> Step {
    let after = file.outcome.as_ref().ok().and_then(|applied| applied.content.clone());
    Step { path: file.patch.path.clone(), before, after, permissions }
}

/// Returns the deletion of the old path.
fn removal<E>(root: &Root, file: &PlannedFile<E>) -> Option<Result<Step, StepError>> {
    let path = file.patch.old_path()?.to_owned();
    let permissions = match root.metadata(&path) {
        Ok(found) => found.permissions & 0o777,
        Err(cause) => return Some(Err(StepError { path, cause })),
    };
    Some(Ok(Step { path, before: file.before.clone(), after: None, permissions }))
}

/// Returns the permission bits of a new file: those of the file that it is made from.
fn permissions(root: &Root, patch: &FilePatch) -> u32 {
    let of_source = patch.old_path().and_then(|path| root.metadata(path).ok());
    let of_source = of_source.map(|found| found.permissions & 0o777);
    of_source.unwrap_or(if patch.is_executable { EXECUTABLE } else { REGULAR })
}
