//! Errors of the sandbox.

use std::io;
use std::path::PathBuf;

use mc_domain::{Classified, ErrorKind};

/// Why a command was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator has switched off commands.
    #[error(
        "commands are disabled on this service; ask its operator to set sandbox.runner to auto"
    )]
    Disabled,
    /// Neither bubblewrap nor Docker can be used.
    #[error(
        "no command can be run, since there is no sandbox for it ({reasons}); install bubblewrap \
         with `apt-get install bubblewrap`, then try again"
    )]
    NoRunner {
        /// The reason of each runner.
        reasons: String,
    },
    /// A setting of the sandbox is invalid.
    #[error("invalid setting of the sandbox: {0}")]
    InvalidSetting(String),
    /// A limit is out of its range.
    #[error("the limit {name} is {value}; it must be between {least} and {most}")]
    InvalidLimit {
        /// Name of the limit, a field of [`Limits`](crate::Limits); times are in seconds.
        name: &'static str,
        /// Its value.
        value: u64,
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// The command can't be run as it is described.
    #[error("invalid command: {0}")]
    InvalidCommand(String),
    /// A directory of the command can't be opened or reached.
    #[error(
        "the directory {} can't be given to the command ({cause}); check that it exists and that \
         the user of the command can enter the directories above it", path.display()
    )]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        #[source]
        cause: io::Error,
    },
    /// The program does not exist in the sandbox, or is not executable.
    #[error(
        "the program {program} can't be run in the sandbox ({cause}); use a program of /usr, or \
         add its directory to sandbox.read_only_paths"
    )]
    Program {
        /// The first word of the command.
        program: String,
        /// Error of the system.
        cause: String,
    },
    /// The sandbox could not be set up.
    #[error("the sandbox could not be set up ({0}); run `memory-copilot doctor` for the reason")]
    NotStarted(String),
    /// The sandbox could not be ended.
    #[error(
        "the processes of a command could not be ended ({0}); give the service the capability \
         CAP_KILL, or run it as another user than root"
    )]
    NotEnded(String),
    /// The Docker engine failed.
    #[error("the Docker engine failed ({0}); check `docker info` and the image sandbox.image")]
    Docker(String),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Disabled => ErrorKind::Forbidden,
            Self::NoRunner { .. } | Self::NotStarted(_) | Self::Docker(_) => ErrorKind::Unavailable,
            Self::InvalidLimit { .. }
            | Self::InvalidCommand(_)
            | Self::Directory { .. }
            | Self::Program { .. } => ErrorKind::Invalid,
            Self::InvalidSetting(_) | Self::NotEnded(_) => ErrorKind::Internal,
        }
    }
}
