//! Data of providers: webhooks with their deliveries, integrations, and what both store of issues,
//! pull requests and CI.

pub mod ci_results;
pub mod deletion_candidates;
pub mod doc_parts;
pub mod integrations;
pub mod pull_requests;
pub mod task_comments;
pub mod tasks;
pub mod webhooks;
