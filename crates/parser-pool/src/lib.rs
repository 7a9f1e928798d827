#![doc = include_str!("../README.md")]

mod confine;
mod frame;
mod parser;
mod pool;
mod process;

pub use parser::{PROCESS_ARGUMENT, Parser, ParserEntry, serve};
pub use pool::{CallError, ParserPool, call, install, stop};
pub use process::Program;
