//! Attacks on a service, one after the other, while another caller recalls and sends deliveries: no
//! recall or delivery may fail, no recall take long, and the memory of the service stays within its
//! budget.

mod attack;
mod attacker;
mod caller;
mod connections;
mod messages;
mod outcome;
mod requests;
mod target;
mod wire;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::ValueEnum as _;

use crate::harness::report::{Report, Table};
use crate::harness::service::{Service, Setup};
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, say};
use crate::recall::seed;
use crate::text::{Notes, Source};
use crate::webhooks::webhook::Webhook;
use attack::Attack;
use caller::Caller;
use outcome::Outcome;
use target::Target;

/// Projects that share the notes.
const PROJECTS: usize = 2;
/// Recalls before an attack.
const WARM_UP: usize = 5;

/// The attacks and their duration.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    source: Source,
    /// Seconds of each attack; 60, or 2 in the small variant
    #[arg(long)]
    seconds: Option<u64>,
    /// Attacks to run, separated by commas; all when absent
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Attack>,
}

/// Runs the attacks and writes the report; fails if a budget is exceeded, unless it is the small
/// variant.
pub async fn run(args: Args) -> Result<()> {
    let common = &args.service.common;
    let is_quick = common.quick;
    let time = Duration::from_secs(args.seconds.unwrap_or(if is_quick { 2 } else { 60 }));
    ensure!(!time.is_zero(), "--seconds is at least 1");
    attacker::raise_file_limit()?;
    let notes = Notes::read(&args.source, if is_quick { 120 } else { 600 }, PROJECTS)?;
    let work = common.work("flood")?;
    // Always a new database: attacks leave documents in it.
    let data_dir = seed::ensure(&work, &common.cache_dir, &notes, PROJECTS, true).await?;
    let (binary, cache_dir) = (args.service.binary.clone(), common.cache_dir.clone());
    let settings = vec![("MEMORY_COPILOT__SERVER__TRUSTED_PROXIES", caller::proxies().into())];
    let setup = Setup { binary, cache_dir, data_dir, settings };

    let attacks: &[Attack] =
        if args.only.is_empty() { Attack::value_variants() } else { &args.only };
    let mut outcomes = Vec::new();
    for attack in attacks {
        let outcome = run_attack(&setup, *attack, &notes, time).await?;
        say(&format!("{}: {}", attack.name(), outcome.verdict()));
        outcomes.push(outcome);
    }
    report(&notes, time, &outcomes).write(&common.out)?;
    let failed = outcomes.iter().filter(|outcome| !outcome.complaints().is_empty());
    let failed: Vec<String> =
        failed.map(|outcome| format!("{}: {}", outcome.attack.name(), outcome.verdict())).collect();
    ensure!(is_quick || failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Runs one attack on a service that has just started, so that no attack affects the next one's
/// limits and memory.
async fn run_attack(
    setup: &Setup,
    attack: Attack,
    notes: &Notes,
    time: Duration,
) -> Result<Outcome> {
    let service = Service::start(setup).await?;
    let webhook = Webhook::add_to(&seed::key(0), &service.api).await?;
    let target = Target::of(&service.api, notes, &webhook).await?;
    let mut caller = Caller::new(&service.api, notes, webhook).await?;
    for _ in 0..WARM_UP {
        caller.recall().await?;
    }
    let attacking = std::thread::spawn(move || attacker::run(attack, target, time));
    let recalls = caller.recall_until(Instant::now() + time).await;
    let attacked = attacking.join().map_err(|_panic| anyhow!("the attacker panicked"))??;
    let peak_mib = service
        .peak_mib()
        .with_context(|| format!("the service did not survive {}", attack.name()))?;
    service.stop()?;
    Ok(Outcome { attack, attacked, recalls, peak_mb: peak_mib * 1.048_576 })
}

fn report(notes: &Notes, time: Duration, outcomes: &[Outcome]) -> Report {
    let mut report = Report::new("flood");
    report.note(format!("{} memories in {PROJECTS} projects", notes.stored.len()));
    report.note(notes.describe());
    report.note(format!(
        "each attack lasts {} s, on a service that has just started; the attacker is one thread, \
         which sleeps whenever it has used more than {} of the time since its start",
        time.as_secs(),
        attacker::CORES
    ));
    report.note(
        "meanwhile one caller with a token of its own recalls, one after the other, every query a \
         new one, and every eighth on a new connection; a webhook delivery follows every eighth \
         recall; the caller comes from another address than the \
         attacker, through a trusted proxy: an address has limits of its own, and all loopback \
         addresses are one",
    );
    let of = |part: fn(&Outcome) -> f64| Spread::of(outcomes.iter().map(part));
    report.add_budgeted("recalls that failed", "recalls", of(Outcome::failed), "0");
    let lost = of(Outcome::failed_deliveries);
    report.add_budgeted("deliveries that failed", "deliveries", lost, "0");
    report.add_budgeted("recall, p99", "ms", of(|one| one.percentile(0.99)), "< 200 ms");
    report.add_budgeted("memory peak", "MB", of(|one| one.peak_mb), "< 600 MB");
    let rows = outcomes.iter().map(Outcome::to_row).collect();
    report.set_table(Table { header: outcome::HEADER.to_vec(), rows });
    report
}
