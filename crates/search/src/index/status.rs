//! Status of the keyword index.

use mc_store::change_feed::FeedCursor;

/// Status of the keyword index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Whether the index is complete and writable.
    pub phase: Phase,
    /// Whether a write failed last because the disk is full.
    pub is_disk_full: bool,
    /// Number of passages, including those of a running rebuild.
    pub passages: u64,
    /// Position in the change feed.
    pub cursor: FeedCursor,
}

/// Phase of the keyword index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The index is being filled from the database; searches use the partial index.
    #[default]
    Rebuilding,
    /// The index is complete and kept up to date.
    Live,
    /// The index cannot be written, for example because the disk is full; writing is retried.
    ReadOnly,
    /// The rebuild fails and is retried. Searches use the partial index.
    Incomplete,
}

/// Freshness of the index for a search that starts now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The index has everything that was committed before.
    Current,
    /// The index could not catch up in time, or was not expected to, or the database was
    /// unavailable.
    Behind,
    /// The index is being rebuilt.
    Rebuilding,
    /// The index cannot be written and lacks recent changes.
    ReadOnly,
    /// The index cannot be rebuilt and is incomplete.
    Incomplete,
}
