#![doc = include_str!("../README.md")]

pub mod connectors;
pub mod deliveries;
mod error;
pub mod integrations;
pub mod webhooks;

pub use error::Error;
