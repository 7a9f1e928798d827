#![doc = include_str!("../README.md")]

mod error;
pub mod find;
pub mod grep;
pub mod inspect;
pub mod path;
mod tree;

pub use error::Error;
