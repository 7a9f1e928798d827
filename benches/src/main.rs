//! Benchmarks, one subcommand each: what `make bench` and `make bench-peers` run.

#[path = "../../tests/bundles/mod.rs"]
mod bundle_sets;
mod bundles;
mod crash;
mod duplicates;
mod endpoint;
mod gate;
mod harness;
mod ingest;
mod load;
mod nodes;
mod queue;
mod recall;
mod sanitizer;
mod text;
mod vectors;
mod webhooks;

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
    /// Recall, save, memory and start of a service with many memories
    Recall(recall::Args),
    /// Notes written by one client and by several, and questions about them; of several commits in turn
    Writes(load::Args),
    /// Whether a commit is slower than the one before: both in turn in one run
    Gate(gate::Args),
    /// A repository through the service: searchable, embedded, re-indexed after a push
    Ingest(ingest::Args),
    /// The queue of background work: jobs a second, and how soon one begins
    Queue(queue::Args),
    /// Vector search under filters against an exact scan
    Vectors(vectors::Args),
    /// Webhooks at a steady rate while PostgreSQL is restarted: answers, and that none is lost or done twice
    Webhooks(webhooks::Args),
    /// Service, worker and PostgreSQL killed at random moments of index runs: nothing missing, nothing twice
    Crash(crash::Args),
    /// Two nodes on one database, of which one is killed again and again: nothing lost, and what the other answers
    Nodes(nodes::Args),
    /// What the sanitizer finds and touches in labelled texts, and how fast it reads source code
    Sanitizer(sanitizer::Args),
    /// Records that say the same among made ones: how many are found, and how long it takes
    Duplicates(duplicates::Args),
    /// What recall hands out, against sets of notes and questions
    Bundles(bundles::Args),
    /// Serve the local embedding model as an OpenAI-compatible `/v1/embeddings`
    Endpoint(endpoint::Args),
}

#[tokio::main]
async fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Recall(args) => recall::run(args).await,
        Command::Writes(args) => load::run(args).await,
        Command::Gate(args) => gate::run(args).await,
        Command::Ingest(args) => ingest::run(args).await,
        Command::Queue(args) => queue::run(args).await,
        Command::Vectors(args) => vectors::run(args).await,
        Command::Webhooks(args) => webhooks::run(args).await,
        Command::Crash(args) => crash::run(args).await,
        Command::Nodes(args) => nodes::run(args).await,
        Command::Sanitizer(args) => sanitizer::run(&args),
        Command::Duplicates(args) => duplicates::run(&args),
        Command::Bundles(args) => bundles::run(args).await,
        Command::Endpoint(args) => endpoint::run(args).await,
    }
}
