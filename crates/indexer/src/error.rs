use mc_domain::{Classified, ErrorKind};

/// What can go wrong with a tree as a whole; a single file never stops a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The location is neither a folder nor a URL that git may fetch.
    #[error("{0}")]
    BadLocation(String),
    /// The folder or the repository behind the URL can't be had.
    #[error("{0}")]
    Unreachable(String),
    /// The repository is not there, or not for us; asked again, the answer would be the same.
    #[error(
        "{0}; check the location; a private repository needs its ssh URL and a key that the \
        service may use"
    )]
    NoRepository(String),
    /// The host has no address outside of the service's network, and nobody opened it.
    #[error(
        "\"{0}\" leads to no address outside of the service's network; an administrator of the \
        service may have it \
         indexed from there, or list the host in the configuration (`ingest.allowed_private_hosts`)"
    )]
    Inside(String),
    /// The host sends git on to another address, where it may not go.
    #[error(
        "the host sends git on to another address, which is not followed; give that one, which \
        often differs by \
         \".git\" at its end"
    )]
    SentOn,
    /// This `git` can't be held to addresses.
    #[error("{0} can't be held to a host's addresses; install git 2.37 or newer for the service")]
    OldGit(String),
    /// No branch, tag or commit can be called that.
    #[error("\"{0}\" can't be a ref; give the name of a branch or tag, or a commit")]
    BadRef(String),
    /// The requested branch, tag or commit is not in the repository.
    #[error("the repository has no branch, tag or commit \"{0}\"")]
    UnknownRef(String),
    /// The `git` program could not be run.
    #[error("git could not be run ({0}); install git and make sure that it is on the PATH")]
    NoGit(std::io::Error),
    /// `git` took too long.
    #[error("git did not finish within {0} s")]
    Timeout(u64),
    /// The history of a repository is larger than the service may fetch.
    #[error(
        "the history takes more than {0} bytes; raise ingest.history.max_megabytes to have it read"
    )]
    HistoryTooLarge(u64),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// Another worker has taken the run, or it was deleted.
    #[error("another worker has taken over this run")]
    Lost,
    /// The database.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// Whoever wanted to hear of changed files failed.
    #[error("the citations of changed files could not be checked: {0}")]
    Observer(Box<dyn std::error::Error + Send + Sync>),
    /// The folder could not be read.
    #[error("{path} can't be read: {cause}")]
    Io {
        /// The file or folder, as the user named it.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable(_) | Self::Timeout(_) | Self::Cancelled => ErrorKind::Unavailable,
            Self::NoGit(_) | Self::OldGit(_) | Self::Observer(_) => ErrorKind::Internal,
            Self::Inside(_) => ErrorKind::Forbidden,
            Self::HistoryTooLarge(_) => ErrorKind::TooLarge,
            Self::Lost => ErrorKind::Conflict,
            Self::Store(error) => error.kind(),
            Self::NoRepository(_) => ErrorKind::NotFound,
            Self::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound => {
                ErrorKind::NotFound
            }
            Self::BadLocation(_)
            | Self::SentOn
            | Self::BadRef(_)
            | Self::UnknownRef(_)
            | Self::Io { .. } => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::BadLocation(_) | Self::NoRepository(_) | Self::Inside(_) | Self::SentOn => {
                Some("location".into())
            }
            Self::BadRef(_) | Self::UnknownRef(_) => Some("ref".into()),
            _ => None,
        }
    }
}
