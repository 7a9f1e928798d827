use mc_domain::{Classified, ErrorKind};
use mc_files::FileError;

use crate::path::ROOT;

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
    /// A file or directory can't be accessed.
    #[error("{ROOT}/{path} {error}", path = .path, error = .error)]
    File {
        /// Path from the root of the workspace.
        path: String,
        /// Why.
        error: FileError,
    },
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
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::File { error, .. } => error.kind(),
            Self::OutsidePath(_)
            | Self::PathOfGit(_)
            | Self::PathTooLong(_)
            | Self::Glob(_)
            | Self::Pattern(_) => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Glob(_) | Self::Pattern(_) => Some("pattern".into()),
            _ => Some("path".into()),
        }
    }
}
