//! Applies a checked patch to its tree.

use mc_domain::{Classified, ErrorKind};
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

impl Classified for WriteError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::DoesNotApply => ErrorKind::Conflict,
            Self::Failed { cause, .. } | Self::Incomplete { cause, .. } => cause.kind(),
        }
    }
}

/// Applies a patch to the tree that it was checked against: all of its files, or none. A file that
/// was changed meanwhile is not overwritten. Like git, deletes directories that become empty.
pub fn write<E>(root: &Root, checked: &CheckedPatch<E>) -> Result<(), WriteError> {
    if !checked.applies() {
        return Err(WriteError::DoesNotApply);
    }
    let mut done: Vec<Step> = Vec::new();
    for step in steps(root, checked) {
        match step.and_then(|step| step.run(root)) {
            Ok(step) => done.push(step),
            Err(StepError { path, cause }) => return Err(restored(root, done, path, cause)),
        }
    }
    let removed = done.iter().filter(|step| step.after.is_none());
    removed.for_each(|step| remove_empty(root, parents(&step.path)));
    Ok(())
}

/// Deletes directories, the deepest first, until one has files or can't be deleted.
fn remove_empty<'a>(root: &Root, directories: impl Iterator<Item = &'a str>) {
    for directory in directories {
        if root.remove_empty_directory(directory).is_err() {
            return;
        }
    }
}

/// Returns the directories around a path, the deepest first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(end, _)| &path[..end])
}

/// Undoes the steps, last first, and returns the error for the one that failed.
fn restored(root: &Root, done: Vec<Step>, path: String, cause: FileError) -> WriteError {
    for step in done.into_iter().rev() {
        let (left, created) = (step.path.clone(), step.created_directories);
        let undone = Step { before: step.after, after: step.before, ..step };
        if undone.run(root).is_err() {
            return WriteError::Incomplete { path, cause, left };
        }
        let directories = parents(&left).take(created);
        remove_empty(root, directories);
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
    /// Number of directories that were created for it.
    created_directories: usize,
}

struct StepError {
    path: String,
    cause: FileError,
}

impl Step {
    fn run(self, root: &Root) -> Result<Self, StepError> {
        let path = self.path.as_str();
        let result = match (&self.before, &self.after) {
            (Some(before), Some(after)) => root.replace_content(path, before, after).map(|()| 0),
            (Some(before), None) => self.remove(root, before).map(|()| 0),
            (None, Some(after)) => self.create(root, after),
            (None, None) => Ok(0),
        };
        match result {
            Ok(created_directories) => Ok(Self { created_directories, ..self }),
            Err(cause) => Err(StepError { path: self.path, cause }),
        }
    }

    /// Creates the file, and returns the number of directories that were created for it.
    fn create(&self, root: &Root, content: &[u8]) -> Result<usize, FileError> {
        let missing = parents(&self.path).take_while(|path| root.metadata(path).is_err()).count();
        if let Some(directory) = parents(&self.path).next() {
            root.create_directories(directory)?;
        }
        let created = root.create(&self.path, content, self.permissions);
        if created.is_err() {
            remove_empty(root, parents(&self.path).take(missing));
        }
        created.map(|()| missing)
    }

    fn remove(&self, root: &Root, before: &[u8]) -> Result<(), FileError> {
        if root.read(&self.path, before.len() as u64 + 1)? != before {
            return Err(FileError::Changed);
        }
        root.remove(&self.path)
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
    Step { path: file.patch.path.clone(), before, after, permissions, created_directories: 0 }
}

/// Returns the deletion of the old path.
fn removal<E>(root: &Root, file: &PlannedFile<E>) -> Option<Result<Step, StepError>> {
    let path = file.patch.old_path()?.to_owned();
    let permissions = match root.metadata(&path) {
        Ok(found) => found.permissions & 0o777,
        Err(cause) => return Some(Err(StepError { path, cause })),
    };
    let (before, after) = (file.before.clone(), None);
    Some(Ok(Step { path, before, after, permissions, created_directories: 0 }))
}

/// Returns the permission bits of a new file: those of the file that it is made from.
fn permissions(root: &Root, patch: &FilePatch) -> u32 {
    let of_source = patch.old_path().and_then(|path| root.metadata(path).ok());
    let of_source = of_source.map(|found| found.permissions & 0o777);
    of_source.unwrap_or(if patch.is_executable { EXECUTABLE } else { REGULAR })
}
