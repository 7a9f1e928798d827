//! Asks the query pipeline for the symbols of a repository.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::Repository;
use super::engine::Engine;
use crate::harness::report::{Report, Table};
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, say};
use crate::identifiers::{Form, Verdict, judge, questions, symbols};

/// Least share of questions whose first match has the definition.
const HIT_MIN: f64 = 0.95;

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    repository: Repository,
    /// Symbols that are asked for
    #[arg(long, default_value_t = 500)]
    questions: usize,
    /// Seed of their choice
    #[arg(long, default_value_t = 26)]
    seed: u64,
    /// Print each question without a hit
    #[arg(long)]
    failures: bool,
}

/// Measures, and writes the report; fails if too few questions have a hit.
pub async fn run(args: Args) -> Result<()> {
    let (work, source) = args.repository.copy(&args.common, "identifiers", 0)?;
    let engine = Engine::start(&args.common, &work, &source).await?;
    let all = symbols(&engine.index.context.store, engine.index.repository.id).await?;
    let mut report = Report::new("identifiers");
    report.note(args.repository.describe(&source));
    report.note(format!("{} symbols; a question is the name of one", all.len()));
    report.note(
        "a hit is a first match that has the first line of a definition of the name; those with \
         the whole definition count apart, since a definition can be longer than a chunk",
    );
    let (mut rows, mut shares, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (form, label) in [(Form::Plain, "plain"), (Form::Qualified, "qualified")] {
        let mut verdicts = Vec::new();
        let mut degraded = 0;
        for name in questions(&all, form, args.questions, args.seed) {
            let started = Instant::now();
            let response = engine.ask(&name, &json!({})).await?;
            times.push(started.elapsed());
            degraded += usize::from(response.warnings.iter().any(|w| w.contains("late")));
            let first = response.matches.first();
            let verdict = judge(&all, form, &name, first);
            if args.failures && verdict < Verdict::Start {
                let shown = first.map(|found| {
                    let lines = &found.metadata;
                    format!("{}:{}-{}", found.path, lines.line_start, lines.line_end)
                });
                let warnings = response.warnings;
                say(&format!("{label} {name}: {verdict:?}, {shown:?}, {warnings:?}"));
            }
            verdicts.push(verdict);
        }
        let count = |least| verdicts.iter().filter(|verdict| **verdict >= least).count();
        let share = |least| count(least) as f64 / verdicts.len() as f64;
        shares.push(share(Verdict::Start));
        rows.push(vec![
            label.to_owned(),
            verdicts.len().to_string(),
            format!("{:.3}", share(Verdict::Start)),
            format!("{:.3}", share(Verdict::Complete)),
            format!("{:.3}", share(Verdict::File)),
            degraded.to_string(),
        ]);
    }
    engine.close().await;
    let times = Times::of(times);
    for (share, name) in [(0.5, "question p50"), (0.99, "question p99")] {
        report.add(name, "ms", Spread::of([times.percentile(share)]));
    }
    let header = vec!["name", "questions", "hit@1", "whole", "file", "with a late retriever"];
    report.set_table(Table { header, rows });
    report.write(&args.common.out)?;
    ensure!(shares.iter().all(|share| *share >= HIT_MIN), "hit@1 is below {HIT_MIN}: {shares:?}");
    Ok(())
}
