//! A service with many records: times of recall and save, memory, and time of a start.

mod measure;
pub mod seed;
mod trust;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use crate::harness::report::Report;
use crate::harness::service::{Service, Setup};
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, say};
use crate::text::{Notes, Source};
use measure::{Question, Workload};

/// The data to measure on.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    source: Source,
    /// Records; 100,000, or 5,000 in the small variant
    #[arg(long)]
    memories: Option<usize>,
    /// Projects that share them; 50, or 10 in the small variant
    #[arg(long)]
    projects: Option<usize>,
    /// Runs of every measurement
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only measure the cost of row-level security and the audit
    #[arg(long)]
    trust: bool,
    /// Create the database again, even if an earlier run left one
    #[arg(long)]
    fresh: bool,
}

/// Seeds the database if necessary, measures, and writes the report.
pub async fn run(args: Args) -> Result<()> {
    let (memories, projects) = if args.service.common.quick { (5_000, 10) } else { (100_000, 50) };
    let memories = args.memories.unwrap_or(memories);
    let projects = args.projects.unwrap_or(projects);
    let notes = Notes::read(&args.source, memories, projects)?;
    say(&format!("{memories} memories in {projects} projects; {}", notes.describe()));
    let work = args.service.common.work(&format!("recall-{memories}-{projects}"))?;
    let data_dir =
        seed::ensure(&work, &args.service.common.cache_dir, &notes, projects, args.fresh).await?;

    let (binary, cache_dir) = (args.service.binary, args.service.common.cache_dir);
    let setup = Setup { binary, cache_dir, data_dir, settings: Vec::new() };
    let mut report = Report::new(if args.trust { "recall-trust" } else { "recall" });
    describe(&mut report, &notes, memories, projects);
    if args.trust {
        trust::measure(&setup, &notes.kept_back, args.runs, &mut report).await?;
        return report.write(&args.service.common.out);
    }
    let workload = Workload::new(&notes.kept_back, args.runs, args.service.common.quick);
    measure_service(&setup, &workload, &mut report).await?;
    measure_starts(&setup, args.runs, &mut report).await?;
    report.write(&args.service.common.out)
}

fn describe(report: &mut Report, notes: &Notes, memories: usize, projects: usize) {
    report.note(format!("{memories} memories in {projects} projects, without citations"));
    report.note(notes.describe());
    report.note(
        "written with the store's own functions, every vector by the service's model; not judged, \
         as saves are",
    );
    report.note(
        "asked over HTTP, by a client on the same machine: the first twelve words of paragraphs \
         that are not stored; cold is a question that was never asked, warm one whose vector is \
         remembered",
    );
}

async fn measure_service(setup: &Setup, workload: &Workload, report: &mut Report) -> Result<()> {
    let service = Service::start(setup).await?;
    say("warming up");
    measure::ask(&service.api, &workload.warm_up, 1).await?;
    report.add(
        "memory of the API node after the start",
        "MiB",
        Spread::of([service.resident_mib()?]),
    );

    recall(&service, workload, report).await?;
    search(&service, workload, report).await?;
    report.add(
        "memory of the API node after the recalls",
        "MiB",
        Spread::of([service.resident_mib()?]),
    );
    save(&service, workload, report).await?;
    report.add_budgeted(
        "memory of the API node after all requests",
        "MiB",
        Spread::of([service.resident_mib()?]),
        "< 400 MiB",
    );
    report.add("of it, without files of the index", "MiB", Spread::of([service.own_mib()?]));
    report.add("its peak", "MiB", Spread::of([service.peak_mib()?]));
    service.stop()
}

