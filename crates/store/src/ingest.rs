//! Indexed sources: repositories with their files, documents, and the runs that index them.

pub mod docs;
pub mod files;
pub mod ingest_runs;
pub mod repositories;
