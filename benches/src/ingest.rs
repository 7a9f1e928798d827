//! Measures a repository in the service: the time until it is searchable by keyword, until it has
//! its vectors, and after a push.

mod baseline;
pub mod repository;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::harness::database::Database;
use crate::harness::report::Report;
use crate::harness::service::{Service, Setup};
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, remove, say};
use repository::Clone;
use run::{Slice, Window};

/// Slices of the measurement of vectors, to show the variation.
const SLICES: u32 = 5;
/// Default duration of that measurement, in seconds.
const WINDOW: u64 = 75;
const QUICK_WINDOW: u64 = 15;

/// The repository to index.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// A git clone on this machine; the dependencies' sources in a scratch repository without it
    #[arg(long)]
    repo: Option<PathBuf>,
    /// Lines of the scratch repository, at least; 200,000, or 20,000 in the small variant
    #[arg(long)]
    lines: Option<usize>,
    /// Seconds over which the vectors' throughput is measured; 75, or 15 in the small variant
    #[arg(long)]
    window: Option<u64>,
    /// Wait for all vectors before the pushes, which then have the machine to themselves
    #[arg(long)]
    all_vectors: bool,
    /// Index runs, each on an empty service, and pushes
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// Indexes the repository several times, the last time with its vectors and pushes.
pub async fn run(args: Args) -> Result<()> {
    let work = args.service.common.work("ingest")?;
    let lines = args.lines.unwrap_or(if args.service.common.quick { 20_000 } else { 200_000 });
    let repository = match &args.repo {
        Some(repo) => Clone::of(repo, &work.join("clone"))?,
        None => repository::of_dependencies(&work.join("clone"), lines)?,
    };
    let mut report = Report::new("ingest");
    report.note(repository.describe());
    let mut bench = Bench { args, work, repository, report };
    let (service, indexed) = bench.index().await?;
    let window = bench.vectors(&service).await?;
    bench.pushes(&service).await?;
    service.stop()?;
    bench.read_database(&indexed, &window).await?;
    bench.report.write(&bench.args.service.common.out)
}

struct Bench {
    args: Args,
    work: PathBuf,
    repository: Clone,
    report: Report,
}

impl Bench {
    /// Measures index runs on empty services; returns the last service, which still embeds.
    async fn index(&mut self) -> Result<(Service, Vec<run::Indexed>)> {
        let mut figures = Vec::new();
        loop {
            remove(&self.setup().data_dir)?;
            let service = Service::start(&self.setup()).await?;
            let indexed = run::index(&service.api, self.repository.path()).await?;
            say(&format!("indexing: {:.1} s ({})", indexed.stored, indexed.counts()));
            let is_last = figures.len() + 1 == self.args.runs;
            figures.push(indexed);
            if is_last {
                self.report_indexing(&figures);
                return Ok((service, figures));
            }
            service.stop()?;
        }
    }

    fn report_indexing(&mut self, figures: &[run::Indexed]) {
        let of = |part: fn(&run::Indexed) -> f64| Spread::of(figures.iter().map(part));
        self.report.note(figures[figures.len() - 1].counts());
        self.report.add("until everything is stored", "s", of(|indexed| indexed.stored));
        let name = "until everything is in the keyword index";
        self.report.add_budgeted(
            name,
            "s",
            of(|indexed| indexed.searchable),
            "1 million lines in < 60 s",
        );
    }

    /// Measures the embedder alone.
    async fn vectors(&mut self, service: &Service) -> Result<Window> {
        let window = if self.args.service.common.quick { QUICK_WINDOW } else { WINDOW };
        let within = Duration::from_secs(self.args.window.unwrap_or(window));
        let window = run::watch_vectors(&service.api, within, SLICES).await?;
        let pace = Spread::of(window.slices.iter().map(Slice::a_second));
        say(&format!("vectors: {:.1} a second", pace.median));
        self.report.add("vectors, by the service", "a second", pace);
        self.report.note(window.describe());
        if self.args.all_vectors {
            let took = run::until_all_vectors(&service.api).await?;
            let all = (window.before + window.took() + took).as_secs_f64();
            self.report.add("until every vector is there", "s", Spread::of([all]));
        }
        Ok(window)
    }

    /// Measures commits that touch ten files each.
    async fn pushes(&mut self, service: &Service) -> Result<()> {
        let (mut searchable, mut embedded, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        let pending = run::pending_vectors(&service.api).await?;
        for push in 0..self.args.runs {
            self.repository.push(push)?;
            let indexed = run::index_again(&service.api, self.repository.path()).await?;
            changed.push(indexed.changed as f64);
            searchable.push(indexed.searchable);
            if pending == 0 {
                let vectors = run::until_all_vectors(&service.api).await?.as_secs_f64();
                embedded.push(indexed.searchable + vectors);
            }
            say(&format!("push: {:.2} s, {} files changed", indexed.searchable, indexed.changed));
        }
        if pending > 0 {
            self.report.note(format!(
                "during the pushes the embedder was at work on the {pending} passages that were \
                 left"
            ));
        }
        let name = "re-index after a push of ten files, searchable";
        self.report.add_budgeted(name, "s", Spread::of(searchable), "< 2 s");
        self.report.add("files that the service found changed by it", "files", Spread::of(changed));
        if !embedded.is_empty() {
            self.report.add("the same, with vectors", "s", Spread::of(embedded));
        }
        Ok(())
    }

    /// Reads the indexed files and embedded texts from the database.
    async fn read_database(&mut self, indexed: &[run::Indexed], window: &Window) -> Result<()> {
        let cache_dir = &self.args.service.common.cache_dir;
        let database = Database::open(&self.setup().data_dir, cache_dir).await?;
        let paths = run::indexed_paths(&database.store).await?;
        let bare = baseline::throughput(&database.store, cache_dir, window).await?;
        database.close().await;

        let lines = self.repository.lines_of(paths.iter());
        self.report.note(format!("the files that were indexed have {lines} lines"));
        let pace = Spread::of(indexed.iter().map(|indexed| lines as f64 / indexed.searchable));
        self.report.add_budgeted("lines made searchable", "a second", pace, "> 16,667");
        let shares = window.slices.iter().zip(&bare).map(|(slice, bare)| slice.a_second() / bare);
        let share = Spread::of(shares);
        self.report.add("vectors, by the model alone", "a second", Spread::of(bare));
        self.report.add_budgeted("service to model", "share", share, "> 0.9");
        Ok(())
    }

    fn setup(&self) -> Setup {
        Setup {
            binary: self.args.service.binary.clone(),
            cache_dir: self.args.service.common.cache_dir.clone(),
            data_dir: self.work.join("data"),
            settings: Vec::new(),
        }
    }
}