/// Measures one client, then eight; each run has queries of its own, each sent twice.
async fn recall(service: &Service, workload: &Workload, report: &mut Report) -> Result<()> {
    let mut figures = [const { Vec::new() }; 4];
    for (run, (alone, together)) in workload.questions.iter().enumerate() {
        for (at, (questions, clients)) in
            [(alone, 1), (alone, 1), (together, CLIENTS), (together, CLIENTS)]
                .into_iter()
                .enumerate()
        {
            figures[at].push(measure::ask(&service.api, questions, clients).await?);
        }
        say(&format!("recall: run {} of {}", run + 1, workload.questions.len()));
    }
    let [cold, warm, cold_together, warm_together] = figures;
    let of = |runs: &[measure::Figures], share| {
        Spread::of(runs.iter().map(|r| r.times.percentile(share)))
    };
    report.add_budgeted("recall, cold, p50", "ms", of(&cold, 0.5), "< 8 ms");
    report.add("recall, cold, p95", "ms", of(&cold, 0.95));
    report.add_budgeted("recall, cold, p99", "ms", of(&cold, 0.99), "< 20 ms");
    report.add_budgeted("recall, cold, the slowest", "ms", of(&cold, 1.0), "< 300 ms");
    report.add("recall, warm, p50", "ms", of(&warm, 0.5));
    report.add("recall, warm, p95", "ms", of(&warm, 0.95));
    report.add("recall, warm, p99", "ms", of(&warm, 0.99));
    let rate = |runs: &[measure::Figures]| Spread::of(runs.iter().map(|run| run.a_second));
    report.add_budgeted("recalls, cold, 8 clients", "a second", rate(&cold_together), "> 200");
    report.add("recalls, warm, 8 clients", "a second", rate(&warm_together));
    let all = || [&cold, &warm, &cold_together, &warm_together].into_iter().flatten();
    let share = |part: fn(&measure::Figures) -> f64| Spread::of(all().map(part));
    report.add("recalls that left a part out", "share", share(|run| run.degraded));
    report.add("recalls with an empty bundle", "share", share(|run| run.empty));
    Ok(())
}

/// Measures searches under filters.
async fn search(service: &Service, workload: &Workload, report: &mut Report) -> Result<()> {
    let mut runs = Vec::new();
    for notes in &workload.saves {
        runs.push(measure::search(&service.api, notes).await?);
    }
    let of = |share| Spread::of(runs.iter().map(|run| run.percentile(share)));
    report.add(
        "search, a fifth each without a filter and by scope, tag, kind and source, p50",
        "ms",
        of(0.5),
    );
    report.add("search under filters, p99", "ms", of(0.99));
    report.add_budgeted("search under filters, the slowest", "ms", of(1.0), "< 300 ms");
    Ok(())
}

const CLIENTS: usize = 8;

/// Measures saves of new notes, one after the other; deletes them afterwards.
async fn save(service: &Service, workload: &Workload, report: &mut Report) -> Result<()> {
    let mut runs = Vec::new();
    let mut created = Vec::new();
    for (run, notes) in workload.saves.iter().enumerate() {
        let (times, ids) = measure::save(&service.api, notes).await?;
        runs.push(times);
        created.extend(ids);
        say(&format!("save: run {} of {}", run + 1, workload.saves.len()));
    }
    let of = |share| Spread::of(runs.iter().map(|run| run.percentile(share)));
    report.add_budgeted("save, p50", "ms", of(0.5), "< 25 ms");
    report.add("save, p95", "ms", of(0.95));
    let sent: usize = workload.saves.iter().map(Vec::len).sum();
    let share = created.len() as f64 / sent as f64;
    report.add("saves that made a new record", "share", Spread::of([share]));
    for id in created {
        service.api.delete(&format!("/records/{id}")).await?;
    }
    Ok(())
}

/// Measures whole starts of the process with its database, with warm file caches.
async fn measure_starts(setup: &Setup, runs: usize, report: &mut Report) -> Result<()> {
    let mut seconds = Vec::new();
    for run in 0..runs {
        let service = Service::start(setup).await?;
        seconds.push(service.ready_after.as_secs_f64());
        // The first recall loads what the start deferred; it counts as well.
        let question = json!({ "project_key": seed::key(0), "query": "how is a buffer flushed" });
        service.api.post("/recall", &question).await?;
        service.stop()?;
        say(&format!("start: run {} of {runs}", run + 1));
    }
    report.add_budgeted("start, warm, until ready", "s", Spread::of(seconds), "< 3 s");
    Ok(())
}

/// Builds a query about a note.
fn question(note: &crate::text::Note) -> Question {
    let words: Vec<&str> = note.text.split_whitespace().take(12).collect();
    Question { project: seed::key(note.project), text: words.join(" ") }
}

/// Returns the data directory of the service below the benchmark's directory.
fn data_dir(work: &Path) -> PathBuf {
    work.join("data")
}
