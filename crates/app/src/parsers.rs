//! Child processes that run the parsers of outside text. They run this program with a special first
//! argument.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mc_parser_pool::{PROCESS_ARGUMENT, ParserEntry, Program};

/// Runs parsers if this process was started as such a child process.
pub fn serve_if_child() -> Option<ExitCode> {
    let is_child = std::env::args_os().nth(1).is_some_and(|first| first == PROCESS_ARGUMENT);
    is_child.then(|| mc_parser_pool::serve(&parsers()))
}

/// Starts the pool of child processes, in which all parsers run from then on.
pub async fn start() -> Result<()> {
    let program = Program::current(&[PROCESS_ARGUMENT])
        .context("the path of the running program is unknown; mount /proc, or start it again")?;
    Ok(tokio::task::spawn_blocking(|| mc_parser_pool::install(program)).await??)
}

fn parsers() -> Vec<ParserEntry> {
    mc_indexer::PARSERS.into_iter().chain(mc_connectors::PARSERS).collect()
}
