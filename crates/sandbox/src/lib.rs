#![doc = include_str!("../README.md")]

mod confine;
mod frame;
mod parser;
mod pool;
mod process;
mod user;

pub use confine::Limits;
pub use parser::{Entry, PROCESS_ARGUMENT, Parser, serve};
pub use pool::{CallError, ParserPool, call, install, stop};
pub use process::Program;
pub use user::UnprivilegedUser;
