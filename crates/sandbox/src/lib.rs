#![doc = include_str!("../README.md")]

mod capabilities;
mod confine;
mod frame;
mod parser;
mod pool;
mod process;
mod user;

pub use capabilities::drop_unused_capabilities;
pub use parser::{PROCESS_ARGUMENT, Parser, ParserEntry, serve};
pub use pool::{CallError, ParserPool, call, install, stop};
pub use process::Program;
pub use user::{FileAccess, UnprivilegedUser};
