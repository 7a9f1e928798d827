#![doc = include_str!("../README.md")]

#[macro_use]
pub mod request;

pub mod duration;
pub mod error;
pub mod expiry;
pub mod limits;
pub mod list;
pub mod meta;
pub mod number;
pub mod operations;
pub mod project_key;
pub mod read;
pub mod rules;
pub mod schema;
pub mod secret;
pub mod text;

pub use duration::CommandTime;
pub use error::{ValidationError, Violation};
pub use expiry::ExpiryDate;
pub use meta::Meta;
pub use project_key::ProjectKey;
pub use request::Request;
