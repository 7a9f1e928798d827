//! Indexed sources: repositories with their files, documents, and the runs that index them;
//! workspaces, and the nodes that have their files.

pub mod docs;
pub mod files;
pub mod ingest_runs;
pub mod navigations;
pub mod nodes;
pub mod repositories;
pub mod workspaces;
