//! Checks a patch against a tree of files.

use std::fmt;

use mc_files::{FileError, Root};
use mc_patch::{
    Failure, FilePatch, Grade, ParseError, Patch, PlannedFile, Reason, Refusal, Tolerance, parse,
    plan, render,
};

use crate::risk::{Risk, risks};

/// Limits of a patch.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum size of its text, in bytes.
    pub max_diff_bytes: usize,
    /// Maximum number of its files.
    pub max_files: usize,
    /// Maximum number of its hunks. Each is searched in its file.
    pub max_hunks: usize,
    /// Maximum size of a file that it changes, in bytes.
    pub max_file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_diff_bytes: 256 * 1024,
            max_files: 25,
            max_hunks: 2_000,
            max_file_bytes: 2 << 20,
        }
    }
}

/// Why a text can't be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The text is no patch.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The text is too long.
    #[error("the patch has {bytes} bytes, more than the limit of {max}; split it into several")]
    TooLarge {
        /// Size of the text.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The patch changes too many files.
    #[error("the patch changes {files} files, more than the limit of {max}; split it into several")]
    TooManyFiles {
        /// Number of files.
        files: usize,
        /// The limit.
        max: usize,
    },
    /// The patch changes too many places.
    #[error(
        "the patch changes {hunks} places, more than the limit of {max}; split it into several"
    )]
    TooManyHunks {
        /// Number of places.
        hunks: usize,
        /// The limit.
        max: usize,
    },
}

/// A patch with what it would do to a tree. `E` is why a file can't be read or changed.
#[derive(Debug)]
pub struct CheckedPatch<E = FileError> {
    /// Its files, in the order of the text.
    pub files: Vec<PlannedFile<E>>,
    /// What deserves a second look, by path.
    pub risks: Vec<Risk>,
}

/// Why a file of a patch is not changed.
#[derive(Debug)]
pub enum Problem<'a, E = FileError> {
    /// Such a change is never applied.
    Refused(Refusal),
    /// The patch does not fit, or the file can't be read.
    Conflict(&'a Failure<E>),
}

impl<E: fmt::Display> fmt::Display for Problem<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(refusal.message()),
            Self::Conflict(failure) => failure.fmt(f),
        }
    }
}

impl<E> CheckedPatch<E> {
    /// Returns whether all files can be changed.
    pub fn applies(&self) -> bool {
        self.problems().next().is_none()
    }

    /// Returns the files that can't be changed.
    pub fn problems(&self) -> impl Iterator<Item = (&FilePatch, Problem<'_, E>)> {
        self.files.iter().filter_map(|file| {
            let failure = file.outcome.as_ref().err()?;
            let problem = match failure {
                Failure::Conflict(conflict) => match conflict.reason {
                    Reason::Refused(refusal) => Problem::Refused(refusal),
                    _ => Problem::Conflict(failure),
                },
                Failure::Unreadable(_) => Problem::Conflict(failure),
            };
            Some((&file.patch, problem))
        })
    }

    /// Returns the least exact grade of the files that can be changed.
    pub fn grade(&self) -> Grade {
        let applied = self.files.iter().filter_map(|file| file.outcome.as_ref().ok());
        applied.map(mc_patch::Applied::grade).max().unwrap_or(Grade::Exact)
    }

    /// Returns a clean unified diff of the files that can be changed.
    pub fn diff(&self) -> Vec<u8> {
        let applied =
            self.files.iter().filter_map(|file| Some((file, file.outcome.as_ref().ok()?)));
        applied
            .flat_map(|(file, applied)| render(&file.patch, file.before.as_deref(), applied))
            .collect()
    }
}

/// Checks a unified diff or search/replace blocks against a tree. Nothing is changed.
pub fn check(root: &Root, text: &[u8], limits: Limits) -> Result<CheckedPatch, CheckError> {
    let patch = parsed(text, limits)?;
    let risks = risks(&patch);
    let files =
        plan(patch, Tolerance::Tolerant, |path| match root.read(path, limits.max_file_bytes) {
            Ok(content) => Ok(Some(content)),
            Err(FileError::Missing) => Ok(None),
            Err(error) => Err(error),
        });
    Ok(CheckedPatch { files, risks })
}

/// Parses a patch that is within the limits.
pub(crate) fn parsed(text: &[u8], limits: Limits) -> Result<Patch, CheckError> {
    if text.len() > limits.max_diff_bytes {
        return Err(CheckError::TooLarge { bytes: text.len(), max: limits.max_diff_bytes });
    }
    let patch = parse(text)?;
    if patch.files.len() > limits.max_files {
        let (files, max) = (patch.files.len(), limits.max_files);
        return Err(CheckError::TooManyFiles { files, max });
    }
    let hunks = patch.files.iter().map(|file| file.hunks.len()).sum();
    if hunks > limits.max_hunks {
        return Err(CheckError::TooManyHunks { hunks, max: limits.max_hunks });
    }
    Ok(patch)
}
