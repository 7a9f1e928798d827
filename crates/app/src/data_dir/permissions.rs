//! Permissions below the data directory: other users have none.
//!
//! Paths are opened one component at a time and no symbolic link is followed, so a link in the
//! directory does not change the permissions of another file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use mc_postgres::embedded::SHARED_DIR_MODE;
use mc_privileges::{UnprivilegedUser, is_root, raise_privileges};
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fstat, mkdirat, open, openat,
    statat,
};
use rustix::io::Errno;

use crate::config::HUB;
use crate::database::{EMBEDDED_DIR, RESTORING_DIR};

/// Permission bits of users other than the owner.
const OTHERS: u32 = 0o077;
/// All bits that a mode can set.
const ALL: u32 = 0o7777;
/// Directory of the copies of repositories. If the service is root, git writes copies of https
/// repositories as another user.
const REPOSITORIES: &str = "repositories";
/// Directory of workspaces. If the service is root, git and commands work in them as other users.
pub const WORKSPACES: &str = "workspaces";
/// Directories in which only the service and its git create files.
const OWN: [&str; 4] = ["index", REPOSITORIES, WORKSPACES, HUB];
/// Directories of the embedded PostgreSQL, whose content belongs to its own user. It checks that
/// content itself.
const EMBEDDED: [&str; 2] = [EMBEDDED_DIR, RESTORING_DIR];

/// A file or directory that other users may use.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenPath {
    /// Path below the data directory; empty for the data directory itself.
    pub path: PathBuf,
    /// Permission bits.
    pub mode: u32,
}

impl OpenPath {
    /// Returns the first component of the path, below which a recursive command has to start.
    pub fn top(&self) -> &OsStr {
        self.path.iter().next().unwrap_or_default()
    }
}

/// Returns the mode of the data directory. As root it is searchable by others, because the service,
/// git and the embedded PostgreSQL work as other users; others can't list it.
pub fn of_data_dir(is_root: bool) -> u32 {
    if is_root { 0o711 } else { 0o700 }
}

/// Returns the permissions that other users may have on a path below the data directory. If the
/// service is root, git runs as another user, which passes through [`REPOSITORIES`] to its copies
/// and through the directories of [`WORKSPACES`] to its clones, and the service's group passes
/// through the directory of PostgreSQL's user to the socket.
fn allowed(path: &Path, is_root: bool) -> u32 {
    let workspaces = Path::new(WORKSPACES);
    if [Path::new(REPOSITORIES), workspaces].contains(&path) || path.parent() == Some(workspaces) {
        of_data_dir(is_root) & OTHERS
    } else if is_embedded(path.as_os_str()) {
        of_embedded(is_root) & OTHERS
    } else {
        0
    }
}

/// Returns whether this is the name of a directory of the embedded PostgreSQL.
pub fn is_embedded(name: &OsStr) -> bool {
    EMBEDDED.iter().any(|embedded| name == *embedded)
}

/// Returns the mode of such a directory. If it belongs to another user than the service, the
/// service's group passes through it to the socket.
pub fn of_embedded(is_root: bool) -> u32 {
    if is_root { SHARED_DIR_MODE } else { 0o700 }
}

/// Returns whether a service that is root uses a data directory of this owner. This program may be
/// that service.
pub fn is_of_root(owner: u32) -> bool {
    is_root() || owner == 0
}

/// Creates the directories of the service, and makes [`UnprivilegedUser::SERVICE`] the owner of
/// what the service creates in them. Copies of repositories have users of their own; files directly
/// in the data directory are used as root.
pub fn give_to_service(dir: &Path) -> io::Result<()> {
    let _raised = raise_privileges();
    let root = open_directory(dir)?;
    // An earlier version worked as root, or the service ran as the owner of the directory.
    let owner = fstat(&root)?.st_uid;
    let former = [0, owner, UnprivilegedUser::SERVICE.uid];
    // Only root can place a link in its directory, for instance to another disk.
    let links = if owner == 0 { OFlags::empty() } else { OFlags::NOFOLLOW };
    for name in OWN {
        let given = match mkdirat(&root, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | links;
                openat(&root, name, flags, Mode::empty())
                    .map_err(io::Error::from)
                    .and_then(|directory| give(&directory, &former, is_recursive(name)))
            }
            Err(error) => Err(error.into()),
        };
        given.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    }
    Ok(())
}

