#![doc = include_str!("../README.md")]

mod adr;
pub mod chunker;
pub mod conversation;
pub mod document;
pub mod embed;
mod error;
mod grammar;
pub mod graph;
pub mod hash;
pub mod history;
pub mod index;
pub mod language;
pub mod markdown;
pub mod source;
pub mod text;
pub mod walk;
pub mod worker;

pub use error::Error;
