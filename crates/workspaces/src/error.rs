use mc_contract::ValidationError;
use mc_domain::{Classified, ErrorKind};
use mc_files::FileError;
use mc_text_edit::EditError;

use crate::navigation::Action;
use crate::path::{ROOT, display};

/// Error of an access to a workspace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path leads out of the workspace.
    #[error(
        "Path is outside the sandbox: {0}; give a path in {ROOT}, or one relative to the current \
         directory"
    )]
    OutsidePath(String),
    /// A path leads into the directory of git.
    #[error("{0} is in git's own directory, which is not accessed; use git_tool instead")]
    PathOfGit(String),
    /// A path is longer than any path of a file.
    #[error("the path has more than {0} bytes; give a shorter one")]
    PathTooLong(usize),
    /// A subcommand was called without the path that it needs.
    #[error(
        "Path is required for {0}; give a path in {ROOT}, or one relative to the current directory"
    )]
    PathRequired(&'static str),
    /// The path of a directory leads to a file.
    #[error("{} is not a directory; give the path of one", display(.0))]
    NotADirectory(String),
    /// The current directory can't be changed, since it is locked.
    #[error(
        "the current directory {} is locked in the edit phase; call navigator with the subcommand \
         unlock first",
        display(.cwd)
    )]
    LockedDirectory {
        /// Path of the locked directory from the root.
        cwd: String,
    },
    /// A tool of the edit phase was called in discovery.
    #[error(
        "Cannot {} in discovery phase. Use navigator.lock_cwd() first: go to the directory with \
         the subcommand cd, then call lock_cwd",
        .0.verb_phrase()
    )]
    DiscoveryPhase(Action),
    /// The path of a file to change is absolute.
    #[error("{path} is absolute; give a path relative to the locked directory {}", display(.cwd))]
    AbsolutePath {
        /// The path as it was given.
        path: String,
        /// Path of the locked directory from the root.
        cwd: String,
    },
    /// The path of a file to change leads to the locked directory.
    #[error("{} is the locked directory itself; give the path of a file below it", display(.cwd))]
    LockedDirectoryItself {
        /// Path of the locked directory from the root.
        cwd: String,
    },
    /// A file to change is not below the locked directory.
    #[error(
        "{path} is not below the locked directory {}; call navigator with the subcommands unlock, \
         cd and lock_cwd to work in another one",
        display(.cwd)
    )]
    OutsideLockedDirectory {
        /// The path as it was given.
        path: String,
        /// Path of the locked directory from the root.
        cwd: String,
    },
    /// A file or directory can't be accessed.
    #[error("{} {error}", display(.path), error = .error)]
    File {
        /// Path from the root of the workspace.
        path: String,
        /// Why.
        error: FileError,
    },
    /// A file is too large to be viewed or edited.
    #[error(
        "{} has more than {max} bytes; find lines of it with the subcommand grep of navigator, or \
         read parts of it in bash",
        display(.path)
    )]
    FileTooLarge {
        /// Path from the root of the workspace.
        path: String,
        /// Maximum size, in bytes.
        max: u64,
    },
    /// A file has changed since it was viewed.
    #[error("{} has been changed since it was viewed; view it again", display(.0))]
    ChangedFile(String),
    /// An edit can't be undone, since the file has changed since.
    #[error(
        "{} has been changed since the edit, so the edit can't be undone; view the file, and edit \
         it again",
        display(.0)
    )]
    NotUndone(String),
    /// A view or an edit is refused.
    #[error("{}: {error}", display(.path), error = .error)]
    Edit {
        /// Path from the root of the workspace.
        path: String,
        /// Why.
        error: EditError,
    },
    /// No edit of a file is kept that could be undone.
    #[error(
        "there is no edit of {} to undo: it was not edited here, or only before the last edits \
         that are kept; use git_tool with the subcommand checkout to restore a committed version",
        display(.0)
    )]
    NothingToUndo(String),
    /// The caller may not change the workspace.
    #[error(
        "the workspace is read-only, so the edit phase can't start; read files with navigator, \
         fetch the repository into a workspace of your own, or have the directory registered again \
         with `editable: true`"
    )]
    ReadOnlyWorkspace,
    /// Git's own directory is in the tree, which a command could change.
    #[error(
        "no commands run in a registered directory, since git's own directory is in its tree; call \
         github_repository_fetch (POST /workspaces) for a workspace that is a clone"
    )]
    CommandsInPlace,
    /// The fields of a request don't fit its subcommand.
    #[error("{} {}", .0.field, .0.reason)]
    Request(#[from] ValidationError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] mc_git::Error),
    /// The sandbox of commands failed.
    #[error(transparent)]
    Sandbox(#[from] mc_sandbox::Error),
    /// A glob is not valid.
    #[error(transparent)]
    Glob(#[from] mc_search::glob::InvalidGlob),
    /// A regular expression is not valid.
    #[error(
        "the pattern is not a valid regular expression ({0}); escape special characters with \
         \"\\\", or use literal: true"
    )]
    Pattern(String),
}

impl Error {
    /// Returns a conversion of errors at a path from the root of the workspace.
    pub(crate) fn at(path: &str) -> impl FnOnce(FileError) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }

    /// Returns a conversion of errors of a file that is read whole.
    pub(crate) fn only_file(path: &str) -> impl FnOnce(FileError) -> Self {
        let path = path.to_owned();
        move |error| match error {
            FileError::TooLarge(max) => Self::FileTooLarge { path, max },
            FileError::Changed => Self::ChangedFile(path),
            error => Self::File { path, error },
        }
    }

    /// Returns a conversion of refused edits at a path from the root of the workspace.
    pub(crate) fn edit_of(path: &str) -> impl FnOnce(EditError) -> Self {
        let path = path.to_owned();
        move |error| Self::Edit { path, error }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::File { error, .. } => error.kind(),
            Self::Edit { error, .. } => error.kind(),
            Self::Git(error) => error.kind(),
            Self::Sandbox(error) => error.kind(),
            Self::FileTooLarge { .. } => ErrorKind::TooLarge,
            Self::ReadOnlyWorkspace => ErrorKind::Forbidden,
            Self::LockedDirectory { .. }
            | Self::DiscoveryPhase(_)
            | Self::ChangedFile(_)
            | Self::NotUndone(_)
            | Self::NothingToUndo(_)
            | Self::CommandsInPlace => ErrorKind::Conflict,
            Self::OutsidePath(_)
            | Self::PathOfGit(_)
            | Self::PathTooLong(_)
            | Self::PathRequired(_)
            | Self::NotADirectory(_)
            | Self::AbsolutePath { .. }
            | Self::LockedDirectoryItself { .. }
            | Self::OutsideLockedDirectory { .. }
            | Self::Request(_)
            | Self::Glob(_)
            | Self::Pattern(_) => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Glob(_) | Self::Pattern(_) => Some("pattern".into()),
            Self::Edit { error, .. } => error.field(),
            Self::Request(error) => Some(error.field.clone()),
            Self::Git(mc_git::Error::InvalidRef(_) | mc_git::Error::UnknownRef(_)) => {
                Some("revision".into())
            }
            Self::LockedDirectory { .. }
            | Self::DiscoveryPhase(_)
            | Self::ReadOnlyWorkspace
            | Self::CommandsInPlace
            | Self::Git(_)
            | Self::Sandbox(_) => None,
            _ => Some("path".into()),
        }
    }
}
