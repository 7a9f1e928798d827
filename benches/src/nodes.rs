//! Two nodes on one PostgreSQL with several clients, while one node is killed and started again
//! repeatedly: lost saves, failed requests, and the speed of the other node.

mod client;
mod measure;
mod probe;

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::harness::ServiceArgs;
use crate::harness::report::Report;
use crate::harness::stats::{Spread, Times};
use client::{Node, What};
use measure::Run;

/// The duration and the number of clients.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Total seconds; 180, or 40 in the small variant
    #[arg(long)]
    seconds: Option<u64>,
    /// Seconds between two kills
    #[arg(long, default_value_t = 10)]
    kill_every: u64,
    /// Clients that save, and as many that recall
    #[arg(long, default_value_t = 10)]
    clients: usize,
}

/// Runs and writes the report; fails if an acknowledged save is lost or an unexpected request
/// fails.
pub async fn run(args: Args) -> Result<()> {
    let whole = Duration::from_secs(args.seconds.unwrap_or(if args.service.common.quick {
        40
    } else {
        180
    }));
    let every = Duration::from_secs(args.kill_every);
    ensure!(args.clients > 0 && every >= Duration::from_secs(5), "a node needs time to start");
    let run =
        measure::run(&args.service.common, args.service.binary.clone(), args.clients, whole, every)
            .await?;

    let mut report = Report::new("nodes");
    report.note(format!(
        "two `serve` on one PostgreSQL, started at once on an empty database; {} clients save \
         every {} ms and {} recall every {} ms for {} s, half of them at each node; one that its \
         node refuses or cuts off asks the other",
        args.clients,
        client::SAVE_INTERVAL.as_millis(),
        args.clients,
        client::RECALL_INTERVAL.as_millis(),
        whole.as_secs()
    ));
    report.note(format!(
        "the second node is killed with SIGKILL every {} s and started again at once; requests \
         that lose their connection by that are cut off",
        every.as_secs()
    ));
    add_times(&mut report, &run);
    add_fates(&mut report, &run);
    report.write(&args.service.common.out)?;
    ensure!(run.lost.is_empty(), "{} acknowledged saves are lost: {:?}", run.lost.len(), run.lost);
    ensure!(run.results.wrong.is_empty(), "failed: {:?}", run.results.wrong);
    Ok(())
}

fn add_times(report: &mut Report, run: &Run) {
    for node in [Node::Steady, Node::Killed] {
        for what in [What::Recall, What::Save] {
            let Some(times) = run.results.times.get(&(node, what)) else { continue };
            let times = Times::of(times.iter().copied());
            let name = format!("{} by the node that is {}", what.name(), node.name());
            for (part, share) in [("p50", 0.5), ("p99", 0.99), ("longest", 1.0)] {
                report.add(format!("{name}, {part}"), "ms", Spread::of([times.percentile(share)]));
            }
        }
    }
    let seen = Times::of(run.seen.iter().copied());
    let name = "a save of one node found at the other";
    report.add(format!("{name}, p50"), "ms", Spread::of([seen.percentile(0.5)]));
    report.add_budgeted(
        format!("{name}, longest"),
        "ms",
        Spread::of([seen.percentile(1.0)]),
        "< 1,000 ms",
    );
}

fn add_fates(report: &mut Report, run: &Run) {
    let count = |number: usize| Spread::of([number as f64]);
    report.add("kills", "times", count(run.kills));
    let ready = run.ready.iter().map(Duration::as_secs_f64);
    report.add("until the killed node is ready again", "s", Spread::of(ready));
    report.add("saves acknowledged", "saves", count(run.results.saved.len()));
    report.add_budgeted("acknowledged and lost", "saves", count(run.lost.len()), "0");
    report.add("connections that the dead node refused", "tries", count(run.results.refused));
    report.add("cut off by a kill", "tries", count(run.results.cut_off));
    report.add_budgeted("failed otherwise", "tries", count(run.results.wrong.len()), "0");
}