/// Returns whether everything in a directory belongs to the service, and not to git's users.
fn is_recursive(name: &str) -> bool {
    ![REPOSITORIES, WORKSPACES].contains(&name)
}

/// Gives a directory and the files in it to the service, and its directories if it is `recursive`.
/// Fails if the directory belongs to none of the `former` users.
fn give(directory: &OwnedFd, former: &[u32], recursive: bool) -> io::Result<()> {
    let owner = fstat(directory)?.st_uid;
    if !former.contains(&owner) {
        return Err(io::Error::other(format!("it belongs to another user ({owner})")));
    }
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let handle = openat(directory, name, PATH, Mode::empty())?;
        let stat = fstat(&handle)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if recursive {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                give(&openat(directory, name, flags, Mode::empty())?, former, recursive)?;
            }
        // A former user may have linked a file of another one.
        } else if former.contains(&stat.st_uid) && stat.st_nlink == 1 {
            give_one(&handle)?;
        }
    }
    give_one(directory)
}

/// Flags for a handle by which nothing is read. It may be that of a link.
const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn give_one(handle: &OwnedFd) -> io::Result<()> {
    let UnprivilegedUser { uid, gid } = UnprivilegedUser::SERVICE;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    Ok(chownat(handle, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
}

/// Lists the paths that other users may use. A directory that the service did not create is listed,
/// but not its content.
pub fn list_open(dir: &Path) -> io::Result<Vec<OpenPath>> {
    let data_dir = fs::metadata(dir)?;
    let mode = data_dir.mode() & ALL;
    let mut found = Vec::new();
    if mode & OTHERS & !of_data_dir(is_of_root(data_dir.uid())) != 0 {
        found.push(OpenPath { path: PathBuf::new(), mode });
    }
    found.extend(below(&open_directory(dir)?, &|| false).into_iter().map(|(path, _)| path));
    Ok(found)
}

/// Removes the permissions of other users from everything that the service creates, and from other
/// files directly in the data directory. Directories of others stay unchanged: the data directory
/// may have been set to one with many other files.
///
/// The content of the service's own directories is closed only if other users could enter one of
/// them, because copies of repositories have very many files. Returns whether it was closed;
/// otherwise, call [`close_content`] later.
pub fn close(dir: &Path) -> io::Result<bool> {
    let root = open_directory(dir)?;
    let (mut found, mut own) = (Vec::new(), Vec::new());
    examine(&root, Path::new(""), &mut found, &mut own);
    let was_open = found.iter().any(|(open, _)| own.contains(&open.path));
    close_all(dir, &root, found);
    if was_open {
        close_content(dir, &|| false)?;
    }
    Ok(was_open)
}

/// Removes the permissions of other users from everything that the service creates, at any depth.
/// Changes nothing if `is_cancelled` returns true before all paths are listed.
pub fn close_content(dir: &Path, is_cancelled: &dyn Fn() -> bool) -> io::Result<()> {
    let root = open_directory(dir)?;
    let found = below(&root, is_cancelled);
    if !is_cancelled() {
        close_all(dir, &root, found);
    }
    Ok(())
}

fn close_all(dir: &Path, root: &OwnedFd, found: Vec<(OpenPath, bool)>) {
    let mut closed = 0_u64;
    for (OpenPath { path, .. }, is_foreign) in found {
        if is_foreign {
            continue;
        }
        match close_one(root, &path) {
            Ok(()) => closed += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                path = %dir.join(&path).display(),
                %error,
                "other users may use a file of the data directory, and its permissions can't be \
                 changed; `memory-copilot doctor` shows the command to run as its owner"
            ),
        }
    }
    if closed > 0 {
        tracing::warn!(closed, "files of the data directory were open to other users; fixed");
    }
}

fn open_directory(dir: &Path) -> io::Result<OwnedFd> {
    let _raised = raise_privileges();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(dir, flags, Mode::empty())?)
}

