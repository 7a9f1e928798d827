//! Syncs and task comments against fake providers over real HTTP, and webhook deliveries.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod deliveries;
mod fixture;
mod git_credentials;
mod issues;
mod pages;
mod pull_request_files;
mod refs;
mod task_comment;
