#![doc = include_str!("../README.md")]

pub mod background;
pub mod collector;
pub mod command_result;
pub mod copy;
pub mod edit;
mod error;
pub mod fetch;
pub mod find;
pub mod grep;
pub mod inspect;
pub mod list;
pub mod navigation;
pub mod open;
pub mod path;
pub mod reading;
pub mod requests;
mod service_error;
mod settings;
pub mod tools;
mod tree;
pub mod workbench;

pub use error::Error;
pub use service_error::ServiceError;
pub use settings::{CommandSettings, Settings};
pub use workbench::Workbench;
