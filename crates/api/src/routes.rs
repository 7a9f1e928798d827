//! The resources, one a file: handlers and conversions of rows.

pub mod audit;
pub mod dialogs;
pub mod documents;
pub mod duplicates;
pub mod exports;
pub mod feedback;
pub mod forget;
pub mod handles;
pub mod hygiene;
pub mod ingest;
pub mod ingest_docs;
pub mod integrations;
pub mod jobs;
pub mod members;
pub mod passages;
pub mod paths;
pub mod policy;
pub mod projects;
pub mod proposals;
pub mod pull_requests;
pub mod quarantine;
pub mod recall;
pub mod records;
pub mod save;
pub mod search;
pub mod status;
mod symbol_match;
pub mod task_comment;
pub mod tasks;
pub mod tokens;
pub mod users;
pub mod webhooks;

/// Whether `path` is a health probe, which has no limits.
pub fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}
