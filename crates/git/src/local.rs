//! Repositories on this disk. A file `.git` or `alternates` may name any other directory, from
//! which git would read with the permissions of its user.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mc_files::Snapshot;
use mc_privileges::{UnprivilegedUser, raise_privileges};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::checkout::LOCAL_LIMIT;
use crate::plumbing::run_blocking;
use crate::program::server::paths_of_repository;
use crate::program::{Git, is_missing};
use crate::{Error, Location};

/// Maximum number of directories of objects of a repository, borrowed ones included.
pub(crate) const MAX_OBJECT_DIRECTORIES: usize = 64;
/// Maximum number of files in git's own directory, which are searched for links.
const MAX_GIT_FILES: usize = 500_000;
/// Maximum size of a file that lists such directories, in bytes.
pub(crate) const MAX_LIST_BYTES: u64 = 1 << 20;

/// Rejects a location whose repository, or one whose objects it borrows, is protected.
pub(crate) async fn check(
    location: &Location,
    protected: &Arc<Snapshot>,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let mut directories_of_git = Vec::new();
    for directory in directories(location)? {
        let git = match Git::in_place(&directory) {
            Err(Error::Files(mc_files::Error::Io { cause, .. })) if is_missing(&cause) => continue,
            git => git?,
        };
        let arguments = ["rev-parse", "--absolute-git-dir", "--git-common-dir"];
        match git.run(&arguments, LOCAL_LIMIT, cancel).await {
            Ok(found) => {
                for own in found.lines().map(|own| directory.join(own)) {
                    protected.check_inside(&own)?;
                    let objects = check_alternates(&own.join("objects"), git.user(), protected)?;
                    if git.user().is_none() {
                        directories_of_git.extend(objects);
                        directories_of_git.push(own);
                    }
                }
            }
            // No repository.
            Err(Error::Unreachable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if directories_of_git.is_empty() {
        return Ok(());
    }
    let protected = Arc::clone(protected);
    run_blocking(move || check_links(directories_of_git, &protected)).await
}

/// Returns the directories of a location in which git looks for a repository.
fn directories(location: &Location) -> Result<Vec<PathBuf>, Error> {
    let Some(path) = location.local_path()? else { return Ok(Vec::new()) };
    match location {
        Location::Directory(_) => Ok(vec![path]),
        Location::Url(_) => Ok(paths_of_repository(&path).into()),
    }
}

/// Rejects a repository if a link in one of its directories leads into a protected one. Git follows
/// links to objects and refs, with the rights of the service if no other user runs it.
fn check_links(directories: Vec<PathBuf>, protected: &Snapshot) -> Result<(), Error> {
    let _raised = raise_privileges();
    let mut open = directories;
    let mut visited = BTreeSet::new();
    let mut count = 0_usize;
    while let Some(directory) = open.pop() {
        let io = Error::io(&directory);
        // Git can't read what this thread can't.
        let is_hidden = |error: &std::io::Error| {
            is_missing(error) || error.kind() == std::io::ErrorKind::PermissionDenied
        };
        let real = match directory.canonicalize() {
            Err(error) if is_hidden(&error) => continue,
            real => real.map_err(&io)?,
        };
        if !visited.insert(real.clone()) {
            continue;
        }
        let entries = match std::fs::read_dir(&real) {
            Err(error) if is_hidden(&error) => continue,
            entries => entries.map_err(&io)?,
        };
        for entry in entries {
            count += 1;
            if count > MAX_GIT_FILES {
                return Err(Error::InvalidLocation(format!(
                    "the repository at {} has more than {MAX_GIT_FILES} files of git, too many to \
                     check; run `git gc` there",
                    real.display()
                )));
            }
            let entry = entry.map_err(&io)?;
            let kind = entry.file_type().map_err(&io)?;
            if kind.is_symlink() {
                protected.check_inside(&entry.path())?;
            }
            if kind.is_dir() || kind.is_symlink() && entry.path().is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Checks the directories of objects that a repository borrows. Returns all of them, its own first.
fn check_alternates(
    objects: &Path,
    user: Option<UnprivilegedUser>,
    protected: &Snapshot,
) -> Result<Vec<PathBuf>, Error> {
    let mut directories = vec![real(objects.to_owned())];
    let mut next = 0;
    while let Some(objects) = directories.get(next).cloned() {
        next += 1;
        let file = objects.join("info/alternates");
        let listed = read_list(&file, user)?;
        let lines: BTreeSet<&[u8]> = alternates(&listed).collect();
        for line in lines {
            // Git decodes escapes in a quoted path.
            if line.starts_with(b"\"") {
                return Err(Error::InvalidLocation(format!(
                    "{} has a path in quotation marks, which cannot be checked; write it without \
                    them, or index a clone of the repository",
                    file.display()
                )));
            }
            let alternate = objects.join(OsStr::from_bytes(line));
            protected.check_inside(&alternate).map_err(|error| match error {
                // The file may be a link to a private one: the error must not show its lines.
                mc_files::Error::Io { cause, .. } => mc_files::Error::io(&file)(cause),
                error => error,
            })?;
            // Directories may borrow from each other in a circle.
            let alternate = real(alternate);
            if !directories.contains(&alternate) {
                directories.push(alternate);
            }
            if directories.len() > MAX_OBJECT_DIRECTORIES {
                return Err(too_many_object_directories(&file));
            }
        }
    }
    Ok(directories)
}

/// Returns the paths in a file `alternates`, as git reads them: bytes up to LF.
pub(crate) fn alternates(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = listed.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// Returns the error for a repository that borrows from too many directories, by this path.
pub(crate) fn too_many_object_directories(path: &Path) -> Error {
    Error::InvalidLocation(format!(
        "the repository borrows objects from more than {} directories, by {}; index a clone of the \
         repository",
        MAX_OBJECT_DIRECTORIES - 1,
        path.display()
    ))
}

fn real(path: PathBuf) -> PathBuf {
    let _raised = raise_privileges();
    path.canonicalize().unwrap_or(path)
}

/// Reads a list of directories as the user that runs git, and follows links as git does; empty if
/// there is none.
///
/// The owner of the repository chooses the file. A pipe would block the service, and a device may
/// have no end. Both are rejected, since git could read directories from them that were not
/// checked.
fn read_list(path: &Path, user: Option<UnprivilegedUser>) -> Result<Vec<u8>, Error> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let reader = UnprivilegedUser::for_files(user);
    let access = reader.map(UnprivilegedUser::access_files).transpose().map_err(Error::io(path))?;
    let opened = open(path, flags, Mode::empty());
    drop(access);
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Vec::new()),
        // Git cannot read it either.
        Err(Errno::ACCESS) if reader.is_some() => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(path)(error.into())),
    };
    let mut listed = Vec::new();
    let is_file = file.metadata().map_err(Error::io(path))?.is_file();
    if is_file {
        let read = file.take(MAX_LIST_BYTES + 1).read_to_end(&mut listed);
        read.map_err(Error::io(path))?;
    }
    if !is_file || listed.len() as u64 > MAX_LIST_BYTES {
        return Err(Error::InvalidLocation(format!(
            "{} is not a file of at most 1 MiB, so the directories that git would read cannot be \
            checked; replace it, or index a clone of the repository",
            path.display()
        )));
    }
    Ok(listed)
}
