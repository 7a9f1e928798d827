#![doc = include_str!("../README.md")]

pub mod connectors;
pub mod deliveries;
pub mod documents;
mod error;
pub mod git_credentials;
pub mod index_runs;
pub mod integrations;
pub mod issue_reference;
pub mod pull_requests;
pub mod repositories;
pub mod task_comments;
pub mod tasks;
pub mod webhooks;

pub use error::Error;
