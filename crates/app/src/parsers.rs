//! The child processes in which parsers read text from outside: this program, started with another
//! argument.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mc_sandbox::{Entry, Limits, PROCESS_ARGUMENT, Program};

/// Runs parsers if this process was started as such a child process.
pub fn serve_if_child() -> Option<ExitCode> {
    let is_child = std::env::args_os().nth(1).is_some_and(|first| first == PROCESS_ARGUMENT);
    is_child.then(|| mc_sandbox::serve(&parsers(), Limits::default()))
}

/// Makes all parsers of this process run in child processes.
pub async fn start() -> Result<()> {
    let program = Program::current(&[PROCESS_ARGUMENT]).context("this program can't be found")?;
    Ok(tokio::task::spawn_blocking(|| mc_sandbox::install(program)).await??)
}

fn parsers() -> Vec<Entry> {
    mc_indexer::PARSERS.into_iter().chain(mc_connectors::PARSERS).collect()
}
