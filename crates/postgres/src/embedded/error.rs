//! Errors of the embedded server. Each message names the way out.

use std::io;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// A result with an error of the embedded server.
pub type Result<T, E = EmbeddedError> = std::result::Result<T, E>;

/// A failed operation on the embedded server.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EmbeddedError {
    /// No installation meets the requirements; `rejected` has an indented line for each.
    #[error(
        "found no PostgreSQL 16 or newer with pgvector and contrib:\n{rejected}\
         run `make setup` to fetch one, or set DATABASE_URL to use a server that runs already"
    )]
    NoInstallation { rejected: String },
    /// Another process has locked the data directory; `pid` is its id, or `unknown`.
    #[error(
        "another memory-copilot (process {pid}) uses {}; stop it, or give this one a data \
         directory of its own",
        .data_dir.display()
    )]
    Locked { data_dir: PathBuf, pid: String },
    /// The cluster belongs to another major version.
    #[error(
        "{} was written by PostgreSQL {written_by}, and there is {available}; dump it with \
         PostgreSQL {written_by} (`pg_dumpall`) and restore it into a new data directory, or \
         install PostgreSQL {written_by} with pgvector, or point the data directory elsewhere",
        .cluster.display()
    )]
    MajorMismatch { cluster: PathBuf, written_by: String, available: String },
    /// The server's user can't reach a directory.
    #[error(
        "PostgreSQL does not run as root, and the user {user} that runs it instead can't reach \
         {}: {} is closed to it; choose a data directory that other users can reach, such as \
         /var/lib/memory-copilot",
        .path.display(), .closed.display()
    )]
    Unreachable { user: String, path: PathBuf, closed: PathBuf },
    /// The user to run the server as does not exist.
    #[error("there is no user \"{0}\" to run PostgreSQL as; name one that exists")]
    UnknownUser(String),
    /// The password file of a cluster is missing.
    #[error(
        "{} is missing, and without it the cluster next to it can't be used; restore the file, \
         or move the data directory to start with an empty one",
        .0.display()
    )]
    PasswordLost(PathBuf),
    /// A directory with foreign files, whose owner and mode the service would change.
    #[error(
        "{} holds files that are not memory-copilot's; choose an empty or new directory as data \
         directory",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// The path of the data directory can't hold a Unix socket.
    #[error(
        "the data directory {} can't hold a Unix socket (its path must be UTF-8 and at most \
         {max} bytes long); choose another one",
        .path.display()
    )]
    UnusablePath { path: PathBuf, max: usize },
    /// Processes of an earlier server do not end.
    #[error("processes {0:?} of an earlier PostgreSQL do not stop; end them, then try again")]
    StaleServer(Vec<i32>),
    /// A program of the installation failed; `detail` is its error output.
    #[error("{program} failed: {detail}")]
    Program { program: &'static str, detail: String },
    /// The server ended, or accepted no connection in time. Holds the end of its log.
    #[error("PostgreSQL did not start; the end of its log:\n{0}")]
    NotStarted(String),
    /// The server rejected a connection or a statement.
    #[error("the embedded PostgreSQL rejected a statement")]
    Rejected(#[source] sqlx::Error),
    /// A file operation failed; `doing` is a verb: "create", "read", ...
    #[error("can't {doing} {}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

impl EmbeddedError {
    /// Returns a function for `map_err` that adds the verb and the path.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

impl Classified for EmbeddedError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Locked { .. } | Self::MajorMismatch { .. } | Self::PasswordLost(_) => {
                ErrorKind::Conflict
            }
            Self::Unreachable { .. }
            | Self::UnknownUser(_)
            | Self::NotOurs(_)
            | Self::UnusablePath { .. } => ErrorKind::Invalid,
            Self::NoInstallation { .. } | Self::StaleServer(_) | Self::NotStarted(_) => {
                ErrorKind::Unavailable
            }
            Self::Program { .. } | Self::Rejected(_) | Self::Io { .. } => ErrorKind::Internal,
        }
    }
}
