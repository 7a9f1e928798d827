//! Replays the commits of a repository into an index, and interrupts index runs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Converted, Repository};
use crate::harness::database::Database;
use crate::harness::report::{Report, Table};
use crate::harness::stats::Spread;
use crate::harness::{Common, say};
use crate::replay::image::Reuse;
use crate::replay::trial::{self, Interrupted, Replayed};

/// Least share of unchanged chunks that are reused.
const REUSE_MIN: f64 = 0.99;

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    repository: Repository,
    /// Commits to replay: the last ones of the first parents
    #[arg(long, default_value_t = 200)]
    commits: usize,
    /// Interruptions of index runs
    #[arg(long, default_value_t = 100)]
    interruptions: usize,
    /// Seed of the points of interruption
    #[arg(long, default_value_t = 26)]
    seed: u64,
}

/// Measures, and writes the report; fails if the index is wrong or seems ready while it is not.
pub async fn run(args: Args) -> Result<()> {
    let (work, source) = args.repository.copy(&args.common, "replay", args.commits)?;
    let mut report = Report::new("replay");
    report.note(args.repository.describe(&source));
    let database = Database::open(&work.join("data"), &args.common.cache_dir).await?;
    let store = &database.store;
    let (replayed, states) = trial::replay(store, &source, &work).await.converted()?;
    say(&format!("{} commits replayed", replayed.commits));
    let (states, count) = (Arc::new(states), args.interruptions);
    let found = trial::interrupt(store, &source, &work, &states, count, args.seed).await;
    let found = found.converted()?;
    database.close().await;

    describe(&mut report, &replayed, &found);
    report.write(&args.common.out)?;
    let wrong = [
        &replayed.differences,
        &replayed.history_differences,
        &found.false_ready,
        &found.wrong_results,
        &found.history_differences,
    ];
    let wrong: Vec<&String> = wrong.into_iter().flatten().collect();
    ensure!(
        wrong.is_empty(),
        "{} faults, such as {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
    let share = replayed.reuse_in_changed_files.share();
    ensure!(share >= REUSE_MIN, "{share:.4} of the unchanged chunks of changed files are reused");
    Ok(())
}

fn describe(report: &mut Report, replayed: &Replayed, found: &Interrupted) {
    report.note(
        "a commit is one index run; after each tenth of the commits, every row of files, chunks, \
         passages, documents and symbols is compared with that of a full index, without ids and \
         times",
    );
    report.note(
        "an interruption drops the future of a run, or cancels it, after a random number of polls; \
         the run is resumed until it is done, and the branch may move meanwhile",
    );
    let seconds = |runs: &[Duration]| Spread::of(runs.iter().map(Duration::as_secs_f64));
    report.add("index run of one commit", "s", seconds(&replayed.runs));
    report.add("full index run", "s", seconds(&replayed.full_runs));
    let reuse = |Reuse { unchanged, reused }: Reuse| format!("{reused} of {unchanged}");
    let share = |reuse: Reuse| format!("{:.4}", reuse.share());
    let row =
        |name: &str, value: String, target: &str| vec![name.to_owned(), value, target.to_owned()];
    let number = |value: usize| value.to_string();
    let mut polls = found.polls.clone();
    polls.sort_unstable();
    let middle = polls.get(polls.len() / 2).copied().unwrap_or(0);
    let last = polls.last().copied().unwrap_or(0);
    let changed = replayed.reuse_in_changed_files;
    report.set_table(Table {
        header: vec!["check", "result", "target"],
        rows: vec![
            row("commits", number(replayed.commits), ""),
            row("comparisons with a full index", number(replayed.comparisons), ""),
            row("rows compared", number(replayed.rows), ""),
            row("comparisons with a difference", number(replayed.differences.len()), "0"),
            row(
                "the same of the commits' history",
                number(replayed.history_differences.len()),
                "0",
            ),
            row("unchanged chunks reused", reuse(replayed.reuse), ""),
            row("their share", share(replayed.reuse), "0.99"),
            row("unchanged chunks of changed files reused", reuse(changed), ""),
            row("their share", share(changed), "0.99"),
            row(
                "interruptions (dropped, cancelled, failed)",
                format!(
                    "{} ({}, {}, {})",
                    found.count(),
                    found.dropped,
                    found.cancelled,
                    found.failed
                ),
                "",
            ),
            row("polls before them (median, most)", format!("{middle}, {last}"), ""),
            row("interruptions between two commits' files", number(found.partial), ""),
            row("observations of the readiness", number(found.observations), ""),
            row("observations of an index that is ready", number(found.ready_observations), ""),
            row("ready with other files than its commit", number(found.false_ready.len()), "0"),
            row("completed runs with a wrong result", number(found.wrong_results.len()), "0"),
            row(
                "completed runs with another history",
                number(found.history_differences.len()),
                "0",
            ),
        ],
    });
}
