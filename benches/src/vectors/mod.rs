//! Vector search under filters, held against an exact scan: what the graph misses is never seen by
//! anybody.

mod filters;
mod seed;

use std::time::Instant;

use anyhow::{Result, ensure};
use mc_domain::PassageId;
use mc_store::Store;
use mc_store::passages::PassageFilter;
use mc_store::vectors::{self as store_vectors, Model};

use crate::harness::database::Database;
use crate::harness::report::{Report, Table, short};
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, remove, say};
use crate::text::{Notes, Source};
use seed::{Project, Seeded};

/// Passages wanted of a search.
const WANTED: i64 = 10;
/// The design's budget.
const RECALL_MIN: f64 = 0.98;
/// Similarities of the same vectors by two ways differ by less.
const SAME: f32 = 1e-5;

/// What to measure on.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    source: Source,
    /// Sizes of the projects; what is left of --vectors is one more
    #[arg(long, value_delimiter = ',')]
    sizes: Option<Vec<usize>>,
    /// Vectors of all projects; 100,000, or 8,000 in the small variant
    #[arg(long)]
    vectors: Option<usize>,
    /// Queries for every project and filter
    #[arg(long, default_value_t = 40)]
    queries: usize,
}

/// Fills a database, asks it, and writes the report; fails when a filter misses the budget.
pub async fn run(args: Args) -> Result<()> {
    let (total, sizes) = if args.common.quick {
        (8_000, vec![10, 100, 1_000, 4_000])
    } else {
        (100_000, vec![10, 100, 1_000, 10_000, 50_000])
    };
    let (total, sizes) = (args.vectors.unwrap_or(total), args.sizes.clone().unwrap_or(sizes));
    let rest = total.checked_sub(sizes.iter().sum());
    ensure!(rest.is_some(), "the --sizes are more than the --vectors");
    let sizes: Vec<_> = sizes.into_iter().chain(rest.filter(|rest| *rest > 0)).collect();

    let notes = Notes::read(&args.source, total, 1)?;
    let data_dir = args.common.work("vectors")?.join("data");
    remove(&data_dir)?;
    let cache_dir = &args.common.cache_dir;
    let (database, seeded) = seed::make(&data_dir, cache_dir, &notes, &sizes, args.queries).await?;
    let mut report = Report::new("vectors");
    report.note(format!("{total} vectors in projects of {sizes:?}, all in one index of one model"));
    report.note(notes.describe());
    report.note(
        "three of five passages are memories, the others documents; tags are spread evenly, scopes \
         (crates) and folders are heaps of like texts; a found passage counts when it is as near as the \
         tenth of the exact scan",
    );
    report.note(
        "served: as the service asks, by a scan or by the graph; graph: by the graph wherever the \
         planner takes it",
    );
    let worst = measure(&database, &seeded, &mut report).await?;
    database.close().await;
    remove(&data_dir)?;
    report.write(&args.common.out)?;
    ensure!(worst >= RECALL_MIN, "recall@10 is {worst:.3} under one of the filters");
    Ok(())
}

async fn measure(database: &Database, seeded: &Seeded, report: &mut Report) -> Result<f64> {
    let header = vec![
        "project",
        "filter",
        "passages",
        "recall@10 served",
        "p50 ms",
        "p95 ms",
        "recall@10 graph",
        "p50 ms",
        "p95 ms",
        "exact p50 ms",
    ];
    let mut rows = Vec::new();
    let mut recalls = Vec::new();
    for project in &seeded.projects {
        for (name, filter) in filters::of(project) {
            let asked = Asked { store: &database.store, model: &seeded.model, filter };
            let found = asked.compare(&project.queries).await?;
            recalls.push(found.served.recall());
            rows.push(found.row(project, name));
        }
        say(&format!("project of {}: done", project.size));
    }
    let spread = Spread::of(recalls);
    report.add_budgeted(
        "recall@10 as served, over projects and filters",
        "share",
        spread,
        "min >= 0.98",
    );
    report.set_table(Table { header, rows });
    Ok(spread.min)
}

/// A filter on a database.
struct Asked<'a> {
    store: &'a Store,
    model: &'a Model,
    filter: PassageFilter,
}

type Found = Vec<(PassageId, f32)>;

impl Asked<'_> {
    async fn compare(&self, queries: &[Vec<f32>]) -> Result<Compared> {
        let mut compared = Compared::default();
        for query in queries {
            let exact = self.search(query, Some(i64::MAX), &mut compared.exact).await?;
            let served = self.search(query, None, &mut compared.served).await?;
            let graph = self.search(query, Some(0), &mut compared.graph).await?;
            compared.passages = compared.passages.max(exact.len());
            compared.served.score(&exact, &served);
            compared.graph.score(&exact, &graph);
        }
        Ok(compared)
    }

    /// As the service asks when `exact_up_to` is not given.
    async fn search(
        &self,
        query: &[f32],
        exact_up_to: Option<i64>,
        way: &mut Way,
    ) -> Result<Found> {
        let (store, model, filter) = (self.store, self.model, &self.filter);
        let began = Instant::now();
        let found = match exact_up_to {
            Some(most) => {
                let nearest = store_vectors::nearest_by(store, model, query, filter, WANTED, most);
                Box::pin(nearest).await
            }
            None => Box::pin(store_vectors::nearest(store, model, query, filter, WANTED)).await,
        }?;
        way.times.push(began.elapsed());
        Ok(found)
    }
}

/// The three ways beside each other.
#[derive(Default)]
struct Compared {
    /// The most that a query found; fewer than ten tell a filter that leaves hardly anything.
    passages: usize,
    exact: Way,
    served: Way,
    graph: Way,
}

#[derive(Default)]
struct Way {
    times: Vec<std::time::Duration>,
    expected: usize,
    found: usize,
}

impl Way {
    /// Texts that occur twice have the same vector: either is as good.
    fn score(&mut self, exact: &Found, found: &Found) {
        let Some((_, last)) = exact.last() else { return };
        self.expected += exact.len();
        let good = found.iter().filter(|(_, similarity)| *similarity >= last - SAME).count();
        self.found += good.min(exact.len());
    }

    /// Of nothing there is nothing to miss.
    fn recall(&self) -> f64 {
        if self.expected == 0 { 1.0 } else { self.found as f64 / self.expected as f64 }
    }
}

impl Compared {
    fn row(&self, project: &Project, filter: &str) -> Vec<String> {
        let ms = |way: &Way, share| short(Times::of(way.times.iter().copied()).percentile(share));
        vec![
            project.size.to_string(),
            filter.to_owned(),
            if self.passages < 10 { format!("{} at most", self.passages) } else { "10".to_owned() },
            short(self.served.recall()),
            ms(&self.served, 0.5),
            ms(&self.served, 0.95),
            short(self.graph.recall()),
            ms(&self.graph, 0.5),
            ms(&self.graph, 0.95),
            ms(&self.exact, 0.5),
        ]
    }
}
