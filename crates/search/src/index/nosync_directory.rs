//! Directory of index files that are written without syncing.
//!
//! A commit of tantivy writes about twenty small files. Syncing each of them would take several
//! times as long as the rest of a search. The index is derived, so no data can be lost. After a
//! power failure, checksums detect damaged or missing files when the index is opened, and the index
//! is rebuilt. A crash of the process damages no files.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::TantivyError;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

/// Directory that is read through memory maps, like tantivy's own, and written without syncing.
#[derive(Debug, Clone)]
pub struct NoSyncDirectory {
    root: PathBuf,
    files: MmapDirectory,
}

impl NoSyncDirectory {
    /// Opens an existing directory.
    pub fn open(root: &Path) -> Result<Self, TantivyError> {
        Ok(Self { root: root.to_owned(), files: MmapDirectory::open(root)? })
    }
}

impl Directory for NoSyncDirectory {
    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(File(file))))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let path = self.root.join(path);
        let draft = path.with_extension("new");
        fs::write(&draft, data)?;
        fs::rename(&draft, &path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.files.atomic_read(path)
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> Result<WatchHandle, TantivyError> {
        self.files.watch(callback)
    }
}

struct File(fs::File);

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for File {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
