//! The load on the service of one commit, or of several in turn.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Round, Size, round};
use crate::harness::report::Report;
use crate::harness::service::{Service, Setup};
use crate::harness::stats::Spread;
use crate::harness::{Common, ServiceArgs, remove, say};

/// The binaries and rounds.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// The binary of another commit, measured in the same run; may be repeated
    #[arg(long)]
    beside: Vec<PathBuf>,
    /// Rounds, each with every binary and new projects
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// A minimal variant to check that it works
    #[arg(long)]
    tiny: bool,
}

/// Measures all binaries in turn, each on an empty service, and writes the report; fails if an
/// acknowledged note is lost or was not found.
pub async fn run(args: Args) -> Result<()> {
    ensure!(args.runs > 0, "--runs is at least 1");
    let size = match (args.tiny, args.service.common.quick) {
        (true, _) => Size::TINY,
        (false, true) => Size::QUICK,
        (false, false) => Size::FULL,
    };
    let binaries: Vec<&Path> =
        [&args.service.binary].into_iter().chain(&args.beside).map(PathBuf::as_path).collect();
    let mut services = Vec::new();
    for (at, binary) in binaries.iter().enumerate() {
        services.push(start(&args.service.common, binary, &format!("writes-{at}")).await?);
    }
    let mut rounds: Vec<Vec<Round>> = binaries.iter().map(|_| Vec::new()).collect();
    for run in 0..args.runs {
        // Rounds in turn distribute disturbances by other processes evenly.
        for turn in 0..services.len() {
            let at = (run + turn) % services.len();
            rounds[at].push(round(&services[at].api, &format!("round-{run}"), size).await?);
        }
        say(&format!("writes: run {} of {}", run + 1, args.runs));
    }
    for service in services {
        service.stop()?;
    }
    report(&args, size, &binaries, &rounds)?;
    let wrong: usize = rounds.iter().flatten().map(|round| round.unseen + round.lost).sum();
    ensure!(wrong == 0, "{wrong} acknowledged notes are lost or were not found");
    Ok(())
}

/// Starts a binary on an empty data directory.
pub async fn start(common: &Common, binary: &Path, name: &str) -> Result<Service> {
    let data_dir = common.work(name)?.join("data");
    remove(&data_dir)?;
    let (binary, cache_dir) = (binary.to_owned(), common.cache_dir.clone());
    let setup = Setup { binary, cache_dir, data_dir, settings: Vec::new() };
    Service::start(&setup)
        .await
        .with_context(|| format!("{} did not start", setup.binary.display()))
}

fn report(args: &Args, size: Size, binaries: &[&Path], rounds: &[Vec<Round>]) -> Result<()> {
    let mut report = Report::new("writes");
    report.note(format!(
        "each round, in a project of its own: {} notes and {} questions by one client, then {} \
         notes and as many questions by {} clients",
        size.sequential,
        size.questions,
        size.clients * size.each,
        size.clients
    ));
    for (at, (binary, rounds)) in binaries.iter().zip(rounds).enumerate() {
        let of = |part: &dyn Fn(&Round) -> f64| Spread::of(rounds.iter().map(part));
        let name = |what: &str| match at {
            0 => what.to_owned(),
            _ => format!("{what}, {}", binary.display()),
        };
        report.add(name("parallel writes"), "a second", of(&|round| round.writes_a_second));
        report.add(name("parallel write, p95"), "ms", of(&|round| round.parallel.percentile(0.95)));
        report.add(name("write, p50"), "ms", of(&|round| round.write.percentile(0.5)));
        report.add(name("write, p95"), "ms", of(&|round| round.write.percentile(0.95)));
        report.add(name("recall, p50"), "ms", of(&|round| round.recall.percentile(0.5)));
        report.add(name("recall, p95"), "ms", of(&|round| round.recall.percentile(0.95)));
        report.add(name("recall, p99"), "ms", of(&|round| round.recall.percentile(0.99)));
        report.add(name("parallel recalls"), "a second", of(&|round| round.recalls_a_second));
        report.add_budgeted(
            name("not found when acknowledged"),
            "notes",
            of(&|round| round.unseen as f64),
            "0",
        );
        report.add_budgeted(
            name("acknowledged and lost"),
            "notes",
            of(&|round| round.lost as f64),
            "0",
        );
    }
    report.write(&args.service.common.out)
}
