//! A restart of PostgreSQL under running jobs, pending jobs and schedules.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

#[path = "../../../tests/cache.rs"]
mod cache;
#[path = "shared/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_contract::operations::job::Job;
use mc_domain::JobState;
use mc_jobs::{BackgroundJob, JobError, Schedule, Timing, WorkerPool};
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedSettings, Health};
use mc_store::Store;
use mc_store::jobs;
use mc_store::testing::chains;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::support::{Handle as _, Handler, TIMEOUT, list_jobs, wait_for_jobs};

const CONNECTIONS: u32 = 16;
/// Jobs that are enqueued before each restart: more than run at once.
const JOBS_PER_RESTART: u32 = 24;

/// A job with an effect, which must happen once.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cause {
    n: u32,
}

impl BackgroundJob for Cause {
    const NAME: &'static str = "cause";
    const CONCURRENCY: usize = 4;
    const TIMEOUT: Duration = Duration::from_mins(1);
    const BACKOFF_BASE: Duration = Duration::from_millis(100);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

/// The effect of a [`Cause`]: a job that no worker runs. It has no unique key, so a repeated effect
/// is another job.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Effect {
    n: u32,
}

impl BackgroundJob for Effect {
    const NAME: &'static str = "effect";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_secs(1);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tick {}

impl BackgroundJob for Tick {
    const NAME: &'static str = "tick";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_secs(30);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

/// A PostgreSQL of the test's own.
struct Server {
    embedded: Embedded,
    directory: TempDir,
    worker_url: String,
}

impl Server {
    async fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("mc-").tempdir().unwrap();
        // If the test runs as root, the server's user needs access.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let settings = EmbeddedSettings {
            data_dir: directory.path().join("data"),
            install_dirs: vec![cache::cache().join("postgresql")],
            run_as: None,
        };
        let embedded = Embedded::start(settings).await.unwrap();
        let worker_url = db_roles::prepare(embedded.url()).await.unwrap().worker;
        Self { embedded, directory, worker_url }
    }

    /// Opens new connections, which no restart has interrupted.
    async fn connect(&self) -> Store {
        Store::connect(&self.worker_url, CONNECTIONS, chains()).await.unwrap()
    }

    /// Sends a signal of `pg_ctl stop` to the server, and waits until it runs again.
    async fn restart(&self, signal: Signal) {
        let mut health = self.embedded.health();
        let file = self.directory.path().join("data/cluster/postmaster.pid");
        let text = fs::read_to_string(file).unwrap();
        let pid = text.lines().next().unwrap().trim().parse().unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
        let restarting = health.wait_for(|state| matches!(state, Health::Restarting { .. }));
        tokio::time::timeout(TIMEOUT, restarting).await.unwrap().unwrap();
        let running = health.wait_for(|state| *state == Health::Running);
        tokio::time::timeout(TIMEOUT, running).await.unwrap().unwrap();
    }
}

/// Causes the effect, and waits until the barrier is open before it commits.
async fn run_cause(
    store: Store,
    job: Cause,
    started: mpsc::UnboundedSender<u32>,
    mut is_open: watch::Receiver<bool>,
) -> Result<(), JobError> {
    let mut tx = store.begin().await?;
    let key = job.n.to_string();
    if jobs::claim_idempotency_key(&mut tx, Cause::NAME, &key).await? {
        mc_jobs::enqueue(&mut tx, &Effect { n: job.n }, None).await?;
    }
    started.send(job.n).map_err(|_| JobError::Permanent("the test has ended".into()))?;
    is_open.wait_for(|is_open| *is_open).await.map_err(|_| JobError::ShuttingDown)?;
    Ok(tx.commit().await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_and_schedules_survive_a_database_restart() {
    let server = Server::start().await;
    let (sender, mut started) = mpsc::unbounded_channel();
    let (barrier, is_open) = watch::channel(false);
    let store = server.connect().await;
    let job_store = store.clone();
    let workers = WorkerPool::new(store)
        .handle(move |job: Cause| {
            run_cause(job_store.clone(), job, sender.clone(), is_open.clone())
        })
        .handle(|_: Tick| async { Ok(()) })
        .schedule(Schedule::new("* * * * * *", Tick {}));
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers.with_timing(quick()).run(stop.clone()));

    for (restart, signal) in (0..).zip([Signal::SIGINT, Signal::SIGQUIT]) {
        barrier.send_replace(false);
        while started.try_recv().is_ok() {}
        let store = server.connect().await;
        for n in 0..JOBS_PER_RESTART {
            enqueue(&store, restart * JOBS_PER_RESTART + n).await;
        }
        for _ in 0..Cause::CONCURRENCY {
            tokio::time::timeout(TIMEOUT, started.recv()).await.unwrap().unwrap();
        }
        server.restart(signal).await;
        barrier.send_replace(true);
        let restarted_at = Utc::now();
        let store = server.connect().await;
        let job_count = usize::try_from((restart + 1) * JOBS_PER_RESTART).unwrap();
        wait_for_jobs(&store, "cause", |jobs| {
            jobs.len() == job_count && jobs.iter().all(|job| job.state == JobState::Completed)
        })
        .await;
        wait_for_jobs(&store, "tick", |jobs| {
            let completed = jobs.iter().filter(|job| job.state == JobState::Completed);
            completed.filter_map(tick_time).any(|time| time > restarted_at)
        })
        .await;
        let mut effects = BTreeMap::new();
        for job in list_jobs(&store, "effect").await {
            *effects.entry(job.args["n"].as_u64().unwrap()).or_insert(0_u32) += 1;
        }
        assert_eq!(effects.len(), job_count);
        assert!(effects.values().all(|count| *count == 1), "{signal}: {effects:?}");
    }
    stop.cancel();
    tokio::time::timeout(TIMEOUT, running).await.unwrap().unwrap();
    server.embedded.stop().await;
}

fn quick() -> Timing {
    Timing {
        poll_interval: Duration::from_millis(300),
        heartbeat: Duration::from_millis(200),
        heartbeat_timeout: Duration::from_secs(2),
        maintenance_interval: Duration::from_millis(500),
        rescue_spread: Duration::from_millis(300),
        grace: Duration::from_millis(500),
    }
}

async fn enqueue(store: &Store, n: u32) {
    let mut tx = store.begin().await.unwrap();
    assert!(mc_jobs::enqueue(&mut tx, &Cause { n }, None).await.unwrap());
    tx.commit().await.unwrap();
}

/// Returns the time of a tick, which is in its key.
fn tick_time(job: &Job) -> Option<DateTime<Utc>> {
    job.unique_key.as_deref()?.strip_prefix("tick ")?.parse().ok()
}
