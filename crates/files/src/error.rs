use std::io;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};
use rustix::io::Errno;

/// Error of a directory that the service should read or write.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is one of the protected ones, or contains one.
    #[error("{} {reason}; the service never reads it; give another directory", path.display())]
    Protected {
        /// Path as the user gave it.
        path: PathBuf,
        /// The rule.
        reason: &'static str,
    },
    /// The path leads to something else.
    #[error("{} is not a directory; give the path of a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The operating system refused.
    #[error(
        "{path} cannot be read or written ({cause}); check that it exists, its permissions and the \
        free disk space"
    )]
    Io {
        /// Path as the user gave it.
        path: String,
        /// Error of the operating system.
        cause: io::Error,
    },
}

impl Error {
    /// Returns a conversion of errors of the operating system at this path.
    pub fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.display().to_string();
        move |cause| Self::Io { path: path.clone(), cause }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
                ErrorKind::NotFound
            }
            Self::Protected { .. } | Self::NotADirectory(_) | Self::Io { .. } => ErrorKind::Invalid,
        }
    }
}

/// Reason why a file below a [`crate::Root`] can't be listed, read or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is nothing at the path.
    #[error("does not exist; list its directory to see the names there")]
    Missing,
    /// There is something at the path already.
    #[error("exists already; edit it, or choose another name")]
    Exists,
    /// The file does not have the content that the caller expects.
    #[error("has been changed meanwhile; read it again")]
    Changed,
    /// A part of the path is a symbolic link.
    #[error("is a symbolic link, or is below one; links are not followed, so give the real path")]
    Link,
    /// A part of the path before the last one is a file.
    #[error("is below a file; give a path whose parents are directories")]
    NotADirectory,
    /// The path leads to a directory.
    #[error("is a directory; give the path of a file")]
    Directory,
    /// A device, a socket or a pipe.
    #[error("is a device, a socket or a pipe, which is not read; give the path of a file")]
    NotAFile,
    /// The file belongs to another user, who may have been linked into the directory.
    #[error("belongs to another user of the machine, so it is not opened; give another file")]
    OtherOwner,
    /// The file exceeds the limit of the call.
    #[error("has more than {0} bytes; read a range of it")]
    TooLarge(u64),
    /// The path is empty, has an empty part, `.`, `..` or a NUL, or is too long.
    #[error(
        "is not a path below the directory; write names separated by \"/\", without \".\", \"..\" \
        and empty names, of at most 255 bytes each"
    )]
    BadName,
    /// The operating system refused.
    #[error(
        "cannot be opened, read or written ({0}); check its permissions and the free disk space"
    )]
    Io(Errno),
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::EXIST => Self::Exists,
            // `NOFOLLOW` fails on a link with this.
            Errno::LOOP => Self::Link,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::Directory,
            Errno::NXIO => Self::NotAFile,
            Errno::NAMETOOLONG => Self::BadName,
            error => Self::Io(error),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).map_or(Self::Io(Errno::IO), Self::from)
    }
}

impl Classified for FileError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing => ErrorKind::NotFound,
            Self::Exists | Self::Changed => ErrorKind::Conflict,
            Self::TooLarge(_) => ErrorKind::TooLarge,
            Self::Io(Errno::NOSPC | Errno::DQUOT) => ErrorKind::Unavailable,
            Self::Link
            | Self::NotADirectory
            | Self::Directory
            | Self::NotAFile
            | Self::OtherOwner
            | Self::BadName
            | Self::Io(_) => ErrorKind::Invalid,
        }
    }
}
