//! Backups: one file that has all of the database that can't be made anew, taken while the service runs or not,
//! and restored whole or not at all.
//!
//! [`take`] runs `pg_dump` on a snapshot and notes, of the same snapshot, what each table holds. [`restore`]
//! fills an empty database with `pg_restore`, compares, and brings the schema up to date. The file is an
//! [`Archive`]; what it says of itself is its [`Manifest`]. The keyword index is no part of it: that of another
//! database is built anew by itself.

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
pub use dump::{Source, take};
pub use error::BackupError;
pub use manifest::{Manifest, Migration};
pub use restore::{Target, restore};
pub(crate) use target::refuse_unfinished;

/// Is told how far it is: what is being done, and how many bytes of the dump are.
pub type Progress = Arc<dyn Fn(Step, u64) + Send + Sync>;

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Writing the dump.
    Dumping,
    /// Comparing the file with its sums.
    Checking,
    /// Filling the database.
    Restoring,
    /// Comparing the database with the manifest.
    Comparing,
}
