//! Patches of real commits, applied by `mc-coding` and by `git apply`, and slightly wrong versions
//! of them, also applied by `patch`.

mod commits;
mod mutations;
pub mod repository;
mod tree;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::harness::report::{Report, Table};
use crate::harness::stats::Spread;
use crate::harness::{Common, remove, say};
use crate::replay::generated;
use commits::Compared;
use mutations::{Case, Outcomes};
use repository::Repository;

/// Programs that apply the wrong versions, in the columns of the table.
const PROGRAMS: [&str; 3] = ["memory-copilot", "git apply --3way", "patch -F3"];
/// Minimum share of wrong versions that are recovered.
const RECOVERED_MIN: f64 = 0.9;

/// The repositories.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Clones; the commits of their branches that are checked out are applied; a small generated
    /// repository without it
    #[arg(long)]
    repo: Vec<PathBuf>,
    /// Commits of each repository that are within the limits, newest first
    #[arg(long, default_value_t = 500)]
    commits: usize,
    /// Wrong versions of each kind, from all repositories
    #[arg(long, default_value_t = 60)]
    cases: usize,
    /// Seed of the wrong versions
    #[arg(long, default_value_t = 27)]
    seed: u64,
    /// Directory for the wrong versions that were not recovered: the diff, the file, what was
    /// expected, and the result
    #[arg(long, value_name = "DIR")]
    failures: Option<PathBuf>,
}

/// Measures, and writes the report; fails if a result differs from that of git, if a wrong version
/// is applied at a wrong place, or if too few are recovered.
pub fn run(args: &Args) -> Result<()> {
    let work = args.common.work("patches")?;
    let mut report = Report::new("patches");
    let mut all = Compared::default();
    let mut cases: Vec<Case> = Vec::new();
    let mut paths = args.repo.clone();
    if paths.is_empty() {
        let path = work.join("generated");
        remove(&path)?;
        let count = args.commits.max(1);
        generated::create(&path, count, args.seed).map_err(anyhow::Error::from_boxed)?;
        paths.push(path);
    }
    for path in &paths {
        let repository = Repository::open(path)?;
        let compared = commits::compare(&repository, &work, args.commits, &mut cases)?;
        say(&format!("{}: {compared}", repository.name));
        report.note(format!("{} at {}: {compared}", repository.name, repository.head));
        all.add(compared);
    }
    report.add("checked and applied in", "ms", Spread::of(all.millis.iter().copied()));
    let outcomes = mutations::apply(&cases, &work, args)?;
    let mut rows = Vec::new();
    for (kind, outcomes) in &outcomes {
        let cells = outcomes.iter().map(|outcomes: &Outcomes| {
            let Outcomes { recovered, refused, wrong } = outcomes;
            format!("{recovered} / {refused} / {wrong}")
        });
        rows.push([(*kind).to_owned()].into_iter().chain(cells).collect());
    }
    let header = ["recovered / refused / wrong"].into_iter().chain(PROGRAMS).collect();
    report.set_table(Table { header, rows });
    report.write(&args.common.out)?;
    let ours: Outcomes = outcomes.iter().map(|(_, outcomes)| outcomes[0]).sum();
    ensure!(all.different.is_empty(), "differ from `git apply`: {:?}", all.different);
    ensure!(ours.wrong == 0, "{} wrong versions were applied at a wrong place", ours.wrong);
    let share = ours.recovered as f64 / ours.total().max(1) as f64;
    ensure!(
        ours.total() == 0 || share >= RECOVERED_MIN,
        "only {share:.3} of the wrong versions were recovered"
    );
    Ok(())
}
