//! Applies what providers report, by webhook or by sync, to tasks, pull requests and documents.

pub mod doc_parts;
pub(crate) mod pull_request;
pub(crate) mod task;
