//! Creating, replacing and deleting files below a [`Root`].

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fsync, linkat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

use crate::root::parts;
use crate::{FileError, FileKind, Metadata, Root};

/// Returns a name for a file that is being written. It stays if the process dies.
fn temporary_name() -> String {
    format!(".memory-copilot-{}.tmp", Uuid::now_v7().simple())
}

impl Root {
    /// Creates a regular file with these permission bits, such as `0o644`. Missing directories are
    /// not created.
    pub fn create(&self, path: &str, content: &[u8], permissions: u32) -> Result<(), FileError> {
        self.put(path, content, permissions, RenameFlags::NOREPLACE, None)
    }

    /// Replaces a regular file in one step if its content is `before`. It keeps its permission
    /// bits.
    ///
    /// The content is compared when the new one is on the disk already. A change between this and
    /// the rename, some microseconds later, is lost.
    pub fn replace_content(
        &self,
        path: &str,
        before: &[u8],
        content: &[u8],
    ) -> Result<(), FileError> {
        let permissions = match self.metadata(path) {
            Ok(Metadata { kind: FileKind::File, permissions, .. }) => permissions & 0o777,
            // Something else took its place.
            Ok(_) | Err(FileError::Missing | FileError::Link | FileError::NotADirectory) => {
                return Err(FileError::Changed);
            }
            Err(error) => return Err(error),
        };
        self.put(path, content, permissions, RenameFlags::empty(), Some(before))
    }

    /// Replaces a file in one step, or creates it. An existing regular file keeps its permission
    /// bits. A link in its place is replaced itself, and so is one of the names of a file that has
    /// several: content outside of the directory never changes.
    pub fn replace(&self, path: &str, content: &[u8], permissions: u32) -> Result<(), FileError> {
        let permissions = match self.metadata(path) {
            Ok(Metadata { kind: FileKind::File, permissions, .. }) => permissions & 0o777,
            Ok(Metadata { kind: FileKind::Directory, .. }) => return Err(FileError::Directory),
            Ok(_) | Err(FileError::Missing) => permissions,
            Err(error) => return Err(error),
        };
        self.put(path, content, permissions, RenameFlags::empty(), None)
    }

    /// Creates the directory at the path, and those around it, if they do not exist.
    pub fn create_directories(&self, path: &str) -> Result<(), FileError> {
        let _access = self.access()?;
        let mut directory: Option<OwnedFd> = None;
        for name in parts(path)? {
            let parent = self.or_root(directory.as_ref());
            match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            directory = Some(open_directory(parent, name)?);
        }
        Ok(())
    }

    /// Deletes the directory at the path, which must be empty.
    pub fn remove_empty_directory(&self, path: &str) -> Result<(), FileError> {
        self.unlink(path, AtFlags::REMOVEDIR)
    }

    /// Deletes the file or link at the path.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        self.unlink(path, AtFlags::empty())
    }

    fn unlink(&self, path: &str, flags: AtFlags) -> Result<(), FileError> {
        let _access = self.access()?;
        let parts = parts(path)?;
        let (name, parents) = parts.split_last().ok_or(FileError::Directory)?;
        let parent = self.walk(parents)?;
        Ok(unlinkat(self.or_root(parent.as_ref()), *name, flags)?)
    }

    /// Writes a file under a temporary name, and gives it its name in one step: with `before`, only
    /// if the file of that name has this content.
    fn put(
        &self,
        path: &str,
        content: &[u8],
        permissions: u32,
        flags: RenameFlags,
        before: Option<&[u8]>,
    ) -> Result<(), FileError> {
        let _access = self.access()?;
        let parts = parts(path)?;
        let (name, parents) = parts.split_last().ok_or(FileError::Directory)?;
        let parent = self.walk(parents)?;
        let parent = self.or_root(parent.as_ref());
        // A name that is too long is reported before anything is written.
        match statat(parent, *name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(FileError::Exists),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let temporary = temporary_name();
        let written = write(parent, &temporary, content, permissions)
            .and_then(|()| before.map_or(Ok(()), |before| check_content(parent, name, before)))
            .and_then(|()| Ok(rename(parent, &temporary, name, flags)?));
        if written.is_err() {
            // The error of writing says more.
            let _ = unlinkat(parent, &temporary, AtFlags::empty());
        }
        written
    }
}

fn write(
    directory: BorrowedFd<'_>,
    name: &str,
    content: &[u8],
    permissions: u32,
) -> Result<(), FileError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(content)?;
    // The umask of the service has no effect.
    fchmod(&file, Mode::from_raw_mode(permissions))?;
    Ok(fsync(&file)?)
}

/// Fails if a file of a directory does not have this content.
fn check_content(directory: BorrowedFd<'_>, name: &str, expected: &[u8]) -> Result<(), FileError> {
    // Without NONBLOCK, opening a pipe waits for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Err(FileError::Changed),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(FileError::Changed);
    }
    let mut content = Vec::with_capacity(expected.len() + 1);
    // One byte more shows that it is longer.
    file.take(expected.len() as u64 + 1).read_to_end(&mut content)?;
    if content == expected { Ok(()) } else { Err(FileError::Changed) }
}

/// Renames a file in a directory. Some file systems can't refuse to replace another file.
fn rename(
    directory: BorrowedFd<'_>,
    from: &str,
    to: &str,
    flags: RenameFlags,
) -> rustix::io::Result<()> {
    if flags.is_empty() {
        return renameat(directory, from, directory, to);
    }
    match renameat_with(directory, from, directory, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(directory, from, directory, to, AtFlags::empty())?;
            unlinkat(directory, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}

fn open_directory(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, FileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(parent, name, flags, Mode::empty());
    opened.map_err(|error| crate::root::not_entered(parent, name, error))
}
