#![doc = include_str!("../README.md")]

pub mod connectors;
pub mod deliveries;
mod error;
pub mod integrations;
pub mod pull_requests;
pub mod task_comments;
pub mod tasks;
pub mod webhooks;

pub use error::Error;
