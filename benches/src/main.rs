//! Benchmarks, one subcommand each: what `make bench` and `make bench-peers` run.

mod allocator;
#[path = "../../tests/bundles/mod.rs"]
mod bundle_sets;
mod bundles;
mod crash;
mod duplicates;
mod endpoint;
mod figures;
mod flood;
mod gate;
#[path = "../../tests/git_server.rs"]
mod git_server;
#[path = "../../tests/growth.rs"]
mod growth;
mod harness;
mod hostile;
#[path = "../../tests/identifiers.rs"]
mod identifiers;
mod ingest;
mod load;
mod nodes;
mod patches;
mod preview;
mod proof;
#[path = "../../tests/questions/mod.rs"]
mod question_sets;
mod questions;
mod queue;
mod rag;
mod recall;
#[path = "../../tests/replay/mod.rs"]
mod replay;
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
    /// Recall, save, memory and start of a service with many records
    Recall(recall::Args),
    /// Notes written by one client and by several, and queries about them; for several commits in
    /// turn
    Writes(load::Args),
    /// Compare the speed of a commit with the one before, in one run
    Gate(gate::Args),
    /// Index a repository: time until searchable, embedded, and re-indexed after a push
    Ingest(ingest::Args),
    /// Cost of the proof of the project context: for a transaction, a table and a lookup
    Proof(proof::Args),
    /// The job queue: jobs per second, and latency of a start
    Queue(queue::Args),
    /// Vector search under filters compared with an exact scan
    Vectors(vectors::Args),
    /// Webhooks at a steady rate while PostgreSQL is restarted: response times, and no delivery
    /// lost or processed twice
    Webhooks(webhooks::Args),
    /// Kill service, worker and PostgreSQL at random moments of index runs: nothing missing,
    /// nothing duplicated
    Crash(crash::Args),
    /// Two nodes on one database, of which one is killed repeatedly: nothing lost, and response
    /// times of the other
    Nodes(nodes::Args),
    /// Attacks by floods of requests and connections while another caller recalls: response times
    /// and memory
    Flood(flood::Args),
    /// Recall, false positives and speed of the sanitizer on labeled texts and source code
    Sanitizer(sanitizer::Args),
    /// Growth of the time of every parser of outside text, for families of hostile texts
    Hostile(hostile::Args),
    /// Detection of duplicates among generated records: recall and time
    Duplicates(duplicates::Args),
    /// Correctness of bundles on sets of notes and questions
    Bundles(bundles::Args),
    /// Figures of a year of usage: the time of one request, and of all projects
    Figures(figures::Args),
    /// Replay the commits of a repository into an index: equal to a full one, chunks reused, and no
    /// interrupted run seems ready
    Replay(rag::replays::Args),
    /// Questions for the symbols of a repository: the first match has the definition
    Identifiers(rag::identifiers::Args),
    /// Search for texts in a tree compared with the program grep: no line missed
    Substrings(rag::substrings::Args),
    /// Find the files of commits by their messages: the pipeline with each module off, and search
    Ablation(rag::ablation::Args),
    /// Fetch a repository over smart HTTP into a workspace, index it and ask it
    Questions(questions::Args),
    /// Apply the patches of real commits, and slightly wrong versions of them, beside git and patch
    Patches(patches::Args),
    /// Try a patch in a workspace: the time of a dry run, beside `cp` and `git apply`
    Preview(preview::Args),
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
        Command::Proof(args) => proof::run(args).await,
        Command::Queue(args) => queue::run(args).await,
        Command::Vectors(args) => vectors::run(args).await,
        Command::Webhooks(args) => webhooks::run(args).await,
        Command::Crash(args) => crash::run(args).await,
        Command::Nodes(args) => nodes::run(args).await,
        Command::Flood(args) => flood::run(args).await,
        Command::Sanitizer(args) => sanitizer::run(&args),
        Command::Hostile(args) => hostile::run(&args),
        Command::Duplicates(args) => duplicates::run(&args),
        Command::Bundles(args) => bundles::run(args).await,
        Command::Figures(args) => figures::run(args).await,
        Command::Patches(args) => patches::run(&args),
        Command::Replay(args) => Box::pin(rag::replays::run(args)).await,
        Command::Identifiers(args) => Box::pin(rag::identifiers::run(args)).await,
        Command::Substrings(args) => rag::substrings::run(&args),
        Command::Ablation(args) => Box::pin(rag::ablation::run(args)).await,
        Command::Questions(args) => Box::pin(questions::run(args)).await,
        Command::Preview(args) => preview::run(args).await,
        Command::Endpoint(args) => endpoint::run(args).await,
    }
}
