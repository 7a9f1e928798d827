#![doc = include_str!("../README.md")]

mod budget;
mod compress;
mod cross_encoder;
mod error;
mod fallback;
mod global;
mod history;
mod journal;
mod language;
mod model_rerank;
mod models;
mod multi_query;
mod neighbors;
mod pipeline;
mod profiles;
mod prompt;
mod rerank;
mod response;
mod retrieve;
mod rewrite;
mod scope;
mod settings;
mod snippet;
mod summary;
mod switches;
mod translate;
mod union;

pub use cross_encoder::{CrossEncoder, CrossEncoderSettings, InvalidCrossEncoder};
pub use error::Error;
pub use global::search_global;
pub use pipeline::{RagContext, search};
pub use profiles::DEFAULT_PROFILE;
pub use scope::NotReady;
pub use settings::{InvalidSettings, RagSettings};
pub use switches::SwitchLayer;
