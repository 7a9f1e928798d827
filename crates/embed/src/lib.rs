#![doc = include_str!("../README.md")]

mod cache_dir;
mod embedder;
mod error;
mod local;
mod open;
mod openai;
mod pipeline;
mod prompts;
mod query_cache;
mod settings;
mod vector;

pub use cache_dir::CacheDir;
pub use embedder::{Embedder, ModelId, Purpose};
pub use error::Error;
pub use open::{open, open_known};
pub use query_cache::QueryCache;
pub use settings::{ProviderSettings, RuntimeSettings};
