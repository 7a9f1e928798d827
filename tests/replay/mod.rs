//! Replays of the commits of a repository into an index, one index run a commit.
//!
//! `mc-bench replay` and the test `replay` of the crate `mc-indexer` share this. The index is
//! compared with one that a single run has made of the same commit, and runs are interrupted at
//! random points.

pub mod generated;
pub mod image;
pub mod index;
pub mod interruption;
pub mod source;
pub mod trial;

/// Errors of a replay: each ends it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
