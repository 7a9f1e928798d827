//! Cost of proving a context to PostgreSQL: for a transaction, a table with policies and the lookup
//! of a project. The baseline is the earlier settings without a MAC.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mc_domain::{ProjectKey, UserId};
use mc_postgres::db_roles;
use mc_store::{Store, projects, testing};
use url::Url;

use crate::harness::database::Database;
use crate::harness::report::Report;
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, remove, say};

/// Tables with one policy for reads.
const TABLES: [&str; 8] = [
    "tasks",
    "dialogs",
    "docs",
    "repositories",
    "bundles",
    "pull_requests",
    "exports",
    "duplicate_clusters",
];
/// Numbers of tables that a statement reads, one row of each.
const COUNTS: [usize; 4] = [0, 1, 4, 8];
/// Executions before the measured ones: PostgreSQL plans the first ones each time.
const WARM_UP: usize = 20;
const KEY: &str = "bench";
/// A row of each table.
const ROWS: &str = include_str!("proof/rows.sql");
/// The functions without the proof.
const PLAIN: &str = include_str!("proof/plain.sql");

/// Numbers of transactions and runs.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Transactions of each kind and run; 3,000, or 300 in the small variant
    #[arg(long)]
    transactions: Option<usize>,
    /// Runs of each measurement
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// Measures on two databases of one server, of which one has the functions without the proof, and
/// writes the report.
pub async fn run(args: Args) -> Result<()> {
    let transactions = args.transactions.unwrap_or(if args.common.quick { 300 } else { 3_000 });
    let data_dir = args.common.work("proof")?.join("data");
    remove(&data_dir)?;
    let database = Database::open(&data_dir, &args.common.cache_dir).await?;
    let variants = [
        Variant::create(&database, "proved", None).await?,
        Variant::create(&database, "plain", Some(PLAIN)).await?,
    ];
    let mut report = Report::new("proof");
    report.note(format!(
        "{transactions} transactions of each kind and run, one at a time on one connection; each \
         is measured with the proof and without it, on two databases of one PostgreSQL, in \
         alternating order"
    ));
    report.note(
        "a transaction has three messages: it begins and sets the context, reads the id of one row \
         of each table, and commits; without the proof, PostgreSQL sets and reads settings without \
         a MAC, and the service computes a code that is not used",
    );
    report.note(
        "a lookup finds a project by its key for a user in one statement; without the proof, \
         PostgreSQL ignores its code",
    );
    transactions_of_tables(&variants, transactions, args.runs, &mut report).await?;
    let lookups = repeat(args.runs, "a lookup", async || {
        compare(transactions, async |variant| variants[variant].lookup().await).await
    });
    lookups.await?.add_to(&mut report, "a lookup");
    for variant in variants {
        variant.close().await;
    }
    database.close().await;
    report.write(&args.common.out)
}

/// Measures transactions for each number of tables, and reports the cost of each further table.
async fn transactions_of_tables(
    variants: &[Variant; 2],
    transactions: usize,
    runs: usize,
    report: &mut Report,
) -> Result<()> {
    let mut costs = Vec::new();
    for count in COUNTS {
        let sql = statement(count);
        let what = format!("a transaction, tables read: {count}");
        let compared = repeat(runs, &what, async || {
            compare(transactions, async |variant| variants[variant].transaction(&sql).await).await
        });
        let compared = compared.await?;
        compared.add_to(report, &what);
        costs.push(compared.costs());
    }
    let [_, of_one, .., of_all] = &costs[..] else { unreachable!("several numbers of tables") };
    let further = (TABLES.len() - 1) as f64;
    let each = of_one.iter().zip(of_all).map(|(one, all)| (all - one) / further);
    report.add("cost of the proof for each table after the first", "µs", Spread::of(each));
    Ok(())
}

/// Returns a statement that reads one row of each of the first tables.
fn statement(count: usize) -> String {
    let columns = TABLES[..count].iter().map(|table| format!(", (select id from {table} limit 1)"));
    format!("select 1{}", columns.collect::<String>())
}

/// A database of the server, and the service's connection to it.
struct Variant {
    service: Store,
    /// Acts for an administrator in the project.
    project: Store,
    key: ProjectKey,
}

