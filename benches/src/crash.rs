//! Kills service, worker or PostgreSQL with `kill -9` at random moments of an index run, while a
//! client saves. In the end, the index equals that of an undisturbed run, and all acknowledged
//! saves are there.

mod image;
mod repository;
mod saver;
mod trial;

use std::time::Duration;

use anyhow::{Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::harness::report::Report;
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, say};
use trial::{Outcome, Site, VICTIMS, Victim};

/// Kills happen within the duration of an undisturbed run and slightly beyond.
const DISTURBED_SHARE: f64 = 1.1;

/// The number and kind of runs.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Index runs, in each of which a process is killed; 100, or 9 in the small variant
    #[arg(long)]
    runs: Option<u32>,
    /// Files of the repository
    #[arg(long, default_value_t = 2_000)]
    files: usize,
    /// Seed of the random moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs and writes the report; fails if anything is missing or duplicated.
pub async fn run(args: Args) -> Result<()> {
    let runs = args.runs.unwrap_or(if args.service.common.quick { 9 } else { 100 });
    let repository = args.service.common.work("crash-repository")?.join("clone");
    let lines = repository::make(&repository, args.files)?;
    let mut site = Site::start(&args.service.common, args.service.binary, repository).await?;
    let clean = site.clean().await?;
    say(&format!("undisturbed: {:.1} s, {}", clean.took.as_secs_f64(), clean.image.describe()));

    let mut moments = StdRng::seed_from_u64(args.seed);
    let mut outcomes = Vec::new();
    for number in 1..=runs {
        let victim = VICTIMS[number as usize % VICTIMS.len()];
        let after = clean.took.mul_f64(moments.random_range(0.0..DISTURBED_SHARE));
        let outcome = site.disturbed(number, victim, after, &clean.image).await?;
        say(&format!("{number} of {runs}: {}", outcome.describe()));
        outcomes.push(outcome);
    }
    let vectors = site.until_every_vector().await?;
    site.stop().await?;

    let mut report = Report::new("crash");
    report.note(format!(
        "{runs} index runs of {} files with {lines} lines (sources of the dependencies, cut \
         short), each of a project of its own, by a service and a worker on one PostgreSQL; at a \
         random moment of each (seed {}) one of the three is killed with SIGKILL and started \
         again, while a client saves",
        args.files, args.seed
    ));
    report.note(format!(
        "compared with a run that nobody disturbed ({:.1} s): {}",
        clean.took.as_secs_f64(),
        clean.image.describe()
    ));
    report.note(vectors);
    add(&mut report, clean.took, &outcomes);
    report.write(&args.service.common.out)?;
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
