#![doc = include_str!("../README.md")]

mod adr;
pub mod chunker;
pub mod conversation;
pub mod document;
pub mod embedding_queue;
mod error;
mod grammar;
pub mod hash;
pub mod history;
pub mod hnsw;
pub mod index;
pub mod language;
pub mod markdown;
mod parsers;
pub mod protected;
pub mod run;
pub mod source;
pub mod text;
mod thread_time;
pub mod walk;

pub use error::Error;
pub use parsers::PARSERS;
pub use thread_time::thread_time;
