//! Webhooks at a steady rate, some sent twice and some forged, while PostgreSQL is restarted:
//! response times, and no delivery lost, processed twice or accepted by mistake.

mod ledger;
mod measure;
mod restart;
mod sender;
pub mod webhook;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::harness::report::Report;
use crate::harness::service::Setup;
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, say};
use measure::{Outage, Run, SETTLED, UNDER_WAY, WAYS};
use sender::{FORGED_EVERY, REPEATED_EVERY, RESPONSE_TIMEOUT};

/// Minimum number of deliveries, for three meaningful thirds.
const MIN_DELIVERIES: u32 = 300;

/// The amount to send.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Deliveries per run, including forged ones; 30,000, or 3,000 in the small variant
    #[arg(long)]
    deliveries: Option<u32>,
    /// Deliveries per second, without repeated ones
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Runs, each on an empty service
    #[arg(long, default_value_t = 1)]
    runs: usize,
}

/// Sends, counts and writes the report; fails if a delivery was lost, processed twice or accepted
/// though forged.
pub async fn run(args: Args) -> Result<()> {
    let deliveries = if args.service.common.quick { 3_000 } else { 30_000 };
    let deliveries = args.deliveries.unwrap_or(deliveries);
    ensure!(
        deliveries >= MIN_DELIVERIES && args.rate > 0,
        "send {MIN_DELIVERIES} or more, at least one a second"
    );
    let data_dir = args.service.common.work("webhooks")?.join("data");
    let (binary, cache_dir) = (args.service.binary, args.service.common.cache_dir);
    let setup = Setup { binary, cache_dir, data_dir, settings: Vec::new() };
    let slots = sender::schedule(deliveries, args.rate);
    let whole = Duration::from_secs(deliveries.into()) / args.rate;
    let mut runs = Vec::new();
    for at in 0..args.runs {
        runs.push(measure::run(&setup, &slots, whole).await?);
        say(&format!("webhooks: run {} of {}", at + 1, args.runs));
    }

    let mut report = Report::new("webhooks");
    describe(&mut report, deliveries, args.rate, &runs);
    report_answers(&mut report, &runs);
    report_outages(&mut report, &runs);
    report_fates(&mut report, &runs);
    report.write(&args.service.common.out)?;
    let complaints: Vec<String> = runs.iter().flat_map(|run| run.verdict.complaints()).collect();
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}

fn describe(report: &mut Report, deliveries: u32, rate: u32, runs: &[Run]) {
    let bytes = runs.first().map_or(0, |run| run.bytes);
    report.note(format!(
        "{deliveries} deliveries, {rate} a second, through one webhook to an empty service: each \
         an event of GitHub's of {bytes} bytes that tells of an issue of its own; one in \
         {FORGED_EVERY} is forged"
    ));
    report.note(format!(
        "besides, one in {REPEATED_EVERY} is sent a second time with the same id, at the same \
         moment or up to 10 s later"
    ));
    report.note(format!(
        "response times count from the time when the delivery was due; a delivery without a \
         response within {} s, or with 5xx, is sent again after 0.5 s, then with a doubled delay \
         of up to 60 s, and given up after ten attempts",
        RESPONSE_TIMEOUT.as_secs()
    ));
    let [first, second] = WAYS.map(restart::Way::name);
    report.note(format!(
        "PostgreSQL is told to stop after a third of the time ({first}) and after two ({second}), \
         and is started again by the service; within a restart is what was due from {} ms before \
         until {} s after the first acknowledgement behind it",
        UNDER_WAY.as_millis(),
        SETTLED.as_secs()
    ));
    let mut failures = BTreeMap::<&str, usize>::new();
    for (what, count) in runs.iter().flat_map(|run| &run.failures) {
        *failures.entry(what.as_str()).or_default() += *count;
    }
    let failures: Vec<_> =
        failures.iter().map(|(what, count)| format!("{count} x {what}")).collect();
    if !failures.is_empty() {
        report.note(format!("tries that failed: {}", failures.join(", ")));
    }
}

fn report_answers(report: &mut Report, runs: &[Run]) {
    let of = |part: fn(&Run) -> f64| Spread::of(runs.iter().map(part));
    let name = |what: &str| format!("answers outside the restarts, {what}");
    report.add(name("p50"), "ms", of(|run| run.outside.percentile(0.5)));
    report.add_budgeted(name("p99"), "ms", of(|run| run.outside.percentile(0.99)), "< 20 ms");
    report.add(name("longest"), "ms", of(|run| run.outside.percentile(1.0)));
    let name = |what: &str| format!("answers within the restarts, {what}");
    report.add(name("how many"), "answers", of(|run| run.counted_within as f64));
    report.add(name("p50"), "ms", of(|run| run.within.percentile(0.5)));
    report.add(name("p99"), "ms", of(|run| run.within.percentile(0.99)));
    report.add(name("longest"), "ms", of(|run| run.within.percentile(1.0)));
}

fn report_outages(report: &mut Report, runs: &[Run]) {
    let counts = runs.iter().map(|run| run.outages.len() as f64);
    report.add("restarts of PostgreSQL", "restarts", Spread::of(counts));
    for (at, way) in WAYS.into_iter().enumerate() {
        let of = |part: fn(&Outage) -> Duration| {
            Spread::of(runs.iter().map(|run| part(&run.outages[at]).as_secs_f64()))
        };
        let way = way.name();
        report.add(format!("until PostgreSQL is back, {way}"), "s", of(Outage::away));
        let name = format!("until the first acknowledgement behind it, {way}");
        report.add(name, "s", of(Outage::until_acknowledged));
    }
}

fn report_fates(report: &mut Report, runs: &[Run]) {
    let of = |part: fn(&Run) -> f64| Spread::of(runs.iter().map(part));
    let count = |part: fn(&Run) -> usize| Spread::of(runs.iter().map(|run| part(run) as f64));
    report.add("sent, without the forged", "deliveries", count(|run| run.verdict.sent));
    report.add("acknowledged", "deliveries", count(|run| run.verdict.acknowledged));
    report.add_budgeted(
        "not delivered in the end",
        "in 10,000",
        of(|run| run.verdict.undelivered()),
        "<= 1 (99.99 % delivered)",
    );
    report.add("tried more than once", "sendings", count(|run| run.retried));
    let lost = count(|run| run.verdict.lost.len());
    report.add_budgeted("acknowledged and lost", "deliveries", lost, "0");
    let twice = count(|run| run.verdict.twice.len());
    report.add_budgeted("done twice", "deliveries", twice, "0");
    let forged = count(|run| run.verdict.forged.len());
    report.add_budgeted("forged and accepted", "deliveries", forged, "0");
    let waits = of(|run| run.waits.percentile(0.5));
    report.add("from its arrival until it is gone through, p50", "ms", waits);
    let longest = of(|run| run.waits.percentile(1.0) / 1_000.0);
    report.add("from its arrival until it is gone through, longest", "s", longest);
    let through = of(|run| run.through.as_secs_f64());
    report.add("from the last answer until the last is gone through", "s", through);
}
