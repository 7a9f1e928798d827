#![doc = include_str!("../README.md")]

pub mod deliveries;
mod error;
pub mod webhooks;

pub use error::Error;
