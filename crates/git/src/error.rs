use std::io;
use std::path::Path;

use mc_domain::{Classified, ErrorKind};
use mc_files::{Error as FilesError, FileError};

/// Error of git, or of the rules of what it may reach.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The location is neither a directory nor a URL that git may fetch.
    #[error("{0}")]
    InvalidLocation(String),
    /// The directory or the repository cannot be reached now.
    #[error("{0}")]
    Unreachable(String),
    /// The repository does not exist, or the service has no access to it. A retry does not help.
    #[error(
        "{0}; check the location. For a private repository, ask a maintainer for an integration \
        with it, or an administrator of the service for its ssh URL"
    )]
    RepositoryNotFound(String),
    /// The host has no public address, and its private address is not allowed.
    #[error(
        "the host \"{0}\" has no public address; an administrator of the service may request the \
        repository with a token that has the scope `ingest:local`, or list the host in the \
        configuration (`ingest.allowed_private_hosts`)"
    )]
    PrivateAddress(String),
    /// The host redirects git to another URL, which is not followed.
    #[error(
        "the host redirects to another URL, which is not followed; give that URL, which often \
        differs by \".git\" at its end"
    )]
    Redirected,
    /// The version of `git` cannot restrict a connection to checked addresses.
    #[error(
        "{0} cannot be restricted to the checked addresses of a host; install git 2.37 or newer \
        for the service"
    )]
    GitTooOld(String),
    /// The text cannot be the name of a branch, tag or commit.
    #[error("\"{0}\" is not a valid ref; give the name of a branch or tag, or a commit")]
    InvalidRef(String),
    /// The requested branch, tag or commit is not in the repository.
    #[error(
        "the repository has no branch, tag or commit \"{0}\"; check the name, or leave out `ref` \
        for the default branch"
    )]
    UnknownRef(String),
    /// The `git` program could not be run.
    #[error(
        "git could not be run ({0}); install git where all users may run it, and make sure that it \
        is on the PATH"
    )]
    GitNotFound(std::io::Error),
    /// The credential can't be passed to git.
    #[error(
        "the credential can't be passed to git ({0}); store a password or token of one line, and \
        mount /proc for the service"
    )]
    Credential(io::Error),
    /// Another git has locked a file of the repository, or moved a ref meanwhile.
    #[error("another git works on the repository ({0}); try again when it has ended")]
    Locked(String),
    /// An operation on a work tree is rejected. The text has the next step.
    #[error("{0}")]
    Rejected(String),
    /// The service is root, and can't run or end a program, or own a file, as another user.
    #[error(
        "the service is root but can't run or end git, or create git's files, as the user {uid} \
        ({cause}); run the service as another user than root, or check that it has the \
        capabilities CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_KILL, that its \
        container has the ids up to 65535, and that the file system of data_dir stores the owners \
        of files"
    )]
    PrivilegesNotDropped {
        /// Id of the other user.
        uid: u32,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// Git runs as another user than the service, who can't enter a directory.
    #[error(
        "git runs as the user {uid}, which can't enter {closed} on the path to {path}; run \
        `chmod a+x {closed}`, or move the indexed directory (or data_dir) to another directory"
    )]
    ClosedDirectory {
        /// Id of the user.
        uid: u32,
        /// Directory in which git should run.
        path: String,
        /// Directory that the user can't enter.
        closed: String,
    },
    /// `git` did not finish in time.
    #[error(
        "git did not finish within {0} s; try again, with less at once if you can. An operator may \
        raise ingest.history.max_seconds, or workspaces.fetch_timeout_seconds for a workspace"
    )]
    Timeout(u64),
    /// A commit has too many files, or the repository or the commit's files are too large.
    #[error(
        "the repository has more than {files} files or {megabytes} MiB; an administrator may raise \
        ingest.repository.max_files and ingest.repository.max_megabytes in the configuration"
    )]
    RepositoryTooLarge {
        /// Maximum number of files.
        files: u64,
        /// Maximum size, in MiB.
        megabytes: u64,
    },
    /// The history of a repository is larger than the service may fetch.
    #[error(
        "the history has more than {} MiB; raise ingest.history.max_megabytes to have it read",
        .0 >> 20
    )]
    HistoryTooLarge(u64),
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
    /// A directory is protected, or the operating system refused an access.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A file of a tree can't be accessed.
    #[error("{path} {error}")]
    File {
        /// Path as the service knows it.
        path: String,
        /// Why.
        error: FileError,
    },
}

impl Error {
    /// Returns a conversion of errors of the operating system at this path.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let convert = FilesError::io(path);
        move |cause| convert(cause).into()
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable(_) | Self::Timeout(_) | Self::Cancelled | Self::Locked(_) => {
                ErrorKind::Unavailable
            }
            Self::GitNotFound(_)
            | Self::Credential(_)
            | Self::GitTooOld(_)
            | Self::PrivilegesNotDropped { .. }
            | Self::ClosedDirectory { .. } => ErrorKind::Internal,
            Self::PrivateAddress(_) => ErrorKind::Forbidden,
            Self::HistoryTooLarge(_) | Self::RepositoryTooLarge { .. } => ErrorKind::TooLarge,
            Self::RepositoryNotFound(_) => ErrorKind::NotFound,
            Self::InvalidLocation(_)
            | Self::Redirected
            | Self::Rejected(_)
            | Self::InvalidRef(_)
            | Self::UnknownRef(_) => ErrorKind::Invalid,
            Self::Files(error) => error.kind(),
            Self::File { error, .. } => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::InvalidLocation(_)
            | Self::RepositoryNotFound(_)
            | Self::PrivateAddress(_)
            | Self::RepositoryTooLarge { .. }
            | Self::Redirected
            | Self::Files(FilesError::Protected { .. } | FilesError::NotADirectory(_)) => {
                Some("location".into())
            }
            Self::InvalidRef(_) | Self::UnknownRef(_) => Some("ref".into()),
            _ => None,
        }
    }
}
