//! The job queue: throughput of jobs without work, and latency of a start.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mc_jobs::{BackgroundJob, JobError, WorkerPool, enqueue};
use mc_store::{Store, testing};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::harness::database::Database;
use crate::harness::report::Report;
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, remove, say};

/// Jobs per transaction.
const BATCH: u32 = 100;
/// Interval between two jobs whose start is timed: 200 per second.
const BETWEEN: Duration = Duration::from_millis(5);

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Jobs of each run of the throughput; 20,000, or 5,000 in the small variant
    #[arg(long)]
    jobs: Option<u32>,
    /// Jobs of each run whose start is timed; 2,000, or 500 in the small variant
    #[arg(long)]
    timed: Option<u32>,
    /// Runs of each measurement
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// A job that only reports its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Nothing {
    n: u32,
}

impl BackgroundJob for Nothing {
    const NAME: &'static str = "nothing";
    const CONCURRENCY: usize = 32;
    const FETCH_BATCH: usize = 32;
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Where starts are reported.
    type Context = mpsc::UnboundedSender<(u32, Instant)>;

    async fn run(self, started: &Self::Context) -> Result<(), JobError> {
        // The receiver is dropped when the measurement is over.
        let _ = started.send((self.n, Instant::now()));
        Ok(())
    }
}

/// Measures on an empty database and writes the report.
pub async fn run(args: Args) -> Result<()> {
    let (jobs, timed) = if args.common.quick { (5_000, 500) } else { (20_000, 2_000) };
    let (jobs, timed) = (args.jobs.unwrap_or(jobs), args.timed.unwrap_or(timed));
    let data_dir = args.common.work("queue")?.join("data");
    remove(&data_dir)?;
    let database = Database::open(&data_dir, &args.common.cache_dir).await?;
    let mut report = Report::new("queue");
    report.note(format!(
        "one node, {} jobs at once; PostgreSQL as the service runs it, each commit on the disk",
        Nothing::CONCURRENCY
    ));
    report.note(format!(
        "{jobs} jobs are asked for in transactions of {BATCH} before the workers begin; the time \
         runs from then until the last has begun"
    ));
    report.note(format!(
        "{timed} jobs are asked for one by one, 200 a second, of idle workers; a start is timed \
         from before the transaction that asks for it"
    ));
    let store = &database.store;
    measure_throughput(store, jobs, args.runs, &mut report).await?;
    measure_starts(store, timed, args.runs, "with NOTIFY", "< 100 ms", &mut report).await?;
    testing::execute(database.url(), "drop trigger notify_workers on apalis.jobs").await?;
    measure_starts(store, timed, args.runs, "without", "< 1,500 ms", &mut report).await?;
    database.close().await;
    report.write(&args.common.out)
}

async fn measure_throughput(
    store: &Store,
    jobs: u32,
    runs: usize,
    report: &mut Report,
) -> Result<()> {
    let (mut asked, mut done) = (Vec::new(), Vec::new());
    for at in 0..runs {
        let (in_a_second, through) = throughput(store, jobs).await?;
        asked.push(in_a_second);
        done.push(through);
        say(&format!("queue: throughput, run {} of {runs}", at + 1));
    }
    report.add("jobs asked for", "a second", Spread::of(asked));
    report.add_budgeted("jobs done", "a second", Spread::of(done), ">= 1,500");
    Ok(())
}

/// Measures jobs enqueued and completed per second.
async fn throughput(store: &Store, jobs: u32) -> Result<(f64, f64)> {
    let began = Instant::now();
    for first in (0..jobs).step_by(BATCH as usize) {
        let mut tx = store.begin().await?;
        for n in first..(first + BATCH).min(jobs) {
            enqueue(&mut tx, &Nothing { n }, None).await?;
        }
        tx.commit().await?;
    }
    let asked = f64::from(jobs) / began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut node = Node::start(store);
    for _ in 0..jobs {
        node.begun.recv().await.context("the workers ended")?;
    }
    let done = f64::from(jobs) / began.elapsed().as_secs_f64();
    node.stop().await?;
    Ok((asked, done))
}

async fn measure_starts(
    store: &Store,
    jobs: u32,
    runs: usize,
    how: &str,
    budget: &'static str,
    report: &mut Report,
) -> Result<()> {
    let mut times = Vec::new();
    for at in 0..runs {
        times.push(starts(store, jobs).await?);
        say(&format!("queue: starts {how}, run {} of {runs}", at + 1));
    }
    let of = |share| Spread::of(times.iter().map(|times: &Times| times.percentile(share)));
    report.add(format!("until a job begins, p50, {how}"), "ms", of(0.5));
    report.add_budgeted(format!("until a job begins, p99, {how}"), "ms", of(0.99), budget);
    Ok(())
}

/// Measures the latency of jobs that are enqueued one by one.
async fn starts(store: &Store, jobs: u32) -> Result<Times> {
    let mut node = Node::start(store);
    // Until the workers are running.
    put(store, jobs).await?;
    node.begun.recv().await.context("the workers ended")?;
    let mut asked = Vec::new();
    let mut due = tokio::time::interval(BETWEEN);
    let mut times = Vec::new();
    for n in 0..jobs {
        due.tick().await;
        asked.push(Instant::now());
        put(store, n).await?;
        while let Ok((n, at)) = node.begun.try_recv() {
            times.push(at - asked[n as usize]);
        }
    }
    while times.len() < jobs as usize {
        let (n, at) = node.begun.recv().await.context("the workers ended")?;
        times.push(at - asked[n as usize]);
    }
    node.stop().await?;
    Ok(Times::of(times))
}

async fn put(store: &Store, n: u32) -> Result<()> {
    let mut tx = store.begin().await?;
    enqueue(&mut tx, &Nothing { n }, None).await?;
    Ok(tx.commit().await?)
}

/// A node with workers.
struct Node {
    /// Started jobs with their times.
    begun: mpsc::UnboundedReceiver<(u32, Instant)>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Node {
    fn start(store: &Store) -> Self {
        let (sender, begun) = mpsc::unbounded_channel();
        let workers = WorkerPool::new(store.clone()).register::<Nothing>(sender);
        let stop = CancellationToken::new();
        Self { begun, task: tokio::spawn(workers.run(stop.clone())), stop }
    }

    async fn stop(self) -> Result<()> {
        self.stop.cancel();
        Ok(self.task.await?)
    }
}
