//! Benchmarks, one subcommand each: what `make bench` and `make bench-peers` run.

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "mc-bench", about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {}

#[tokio::main]
async fn main() -> Result<()> {
    match Cli::parse().command {}
}
