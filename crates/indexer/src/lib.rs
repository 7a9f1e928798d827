#![doc = include_str!("../README.md")]

mod adr;
pub mod chunker;
pub mod conversation;
pub mod document;
pub mod embedding_queue;
mod error;
mod fingerprint;
mod grammar;
pub mod hash;
pub mod history;
pub mod hnsw;
pub mod index;
pub mod language;
pub mod markdown;
mod parsers;
pub mod run;
pub mod syntax;
pub mod text;
pub mod walk;

pub use error::Error;
pub use fingerprint::state;
pub use parsers::PARSERS;