impl Variant {
    /// Creates a database with a project, and changes its functions.
    async fn create(database: &Database, name: &str, change: Option<&str>) -> Result<Self> {
        testing::execute(database.url(), &format!("create database {name}")).await?;
        let mut url = Url::parse(database.url())?;
        url.set_path(name);
        let logins = db_roles::prepare(url.as_str()).await?;
        let chains = testing::chains();
        let worker = Store::connect(&logins.worker, 1, chains.clone()).await?;
        let key = ProjectKey::parse(KEY)?;
        let (project, _) = projects::create(&worker, UserId::LOCAL, &key, KEY).await?;
        worker.close().await;
        let rows = ROWS.replace(":project", &format!("'{}'", project.id));
        testing::execute(url.as_str(), &rows).await?;
        if let Some(change) = change {
            testing::execute(url.as_str(), change).await?;
        }
        testing::execute(url.as_str(), "vacuum analyze").await?;
        // One connection: a transaction waits until the one before has ended.
        let service = Store::connect(&logins.service, 1, chains).await?;
        let variant =
            Self { project: service.for_project(UserId::LOCAL, project.id), service, key };
        variant.check().await?;
        Ok(variant)
    }

    /// Fails unless the statements of the measurement see their rows.
    async fn check(&self) -> Result<()> {
        let rows: Vec<_> =
            TABLES.iter().map(|table| format!("(select id from {table} limit 1)")).collect();
        let sql = format!("select num_nonnulls({})::text", rows.join(", "));
        let seen = testing::text(&self.project, &sql).await?;
        ensure!(seen == TABLES.len().to_string(), "only {seen} tables show their row");
        let hidden = testing::text(&self.service, &sql).await?;
        ensure!(hidden == "0", "{hidden} tables show their row without a context");
        Ok(())
    }

    async fn transaction(&self, sql: &str) -> Result<Duration> {
        let began = Instant::now();
        let rows = testing::write(&self.project, sql).await?;
        let took = began.elapsed();
        ensure!(rows == 1, "{sql} returned {rows} rows");
        Ok(took)
    }

    async fn lookup(&self) -> Result<Duration> {
        // Waits until the previous transaction has ended, and checks the connection.
        testing::write(&self.project, "select 1").await?;
        let began = Instant::now();
        let found = projects::find(&self.service, UserId::LOCAL, &self.key).await?;
        let took = began.elapsed();
        ensure!(found.is_some(), "the project was not found");
        Ok(took)
    }

    async fn close(self) {
        self.service.close().await;
    }
}

/// Times with the proof and without it, one element for each run.
#[derive(Default)]
struct Comparison {
    proved: Vec<Times>,
    plain: Vec<Times>,
}

impl Comparison {
    /// Returns the difference of the medians of each run, in microseconds.
    fn costs(&self) -> Vec<f64> {
        let runs = self.proved.iter().zip(&self.plain);
        runs.map(|(proved, plain)| micros(proved, 0.5) - micros(plain, 0.5)).collect()
    }

    fn add_to(&self, report: &mut Report, what: &str) {
        for (share, name) in [(0.5, "p50"), (0.95, "p95")] {
            for (times, how) in [(&self.proved, "with the proof"), (&self.plain, "without")] {
                let spread = Spread::of(times.iter().map(|times| micros(times, share)));
                report.add(format!("{what}, {name}, {how}"), "µs", spread);
            }
        }
        report.add(format!("cost of the proof for {what}, p50"), "µs", Spread::of(self.costs()));
    }
}

fn micros(times: &Times, share: f64) -> f64 {
    times.percentile(share) * 1_000.0
}

async fn repeat(
    runs: usize,
    what: &str,
    measure: impl AsyncFn() -> Result<[Times; 2]>,
) -> Result<Comparison> {
    let mut compared = Comparison::default();
    for run in 0..runs {
        let [proved, plain] = measure().await?;
        compared.proved.push(proved);
        compared.plain.push(plain);
        say(&format!("proof: {what}, run {} of {runs}", run + 1));
    }
    Ok(compared)
}

/// Measures both variants in turn.
async fn compare(
    transactions: usize,
    measure: impl AsyncFn(usize) -> Result<Duration>,
) -> Result<[Times; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..WARM_UP + transactions {
        // Each variant goes first as often as the other.
        for variant in [number % 2, 1 - number % 2] {
            let took = measure(variant).await?;
            if number >= WARM_UP {
                times[variant].push(took);
            }
        }
    }
    Ok(times.map(Times::of))
}
