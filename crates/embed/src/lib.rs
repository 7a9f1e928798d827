#![doc = include_str!("../README.md")]

mod builder;
mod embedder;
mod error;
mod instruction_prefix;
mod languages;
mod local;
mod openai;
mod pipeline;
mod query_cache;
mod settings;
mod vector;

pub use builder::{is_downloaded, open, open_known};
pub use embedder::{Embedder, ModelId, Purpose};
pub use error::Error;
pub use languages::is_multilingual;
pub use query_cache::QueryCache;
pub use settings::{ProviderSettings, RuntimeSettings};
