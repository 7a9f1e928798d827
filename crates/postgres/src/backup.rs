//! Backups: one file with all data of the database that can't be derived. The service may run
//! meanwhile. A restore is complete or leaves nothing.
//!
//! [`create`] runs `pg_dump` on a snapshot, and writes a digest of each table in the same snapshot.
//! [`restore`] fills an empty database with `pg_restore`, compares the digests, and migrates the
//! schema. The file is an [`Archive`], described by its [`Manifest`]. It leaves out the keyword
//! index, which the service rebuilds for another database.

mod archive;
mod digest;
mod dump;
mod error;
mod manifest;
mod pg_tools;
mod restore;
mod snapshot;
mod target;

use std::sync::Arc;

pub use archive::Archive;
pub use digest::Table;
pub use dump::{Source, create};
pub use error::{BackupError, Result};
pub use manifest::{Manifest, Migration};
pub use restore::{Target, restore};
pub(crate) use target::reject_incomplete_restore;

/// Callback for progress: the current step, and the bytes of the dump processed in it.
pub type Progress = Arc<dyn Fn(Step, u64) + Send + Sync>;

/// A step of a backup or a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Writing the dump.
    Dumping,
    /// Comparing the file with its checksums.
    Checking,
    /// Filling the database.
    Restoring,
    /// Comparing the database with the manifest.
    Comparing,
}
