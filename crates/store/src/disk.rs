//! Full disks: the one of the database, as failed statements tell, and those of directories of this
//! machine.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

/// Free space below which a disk counts as full: PostgreSQL adds files of 16 MiB to its log, and
/// ends if it can't.
const RESERVE_BYTES: u64 = 16 << 20;
/// How long a failed statement counts: nothing tells when there is space again.
const REMEMBERED: Duration = Duration::from_mins(1);
/// PostgreSQL's code for a full disk.
const DISK_FULL: &str = "53100";

/// When a statement last failed because the disk was full. It is common to all pools, which have
/// one server.
static FULL_AT: Mutex<Option<Instant>> = Mutex::new(None);
/// Directory of the database server, if it runs on this machine.
static SERVER_DIR: OnceLock<PathBuf> = OnceLock::new();

/// Names the directory of the database server, which runs on this machine. A server that can't
/// write its log ends, and its clients only see that it is gone.
pub fn set_server_dir(dir: &Path) {
    // A start that is repeated names the same directory.
    let _ = SERVER_DIR.set(dir.to_owned());
}

/// Returns whether the disk of the database is full, or was a minute ago.
pub fn is_database_full() -> bool {
    let full_at = *FULL_AT.lock().unwrap_or_else(PoisonError::into_inner);
    full_at.is_some_and(|at| at.elapsed() < REMEMBERED) || is_server_dir_full()
}

/// Returns whether a directory is on a disk without space for another file of some size.
pub fn is_full(dir: &Path) -> bool {
    free_bytes(dir).is_ok_and(|free| free < RESERVE_BYTES)
}

/// Returns the free space on the disk of a directory, in bytes.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let disk = statvfs(dir)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns whether this error means that the disk of the database is full, and notes it.
pub(crate) fn take_note(error: &sqlx::Error) -> bool {
    let is_full = match error {
        sqlx::Error::Database(error) => error.code().as_deref() == Some(DISK_FULL),
        _ => false,
    };
    if is_full {
        *FULL_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
    is_full || (mc_postgres::is_unavailable(error) && is_server_dir_full())
}

fn is_server_dir_full() -> bool {
    SERVER_DIR.get().is_some_and(|dir| is_full(dir))
}
