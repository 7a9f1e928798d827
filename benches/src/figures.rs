//! Figures of a year of usage of many projects: the time of one request, of all projects, and of
//! the statement for metrics.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, stream};
use mc_domain::{ProjectId, UserId};
use mc_memory::figures::first_week;
use mc_postgres::db_roles;
use mc_store::figures::{self, FigurePeriod, FigureScope};
use mc_store::{Store, projects, testing};

use crate::harness::database::Database;
use crate::harness::report::Report;
use crate::harness::stats::{Spread, Times};
use crate::harness::{Common, remove, say};

/// A year of usage.
const SEED: &str = include_str!("figures/seed.sql");
/// Weeks of a request: the largest period.
const WEEKS: u16 = 53;

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Projects; 50, or 5 in the small variant
    #[arg(long)]
    projects: Option<u32>,
    /// Runs of each measurement
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// Measures on a database with a year of usage, and writes the report.
pub async fn run(args: Args) -> Result<()> {
    let count = args.projects.unwrap_or(if args.common.quick { 5 } else { 50 });
    let data_dir = args.common.work("figures")?.join("data");
    remove(&data_dir)?;
    let database = Database::open(&data_dir, &args.common.cache_dir).await?;
    say(&format!("figures: a year of usage of {count} projects"));
    testing::execute(database.url(), &SEED.replace(":projects", &count.to_string())).await?;
    testing::execute(database.url(), "vacuum analyze").await?;
    // As the service: under row-level security, on one connection.
    let logins = db_roles::prepare(database.url()).await?;
    let service = Store::connect(&logins.service, 1, testing::chains()).await?;
    let both = Store::connect(&logins.service, 2, testing::chains()).await?;

    let mut report = Report::new("figures");
    report.note(format!(
        "{count} projects with ten users each; in each project a year of 10,400 recalls of five \
         items, 2,080 sessions and 3,120 saves, 2,000 records, and 1,000 bugs with merged pull \
         requests"
    ));
    report.note(format!(
        "a request has the statements of GET /metrics/kpi for {WEEKS} weeks, in the transaction of \
         a user of the project; all projects are requested one after the other on one connection, \
         and two at a time on two"
    ));
    let projects = list(&service).await?;
    ensure!(projects.len() == count as usize, "{} projects", projects.len());
    let (mut all, mut of_events, mut at_once) = (Vec::new(), Vec::new(), Vec::new());
    let mut requests = Vec::new();
    let (mut gauges, mut years) = (Vec::new(), Vec::new());
    for run in 0..args.runs {
        let started = Instant::now();
        let mut events = Duration::ZERO;
        for project in &projects {
            let before = Instant::now();
            events += request(&service, *project, Utc::now()).await?;
            requests.push(before.elapsed());
        }
        all.push(started.elapsed().as_secs_f64());
        of_events.push(events.as_secs_f64());
        let started = Instant::now();
        let running = stream::iter(&projects).map(|project| request(&both, *project, Utc::now()));
        running.buffer_unordered(2).try_collect::<Vec<_>>().await?;
        at_once.push(started.elapsed().as_secs_f64());
        gauges.push(all_projects(&database.store, 4, projects.len()).await?);
        years.push(all_projects(&database.store, WEEKS, projects.len()).await?);
        say(&format!("figures: run {} of {}", run + 1, args.runs));
    }
    report.add(format!("all figures of {count} projects, a year"), "s", Spread::of(all));
    let name = format!("those of events alone, of {count} projects, a year");
    report.add(name, "s", Spread::of(of_events));
    let name = format!("all figures of {count} projects, a year, two requests at a time");
    report.add(name, "s", Spread::of(at_once));
    let requests = Times::of(requests);
    for (share, name) in [(0.5, "p50"), (0.95, "p95")] {
        let time = Spread::of([requests.percentile(share)]);
        report.add(format!("figures of one project, a year, {name}"), "ms", time);
    }
    report.add(format!("usage of {count} projects, a year, one statement"), "s", Spread::of(years));
    report.add(format!("usage of {count} projects, four weeks"), "s", Spread::of(gauges));
    service.close().await;
    both.close().await;
    database.close().await;
    report.write(&args.common.out)
}

/// Returns the seconds of the statement of metrics, which computes the usage of all projects.
async fn all_projects(store: &Store, weeks: u16, projects: usize) -> Result<f64> {
    let started = Instant::now();
    let usage = figures::usage_by_project(store, first_week(Utc::now(), weeks), weeks).await?;
    ensure!(usage.len() == projects, "figures of {} projects", usage.len());
    Ok(started.elapsed().as_secs_f64())
}

async fn list(store: &Store) -> Result<Vec<ProjectId>> {
    let all = projects::list(&store.for_user(UserId::LOCAL), UserId::LOCAL).await?;
    Ok(all.into_iter().map(|project| project.id).collect())
}

/// Runs the statements of a request for the figures of a project. Returns the time of those that
/// read events; the last one reads the records.
async fn request(store: &Store, project: ProjectId, now: DateTime<Utc>) -> Result<Duration> {
    let started = Instant::now();
    let store = store.for_project(UserId::LOCAL, project).share_reads();
    let scope = FigureScope { project, team: None };
    let period = FigurePeriod { start: now - TimeDelta::weeks(26), end: now };
    let kept_since = now - TimeDelta::days(365);
    let usage = figures::usage_by_week(&store, scope, first_week(now, WEEKS), WEEKS).await?;
    let recalls = usage.iter().filter_map(|week| week.recalls);
    ensure!(recalls.map(|counts| counts.with_use).sum::<u64>() > 1_000, "no uses: {usage:?}");
    let times = figures::bugfix_lead_times(&store, scope, period, kept_since).await?;
    ensure!(times.len() >= 2, "groups: {times:?}");
    figures::onboarding(&store, scope, period).await?;
    figures::provider_data(&store, project).await?;
    let events = started.elapsed();
    let counts = figures::count_records(&store, project, now).await?;
    ensure!(counts.live == 2_000, "{counts:?}");
    Ok(events)
}
