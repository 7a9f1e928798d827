#![doc = include_str!("../README.md")]

mod confine;
mod frame;
mod parser;
mod pool;
mod privileges;
mod process;
mod user;

pub use parser::{PROCESS_ARGUMENT, Parser, ParserEntry, serve};
pub use pool::{CallError, ParserPool, call, install, stop};
pub use privileges::{
    RaisedPrivileges, drop_unused_capabilities, is_root, lower_privileges, raise_privileges,
    without_capabilities,
};
pub use process::Program;
pub use user::{FileAccess, UnprivilegedUser};
