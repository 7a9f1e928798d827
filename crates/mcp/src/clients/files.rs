//! Reading, atomic replacement and backup of single files.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// Change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file was created.
    Created,
    /// The file was changed.
    Updated {
        /// Backup of the previous content.
        backup: PathBuf,
    },
    /// The file already had this content.
    Unchanged,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => f.write_str("created"),
            Self::Updated { backup } => {
                write!(f, "updated (backup: {})", backup.display())
            }
            Self::Unchanged => f.write_str("unchanged"),
        }
    }
}

/// Error of setting up a project.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory does not exist.
    #[error("{} is not a directory; give the project's directory with --dir", path.display())]
    NoProject {
        /// Requested directory.
        path: PathBuf,
    },
    /// The file cannot be merged without losing content.
    #[error(
        "{} cannot be merged without losing content ({why}) and was not changed; add this to it \
         by hand:\n{snippet}",
        path.display()
    )]
    NotMergeable {
        /// The file.
        path: PathBuf,
        /// Reason.
        why: String,
        /// Text to add.
        snippet: String,
    },
    /// A link in the project leads to a place outside of it.
    #[error(
        "{} leads out of the project, to {}, and was not changed; replace the link by a file",
        path.display(), target.display()
    )]
    Outside {
        /// The file in the project.
        path: PathBuf,
        /// The place that it leads to.
        target: PathBuf,
    },
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoProject { .. } => ErrorKind::NotFound,
            Self::NotMergeable { .. } | Self::Outside { .. } => ErrorKind::Conflict,
            Self::Io { .. } => ErrorKind::Unavailable,
        }
    }
}

/// Requires that a file, or the nearest existing directory above it, is below the project: in a
/// project of others, a link may lead to any file of the user.
pub(super) fn require_inside(project_dir: &Path, path: &Path) -> Result<(), Error> {
    let project_dir = fs::canonicalize(project_dir).map_err(io_error(project_dir))?;
    let existing = path.ancestors().find(|place| place.symlink_metadata().is_ok());
    let existing = existing.unwrap_or(&project_dir);
    let target = fs::canonicalize(existing).map_err(io_error(existing))?;
    if target.starts_with(&project_dir) {
        return Ok(());
    }
    Err(Error::Outside { path: path.to_owned(), target })
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(path)(source)),
    }
}

/// Replaces the content `old` of `path` by `new`, after a backup if it differs.
pub(super) fn replace(path: &Path, old: Option<&str>, new: &str) -> Result<Change, Error> {
    match old {
        Some(old) if old == new => Ok(Change::Unchanged),
        None => write_atomically(path, new).map(|()| Change::Created),
        Some(old) => {
            let backup = back_up(path, old)?;
            write_atomically(path, new)?;
            Ok(Change::Updated { backup })
        }
    }
}

/// Copies `content` next to `path`, to the first name that is free or already has this content.
fn back_up(path: &Path, content: &str) -> Result<PathBuf, Error> {
    let mut number = 0_u32;
    loop {
        let suffix = if number == 0 { String::new() } else { format!(".{number}") };
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".bak{suffix}"));
        let backup = PathBuf::from(name);
        match fs::File::create_new(&backup) {
            Ok(mut file) => {
                file.write_all(content.as_bytes()).map_err(io_error(&backup))?;
                return Ok(backup);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io_error(&backup)(error));
            }
            Err(_) if fs::read(&backup).is_ok_and(|existing| existing == content.as_bytes()) => {
                return Ok(backup);
            }
            Err(_) => number += 1,
        }
    }
}

/// Writes a temporary file next to `path`, then renames it, so that a crash leaves the old content.
fn write_atomically(path: &Path, content: &str) -> Result<(), Error> {
    // The file may be a link to another place in the project: its target is changed.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or(Path::new("."));
    create_directory(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(io_error(directory))?;
    file.write_all(content.as_bytes()).map_err(io_error(&target))?;
    file.as_file().sync_all().map_err(io_error(&target))?;
    let mode = fs::metadata(&target).map(|old| old.permissions());
    let permissions = mode.unwrap_or_else(|_| readable_by_all());
    file.as_file().set_permissions(permissions).map_err(io_error(&target))?;
    file.persist(&target).map_err(|error| io_error(&target)(error.error))?;
    Ok(())
}

/// Creates the directory and its missing parents with the permissions of ordinary directories of a
/// project. The umask of the program would make them private.
fn create_directory(directory: &Path) -> Result<(), Error> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|each| !each.exists()).collect();
    fs::create_dir_all(directory).map_err(io_error(directory))?;
    for each in missing.into_iter().filter(|each| !each.as_os_str().is_empty()) {
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(each, permissions).map_err(io_error(each))?;
    }
    Ok(())
}

/// Returns the permissions of ordinary project files; a temporary file is private.
fn readable_by_all() -> fs::Permissions {
    fs::Permissions::from_mode(0o644)
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path: path.clone(), source }
}
