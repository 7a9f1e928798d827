//! Benchmarks, one subcommand each: what `make bench` and `make bench-peers` run.

mod endpoint;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "mc-bench", about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the local embedding model as an OpenAI-compatible `/v1/embeddings`
    Endpoint(endpoint::Args),
}

#[tokio::main]
async fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Endpoint(args) => endpoint::run(args).await,
    }
}
