//! What the keyword index says of itself.

use mc_store::change_feed::FeedCursor;

/// A look at the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// What it is doing.
    pub phase: Phase,
    /// Passages in it, those of a rebuild that is under way included.
    pub passages: u64,
    /// How far it has applied the change feed.
    pub cursor: FeedCursor,
}

/// What the index is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Being filled from the database; searches see what is in so far.
    #[default]
    Rebuilding,
    /// Complete, and kept up to date.
    Following,
    /// It can't be written, as when the disk is full; searches see what is in so far. It is tried
    /// again by itself.
    Stuck,
    /// It had to be built anew and can't be; searches see the part that is in so far. It is tried
    /// again by itself.
    Unbuilt,
}

/// Whether a search that begins now sees everything committed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It does.
    Current,
    /// There was no time, or no database, to catch up; it sees the state of a moment ago.
    Behind,
    /// The index is being rebuilt.
    Rebuilding,
    /// The index can't be written; it sees what was in before.
    Stuck,
    /// The index can't be built anew; it sees a part at most.
    Unbuilt,
}
