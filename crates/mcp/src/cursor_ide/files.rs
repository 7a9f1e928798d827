//! Reads, replaces and backs up single files; a replacement is whole or not there.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Created,
    /// It was there and changed; where its former content is.
    Updated {
        /// A copy of the file as it was.
        backup: PathBuf,
    },
    /// It was already as it should be.
    Unchanged,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => f.write_str("created"),
            Self::Updated { backup } => {
                write!(f, "updated (what it held is in {})", backup.display())
            }
            Self::Unchanged => f.write_str("unchanged"),
        }
    }
}

/// Why a project could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder isn't there.
    #[error("{} is no folder; name the project with --project DIR", path.display())]
    NoProject {
        /// The folder asked for.
        path: PathBuf,
    },
    /// The file holds what can't be merged without losing something.
    #[error(
        "{} can't be merged without losing what is in it ({why}); it was left alone. Add this to \
         it by hand:\n{snippet}",
        path.display()
    )]
    NotMergeable {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        why: String,
        /// What to paste.
        snippet: String,
    },
    /// The system refused a file operation.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoProject { .. } => ErrorKind::NotFound,
            Self::NotMergeable { .. } => ErrorKind::Conflict,
            Self::Io { .. } => ErrorKind::Unavailable,
        }
    }
}

/// The text of a file, `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(at(path)(source)),
    }
}

/// Makes `path` hold `new`, where it held `old`. Content that differs is kept in a backup first.
pub(super) fn replace(path: &Path, old: Option<&str>, new: &str) -> Result<Change, Error> {
    match old {
        Some(old) if old == new => Ok(Change::Unchanged),
        None => write_whole(path, new).map(|()| Change::Created),
        Some(old) => {
            let backup = back_up(path, old)?;
            write_whole(path, new)?;
            Ok(Change::Updated { backup })
        }
    }
}

/// Copies `content` beside `path` under the first name that is free or already holds it.
fn back_up(path: &Path, content: &str) -> Result<PathBuf, Error> {
    let mut number = 0_u32;
    loop {
        let suffix = if number == 0 { String::new() } else { format!(".{number}") };
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".bak{suffix}"));
        let backup = PathBuf::from(name);
        match fs::File::create_new(&backup) {
            Ok(mut file) => {
                file.write_all(content.as_bytes()).map_err(at(&backup))?;
                return Ok(backup);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(&backup)(error));
            }
            Err(_) if fs::read(&backup).is_ok_and(|held| held == content.as_bytes()) => {
                return Ok(backup);
            }
            Err(_) => number += 1,
        }
    }
}

/// Writes a temporary file beside `path`, then renames it, so that a crash leaves the old content.
fn write_whole(path: &Path, content: &str) -> Result<(), Error> {
    // Someone may have linked the file into a dotfiles folder: change what the link points to.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(at(folder))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(at(folder))?;
    file.write_all(content.as_bytes()).map_err(at(&target))?;
    file.as_file().sync_all().map_err(at(&target))?;
    let mode = fs::metadata(&target).map(|old| old.permissions());
    let permissions = mode.unwrap_or_else(|_| readable_by_all());
    file.as_file().set_permissions(permissions).map_err(at(&target))?;
    file.persist(&target).map_err(|error| at(&target)(error.error))?;
    Ok(())
}

/// A temporary file is private; a project's settings are shared like its other files.
fn readable_by_all() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path: path.clone(), source }
}
