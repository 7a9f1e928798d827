//! Vector search under filters, compared with an exact scan: what HNSW misses is never found.

mod filters;
mod seed;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mc_domain::PassageId;
use mc_indexer::hnsw;
use mc_search::MIN_DEPTH;
use mc_store::Store;
use mc_store::passages::PassageFilter;
use mc_store::vectors::{self as store_vectors, Model};

use crate::harness::database::Database;
use crate::harness::report::{Report, Table, short};
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, remove, say};
use crate::text::{Notes, Source};
use seed::{Project, Seeded};

/// Number of first passages that are compared with the exact ones.
const WANTED: usize = 10;
/// The design's budget.
const RECALL_MIN: f64 = 0.98;
/// Tolerance between two computations of the same similarity.
const SAME: f32 = 1e-5;

/// The data to measure on.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    source: Source,
    /// Sizes of the projects; the rest of --vectors is one more project
    #[arg(long, value_delimiter = ',')]
    sizes: Option<Vec<usize>>,
    /// Vectors of all projects; 100,000, or 8,000 in the small variant
    #[arg(long)]
    vectors: Option<usize>,
    /// Queries for every project and filter
    #[arg(long, default_value_t = 40)]
    queries: usize,
}

/// Fills a database, searches it, and writes the report; fails if a filter misses the budget.
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
    report.note(format!("{total} vectors in projects of {sizes:?}, all of one model"));
    report.note(notes.describe());
    report.note(
        "three of five passages are memories, the others documents; tags are spread evenly, scopes \
         (crates) and folders are heaps of like texts; a found passage counts when it is as near \
         as the tenth of the exact scan",
    );
    report.note(format!(
        "every search asks for {MIN_DEPTH} passages, as the service's do by default; the first \
         {WANTED} count"
    ));
    report.note(
        "exact: all vectors on the heap; served: those of large projects in the graph, as in the \
         service; graph: all of them; up to 10,000 that pass a filter are compared in each",
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
    let mut cases: Vec<_> = seeded
        .projects
        .iter()
        .flat_map(|project| {
            filters::of(project).into_iter().map(move |(name, filter)| (project, name, filter))
        })
        .map(|(project, name, filter)| Case {
            project,
            name,
            filter,
            compared: Compared::default(),
        })
        .collect();
    let (store, model) = (&database.store, &seeded.model);
    for case in &mut cases {
        case.exactly(store, model).await?;
    }
    say("an exact scan for every filter: done");
    hnsw::fill_hnsw(store, model, hnsw::FLAT_VECTORS_MAX).await?;
    database.settle().await?;
    for case in &mut cases {
        case.again(store, model, |compared| &mut compared.served).await?;
    }
    say("as served: done");
    hnsw::fill_hnsw(store, model, 0).await?;
    database.settle().await?;
    for case in &mut cases {
        case.again(store, model, |compared| &mut compared.graph).await?;
    }
    say("by the graph: done");
    let spread = Spread::of(cases.iter().map(|case| case.compared.served.recall()));
    report.add_budgeted(
        "recall@10 as served, over projects and filters",
        "share",
        spread,
        "min >= 0.98",
    );
    report.set_table(Table { header, rows: cases.iter().map(Case::row).collect() });
    Ok(spread.min)
}

/// A filter on a project, and its results.
struct Case<'a> {
    project: &'a Project,
    name: &'a str,
    filter: PassageFilter,
    compared: Compared,
}

type Found = Vec<(PassageId, f32)>;

impl Case<'_> {
    /// Without HNSW, every vector is compared.
    async fn exactly(&mut self, store: &Store, model: &Model) -> Result<()> {
        for query in &self.project.queries {
            let began = Instant::now();
            let found = nearest(store, model, query, &self.filter).await?;
            self.compared.exact_times.push(began.elapsed());
            self.compared.exact.push(found);
        }
        Ok(())
    }

    /// Runs the same queries again and scores them against the exact scan.
    async fn again(
        &mut self,
        store: &Store,
        model: &Model,
        way: impl Fn(&mut Compared) -> &mut Way,
    ) -> Result<()> {
        for (at, query) in self.project.queries.iter().enumerate() {
            let began = Instant::now();
            let found = nearest(store, model, query, &self.filter).await?;
            let took = began.elapsed();
            let exact = std::mem::take(&mut self.compared.exact[at]);
            let way = way(&mut self.compared);
            way.times.push(took);
            way.score(&exact, &found);
            self.compared.exact[at] = exact;
        }
        Ok(())
    }
}

async fn nearest(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
) -> Result<Found> {
    let depth = i64::try_from(MIN_DEPTH)?;
    let mut found = store_vectors::nearest(store, model, query, filter, depth).await?;
    found.truncate(WANTED);
    Ok(found)
}

/// The three ways side by side.
#[derive(Default)]
struct Compared {
    /// For each query.
    exact: Vec<Found>,
    exact_times: Vec<Duration>,
    served: Way,
    graph: Way,
}

#[derive(Default)]
struct Way {
    times: Vec<Duration>,
    expected: usize,
    found: usize,
}

impl Way {
    /// Texts that occur twice have the same vector, so either is correct.
    fn score(&mut self, exact: &Found, found: &Found) {
        let Some((_, last)) = exact.last() else { return };
        self.expected += exact.len();
        let good = found.iter().filter(|(_, similarity)| *similarity >= last - SAME).count();
        self.found += good.min(exact.len());
    }

    /// An empty exact result is complete.
    fn recall(&self) -> f64 {
        if self.expected == 0 { 1.0 } else { self.found as f64 / self.expected as f64 }
    }
}

impl Case<'_> {
    fn row(&self) -> Vec<String> {
        let Compared { exact, exact_times, served, graph } = &self.compared;
        let ms =
            |times: &[Duration], share| short(Times::of(times.iter().copied()).percentile(share));
        // Fewer than ten results mean a very selective filter.
        let most = exact.iter().map(Vec::len).max().unwrap_or(0);
        vec![
            self.project.size.to_string(),
            self.name.to_owned(),
            if most < WANTED { format!("{most} at most") } else { WANTED.to_string() },
            short(served.recall()),
            ms(&served.times, 0.5),
            ms(&served.times, 0.95),
            short(graph.recall()),
            ms(&graph.times, 0.5),
            ms(&graph.times, 0.95),
            ms(exact_times, 0.5),
        ]
    }
}