/// Lists the open paths below the data directory, each with whether it is a directory that the
/// service did not create. Stops early if `is_cancelled` returns true.
fn below(root: &OwnedFd, is_cancelled: &dyn Fn() -> bool) -> Vec<(OpenPath, bool)> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while !is_cancelled()
        && let Some(directory) = todo.pop()
    {
        examine(root, &directory, &mut found, &mut todo);
    }
    found
}

fn is_used_by_root(directory: &OwnedFd) -> bool {
    fstat(directory).is_ok_and(|stat| is_of_root(stat.st_uid))
}

/// Adds the open paths of one directory to `found`, and its directories that the service created to
/// `own`.
fn examine(
    root: &OwnedFd,
    directory: &Path,
    found: &mut Vec<(OpenPath, bool)>,
    own: &mut Vec<PathBuf>,
) {
    let is_root = is_used_by_root(root);
    for (name, stat) in list(root, directory) {
        let path = directory.join(&name);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_directory = kind == FileType::Directory;
        let is_own = !directory.as_os_str().is_empty() || OWN.iter().any(|own| name == *own);
        if is_directory && is_own {
            own.push(path.clone());
        }
        let open = stat.st_mode & OTHERS & !allowed(&path, is_root);
        if kind != FileType::Symlink && open != 0 {
            let is_foreign = is_directory && !is_own && !is_embedded(&name);
            found.push((OpenPath { path, mode: stat.st_mode & ALL }, is_foreign));
        }
    }
}

/// Lists a directory. It is empty if it was deleted meanwhile, or if this user can't list it:
/// then it belongs to another user.
fn list(root: &OwnedFd, directory: &Path) -> Vec<(OsString, Stat)> {
    let _raised = raise_privileges();
    let Ok(handle) = open_below(root, directory, OFlags::RDONLY | OFlags::DIRECTORY) else {
        return Vec::new();
    };
    let Ok(entries) = Dir::read_from(&handle) else { return Vec::new() };
    entries
        .map_while(Result::ok)
        .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        .filter_map(|entry| {
            let name = entry.file_name();
            let stat = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((OsStr::from_bytes(name.to_bytes()).to_owned(), stat))
        })
        .collect()
}

/// Opens a path below the directory. Fails if a component is a symbolic link, unless the last one
/// is and `flags` have `PATH`: then the link itself is opened.
fn open_below(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let base = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parent: Option<OwnedFd> = None;
    for name in path.parent().into_iter().flatten() {
        let at = parent.as_ref().unwrap_or(root);
        let next = openat(at, name, base | OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        parent = Some(next);
    }
    let name = path.file_name().unwrap_or(OsStr::new("."));
    Ok(openat(parent.as_ref().unwrap_or(root), name, base | flags, Mode::empty())?)
}

fn close_one(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let _raised = raise_privileges();
    // With `PATH`, the file need not be readable, and opening a device has no effect.
    let handle = open_below(root, path, OFlags::PATH)?;
    let Stat { st_mode: mode, st_nlink: names, .. } = fstat(&handle)?;
    let kind = FileType::from_raw_mode(mode);
    // A file with several names may be one of another user, which was linked here.
    if kind == FileType::Symlink || (kind != FileType::Directory && names > 1) {
        return Ok(());
    }
    // Such a handle can be changed only by its name in /proc.
    let name = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let removed = OTHERS & !allowed(path, is_used_by_root(root));
    fs::set_permissions(name, Permissions::from_mode(mode & ALL & !removed))
}

#[cfg(test)]
mod tests;
