//! Deletes a directory whose content somebody else chose.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, chmod, fchmod, openat, renameat, rmdir, unlinkat,
};
use rustix::io::Errno;

use crate::root::DIRECTORY;

/// Maximum time: a process may create files as fast as they are deleted.
const MAX_TIME: Duration = Duration::from_mins(2);

/// Deletes a directory with everything below it, if it exists.
///
/// Every step is by handles and follows no link, so nothing elsewhere is deleted or changed, even
/// if a process replaces directories meanwhile. A directory of any depth needs two open files: what
/// is below the second level is moved up before it is deleted.
pub fn delete_tree(directory: &Path) -> io::Result<()> {
    let top = match openat(CWD, directory, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let started = Instant::now();
    let mut moved = 0_u64;
    loop {
        let names = names(top.as_fd())?;
        if names.is_empty() {
            return Ok(rmdir(directory)?);
        }
        let mut failure = None;
        let mut deleted = 0_u64;
        for name in &names {
            if let Err(error) = delete_entry(top.as_fd(), name, &mut moved, &mut deleted) {
                failure = Some(error);
            }
        }
        match failure {
            Some(error) if deleted == 0 => return Err(error.into()),
            _ if started.elapsed() > MAX_TIME => return Err(io::ErrorKind::TimedOut.into()),
            _ => {}
        }
    }
}

/// Deletes a file, or a directory, whose own directories are moved to `top`. Counts what it has
/// deleted and moved, also if it fails then.
fn delete_entry(
    top: BorrowedFd<'_>,
    name: &CStr,
    moved: &mut u64,
    deleted: &mut u64,
) -> Result<(), Errno> {
    if is_unlinked(top, name)? {
        *deleted += 1;
        return Ok(());
    }
    let directory = open_below(top, name)?;
    for entry in names(directory.as_fd())? {
        if !is_unlinked(directory.as_fd(), &entry)? {
            move_up(directory.as_fd(), &entry, top, moved)?;
        }
        *deleted += 1;
    }
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOENT) => {}
        removed => removed?,
    }
    *deleted += 1;
    Ok(())
}

/// Deletes an entry that is no directory. Returns `false` for a directory.
fn is_unlinked(directory: BorrowedFd<'_>, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves a directory to `top`, under a name that is free there.
fn move_up(
    from: BorrowedFd<'_>,
    name: &CStr,
    top: BorrowedFd<'_>,
    moved: &mut u64,
) -> Result<(), Errno> {
    loop {
        *moved += 1;
        let free = CString::new(format!("deleted-{moved}")).map_err(|_| Errno::INVAL)?;
        match renameat(from, name, top, free.as_c_str()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Another directory has this name.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            // Its entry `..` changes, for which its owner needs the permission to write to it.
            Err(Errno::ACCESS) => {
                open_permissions(from, name)?;
                return renameat(from, name, top, free.as_c_str());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Opens a directory with all permissions of its owner, whatever they were.
fn open_below(top: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let opened = match openat(top, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_permissions(top, name)?;
            openat(top, name, DIRECTORY, Mode::empty())
        }
        opened => opened,
    }?;
    // If it fails, so does the deletion, which says why.
    let _ = fchmod(&opened, Mode::RWXU);
    Ok(opened)
}

/// Gives the owner of a directory all permissions. A link in its place is not followed.
fn open_permissions(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(parent, name, flags, Mode::empty())?;
    // A handle of this kind can't be changed itself, but the kernel names it.
    chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)
}

fn names(directory: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}
