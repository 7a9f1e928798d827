//! The allocator of the service, because some subcommands measure its code in this process.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Variable with the settings of the allocator, which reads them at the start of the process.
const VARIABLE: &str = "_RJEM_MALLOC_CONF";
/// Settings that keep freed memory in the process.
const KEEP_MEMORY: &str = "oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1";

/// Restarts this program with an allocator that keeps freed memory, unless the allocator has
/// settings already. By default, it returns large blocks to the system at once, and page faults add
/// time to all texts above some length.
pub fn keep_freed_memory() -> Result<()> {
    if env::var_os(VARIABLE).is_some() {
        return Ok(());
    }
    let program = env::current_exe().context("the path of this program is unknown")?;
    let mut command = Command::new(program);
    let error = command.args(env::args_os().skip(1)).env(VARIABLE, KEEP_MEMORY).exec();
    Err(error).with_context(|| format!("this program can't restart itself; set {VARIABLE}"))
}
