//! What keeps the private server from starting, each with the way out.

use std::io;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// The private server can't be started.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// No installation can serve.
    #[error(
        "found no PostgreSQL 16 or newer with pgvector and contrib:\n{looked_at}\
         run `make setup` to fetch one, or set DATABASE_URL to use a server that runs already"
    )]
    NoInstallation {
        /// What was looked at and why it won't do, one indented line each.
        looked_at: String,
    },
    /// Another service works on the same folder.
    #[error(
        "another memory-copilot (process {pid}) uses {}; stop it, or give this one a data \
         directory of its own",
        .data_dir.display()
    )]
    Locked {
        /// The folder in question.
        data_dir: PathBuf,
        /// The process that holds it, or `unknown`.
        pid: String,
    },
    /// The folder was written by another major version.
    #[error(
        "{} was written by PostgreSQL {written_by}, and there is {available}; dump it with \
         PostgreSQL {written_by} (`pg_dumpall`) and restore it into a new data directory, or \
         install PostgreSQL {written_by} with pgvector, or point the data directory elsewhere",
        .cluster.display()
    )]
    MajorMismatch {
        /// The cluster's folder.
        cluster: PathBuf,
        /// The major version in its `PG_VERSION`.
        written_by: String,
        /// What is installed, for instance `PostgreSQL 18.1`.
        available: String,
    },
    /// The server's user is not let through to a folder.
    #[error(
        "PostgreSQL does not run as root, and the user {user} who runs it instead can't reach \
         {}: {} is closed to it; choose a data directory that other users can reach, such as \
         /var/lib/memory-copilot",
        .path.display(), .closed.display()
    )]
    Unreachable {
        /// The server's user.
        user: String,
        /// Where it has to get.
        path: PathBuf,
        /// The folder that doesn't let it through.
        closed: PathBuf,
    },
    /// The user that should run the server does not exist.
    #[error("there is no user \"{0}\" to run PostgreSQL as; name one that exists")]
    UnknownUser(String),
    /// A cluster without its password.
    #[error(
        "{} is missing, and without it the cluster beside it can't be used; restore the file, \
         or move the data directory away to start anew",
        .0.display()
    )]
    PasswordLost(PathBuf),
    /// A folder that holds something else: it would be closed to everybody and given away.
    #[error(
        "{} holds files that are not memory-copilot's; choose an empty folder or a new one as \
         data directory",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// A path that can't be used for a Unix socket.
    #[error(
        "the data directory {} can't hold a Unix socket (its path must be UTF-8 and at most \
         {max} bytes long); choose another one",
        .path.display()
    )]
    UnusablePath {
        /// The data directory.
        path: PathBuf,
        /// The longest that will do, in bytes.
        max: usize,
    },
    /// Processes of an earlier server won't end.
    #[error("processes {0:?} of an earlier PostgreSQL won't stop; end them, then try again")]
    Leftovers(Vec<i32>),
    /// A program of the installation failed.
    #[error("{program} failed: {detail}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What it printed.
        detail: String,
    },
    /// The server ended, or took no connection in time.
    #[error("PostgreSQL did not start; its last words:\n{0}")]
    NotStarted(String),
    /// The server runs and refuses the service.
    #[error("the private PostgreSQL refused a statement")]
    Refused(#[source] sqlx::Error),
    /// A file or folder can't be used.
    #[error("can't {doing} {}: {source}", .path.display())]
    Io {
        /// The verb: "create", "read", ...
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl EmbeddedError {
    /// For `map_err`: names what was being done to which path.
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
            Self::NoInstallation { .. } | Self::Leftovers(_) | Self::NotStarted(_) => {
                ErrorKind::Unavailable
            }
            Self::Program { .. } | Self::Refused(_) | Self::Io { .. } => ErrorKind::Internal,
        }
    }
}
