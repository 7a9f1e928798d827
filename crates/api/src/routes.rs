//! The resources, one a file: wire types, their checks, handlers, conversions.

pub mod audit;
pub mod changes;
pub mod connections;
pub mod dialogs;
pub mod documents;
pub mod duplicates;
pub mod exports;
pub mod feedback;
pub mod handles;
pub mod hooks;
pub mod hygiene;
pub mod ingest;
pub mod ingest_docs;
pub mod jobs;
mod matched;
pub mod members;
mod page;
pub mod passages;
pub mod paths;
pub mod policy;
pub mod projects;
pub mod quarantine;
pub mod recall;
pub mod records;
pub mod review;
pub mod save;
pub mod search;
pub mod status;
pub mod task_links;
pub mod tasks;
pub mod tokens;
pub mod users;

/// Whether `path` is one that a load balancer asks, and that answers whatever else goes on.
pub fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}
