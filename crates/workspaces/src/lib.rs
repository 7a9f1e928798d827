#![doc = include_str!("../README.md")]

pub mod edit;
mod error;
pub mod find;
pub mod grep;
pub mod inspect;
pub mod list;
pub mod navigation;
pub mod path;
mod tree;

pub use error::Error;
