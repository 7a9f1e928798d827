//! Measures the bundles of `recall` on sets of notes and questions: their correctness compared with
//! the first hits of `search`, and the reliability of the confidence.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bundle_sets::report::{Scored, failures, score, table};
use crate::bundle_sets::run::{self, Rest};
use crate::bundle_sets::set::Set;
use crate::harness::service::{Api, Service, Setup, without_rate_limits};
use crate::harness::{make_dir, remove, say};

/// The sets to run.
#[derive(clap::Args)]
pub struct Args {
    /// Directories of sets: `meta.json`, `notes.jsonl`, `questions.jsonl`
    #[arg(long = "set", required = true, num_args = 1..)]
    sets: Vec<PathBuf>,
    /// Directory with clones, named as their repositories are; sets on a package need none
    #[arg(long)]
    repo_dir: Option<PathBuf>,
    /// The service's binary
    #[arg(long, env = "MEMORY_COPILOT_BINARY")]
    binary: PathBuf,
    /// Directory that `make setup` filled
    #[arg(long, env = "MEMORY_COPILOT_CACHE")]
    cache_dir: PathBuf,
    /// Directory for the database; when run as root, an unprivileged user must be able to reach it
    #[arg(long, default_value_os_t = std::env::temp_dir().join("memory-copilot-bench"))]
    work_dir: PathBuf,
    /// Print each question that is not fully correct, with the reasons
    #[arg(long)]
    failures: bool,
    /// File for all results: notes, questions, and baselines
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Runs each set on an empty service.
pub async fn run(args: Args) -> Result<()> {
    let sets =
        args.sets.iter().map(|directory| Set::read(directory)).collect::<Result<Vec<_>>>()?;
    make_dir(&args.work_dir)?;
    let work = args.work_dir.join("bundles");
    remove(&work)?;
    make_dir(&work)?;
    let service = Service::start(&args.setup(&work)).await?;
    let mut scored = Vec::new();
    for set in &sets {
        scored.push(measure(&args, &service, set, &work).await.context(set.name.clone())?);
    }
    service.stop()?;
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&scored)? + "\n";
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    show(&args, &scored);
    Ok(())
}

async fn measure(args: &Args, service: &Service, set: &Set, work: &Path) -> Result<Scored> {
    let (notes, questions) = (set.notes.len(), set.questions.len());
    say(&format!("{}: {notes} notes, {questions} questions", set.name));
    let clones = args.repo_dir.as_deref();
    let (repository, commit) = set.source.repository(clones, &args.cache_dir, work)?;
    let project = format!("bundles-{}", set.name);
    Ok(score(set, run::run(&service.api, &project, set, (&repository, commit)).await?))
}

impl Args {
    fn setup(&self, work: &Path) -> Setup {
        Setup {
            binary: self.binary.clone(),
            cache_dir: self.cache_dir.clone(),
            data_dir: work.join("service"),
            settings: without_rate_limits().into(),
        }
    }
}

impl Rest for Api {
    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        Self::post(self, path, body).await
    }

    async fn get(&self, path: &str) -> Result<Value> {
        Self::get(self, path).await
    }
}

#[expect(clippy::print_stdout, reason = "the result is what the benchmark is run for")]
fn show(args: &Args, scored: &[Scored]) {
    if args.failures {
        for set in scored {
            println!("{}", failures(set));
        }
    }
    println!("{}", table(scored));
}
