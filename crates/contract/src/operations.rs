//! The operations on a project's memory, one file a resource: the requests, their rules and the
//! responses.

pub mod dialog;
pub mod document;
pub mod duplicate;
pub mod export;
pub mod feedback;
pub mod forget;
pub mod hygiene;
pub mod ingest;
pub mod integration;
pub mod job;
pub mod link_task;
pub mod page;
pub mod passage;
pub mod project;
pub mod proposal;
pub mod pull_request;
pub mod quarantine;
pub mod recall;
pub mod record;
pub mod save;
pub mod search;
pub mod task;
pub mod webhook;
