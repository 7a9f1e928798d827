//! `kill -9` of service, worker and PostgreSQL at random moments of an index run, while others save: in the end the
//! index has what a run has that nobody disturbed, and everything that was acknowledged.

mod image;
mod repository;
mod saver;
mod trial;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::harness::report::Report;
use crate::harness::stats::Spread;
use crate::harness::{Common, say};
use trial::{Outcome, Site, VICTIMS, Victim};

/// The run is disturbed at any moment of its time without disturbance, and of a little more.
const BEYOND: f64 = 1.1;

/// How often, and what.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The service's release binary
    #[arg(long, env = "MEMORY_COPILOT_BINARY")]
    binary: PathBuf,
    /// Index runs, in each of which something is killed; 100, or 9 in the small variant
    #[arg(long)]
    runs: Option<u32>,
    /// Files of the repository
    #[arg(long, default_value_t = 2_000)]
    files: usize,
    /// Chooses the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Kills, compares and writes the report; fails where anything is missing or there twice.
pub async fn run(args: Args) -> Result<()> {
    let runs = args.runs.unwrap_or(if args.common.quick { 9 } else { 100 });
    let repository = args.common.work("crash-repository")?.join("clone");
    let lines = repository::make(&repository, args.files)?;
    let mut site = Site::start(&args.common, args.binary, repository).await?;
    let clean = site.clean().await?;
    say(&format!("undisturbed: {:.1} s, {}", clean.took.as_secs_f64(), clean.image.describe()));

    let mut moments = StdRng::seed_from_u64(args.seed);
    let mut outcomes = Vec::new();
    for number in 1..=runs {
        let victim = VICTIMS[number as usize % VICTIMS.len()];
        let after = clean.took.mul_f64(moments.random_range(0.0..BEYOND));
        let outcome = site.disturbed(number, victim, after, &clean.image).await?;
        say(&format!("{number} of {runs}: {}", outcome.describe()));
        outcomes.push(outcome);
    }
    let vectors = site.until_every_vector().await?;
    site.stop().await?;

    let mut report = Report::new("crash");
    report.note(format!(
        "{runs} index runs of {} files with {lines} lines (sources of the dependencies, cut short), each of a project \
         of its own, by a service and a worker on one PostgreSQL; at a random moment of each (seed {}) one of the \
         three is killed with SIGKILL and started again, while a client saves",
        args.files, args.seed
    ));
    report.note(format!(
        "compared with a run that nobody disturbed ({:.1} s): {}",
        clean.took.as_secs_f64(),
        clean.image.describe()
    ));
    report.note(vectors);
    add(&mut report, clean.took, &outcomes);
    report.write(&args.common.out)?;
    let wrong: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.complaints).collect();
    ensure!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

fn add(report: &mut Report, undisturbed: Duration, outcomes: &[Outcome]) {
    let count = |holds: &dyn Fn(&&Outcome) -> bool| {
        Spread::of([outcomes.iter().filter(holds).count() as f64])
    };
    let right = count(&|outcome| outcome.complaints.is_empty());

    report.add_budgeted("equal to the run without disturbance", "runs", right, "all");
    report.add(
        "of these killed before the run had ended",
        "runs",
        count(&|outcome| outcome.was_under_way),
    );
    for victim in VICTIMS {
        let of_it = || outcomes.iter().filter(move |outcome| outcome.victim == victim);
        if of_it().next().is_none() {
            continue;
        }
        report.add(
            format!("killed: {}", Victim::name(victim)),
            "times",
            Spread::of([of_it().count() as f64]),
        );
        let longer = of_it().map(|outcome| outcome.took.as_secs_f64() - undisturbed.as_secs_f64());
        let name = format!("longer than undisturbed, {} killed", Victim::name(victim));
        report.add(name, "s", Spread::of(longer));
    }
    let saves = outcomes.iter().map(|outcome| outcome.acknowledged).sum::<usize>();
    report.add("saves acknowledged meanwhile", "saves", Spread::of([saves as f64]));
    let failed = outcomes.iter().map(|outcome| outcome.failed).sum::<usize>();
    report.add("saves that failed meanwhile", "saves", Spread::of([failed as f64]));
    let wrong = outcomes.iter().map(|outcome| outcome.complaints.len()).sum::<usize>();
    report.add_budgeted("missing or twice", "times", Spread::of([wrong as f64]), "0");
}
