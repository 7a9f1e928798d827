#![doc = include_str!("../README.md")]

pub mod clients;
pub mod core;

mod error;
mod http;
mod progress;
mod prompts;
mod render;
mod resources;
mod sampling;
mod server;
mod settings;
mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
mod tokens;
mod tools;

pub use core::CoreClient;
pub use error::Error;
pub use http::http_router;
pub use render::{Excerpt, Suggestions, bundle_text};
pub use server::{CallError, MemoryServer};
pub use settings::{ServerSettings, Toolset, UnknownToolset, parse_toolsets};
pub use stdio::{StdioSettings, serve_on, stdio};
pub use tools::{TOOLS, Tool};
