use mc_domain::{Classified, ErrorKind};
use mc_store::ingest_runs::{Counts, FileError};

/// Error that ends a run. A problem with a single file never does.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tree can't be made available.
    #[error(transparent)]
    Git(mc_git::Error),
    /// The tree can't be walked.
    #[error(transparent)]
    Files(#[from] mc_files::Error),
    /// A stored pattern of the files to index is not valid.
    #[error(transparent)]
    InvalidPattern(#[from] crate::walk::InvalidPattern),
    /// The tree has files to index, and none of them could be read or stored.
    #[error("none of the files could be read or stored, {failed} failed: {first}")]
    NothingStored {
        /// Number of files and directories that failed.
        failed: i32,
        /// Paths and causes of the first of them.
        first: String,
    },
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
    /// Another worker has taken over the run, or the run was deleted.
    #[error("another worker has taken over this run")]
    RunTakenOver,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// The observer of changed files failed.
    #[error("the citations of changed files could not be checked: {0}")]
    Observer(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the error of a run with these counts, which stored nothing.
    pub(crate) fn nothing_stored(counts: &Counts) -> Self {
        const NAMED: usize = 3;
        let first = counts.file_errors.iter().take(NAMED);
        let first: Vec<_> =
            first.map(|FileError { path, cause }| format!("{path}: {cause}")).collect();
        Self::NothingStored { failed: counts.failed_files, first: first.join("; ") }
    }
}

impl From<mc_git::Error> for Error {
    fn from(error: mc_git::Error) -> Self {
        match error {
            mc_git::Error::Cancelled => Self::Cancelled,
            error => Self::Git(error),
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Git(error) => error.kind(),
            Self::Files(error) => error.kind(),
            Self::Cancelled => ErrorKind::Unavailable,
            Self::Observer(_) => ErrorKind::Internal,
            Self::RunTakenOver => ErrorKind::Conflict,
            Self::Store(error) => error.kind(),
            Self::InvalidPattern(_) | Self::NothingStored { .. } => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Git(error) => error.field(),
            Self::Files(_) => Some("location".into()),
            _ => None,
        }
    }
}
