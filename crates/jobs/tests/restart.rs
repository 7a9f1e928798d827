//! PostgreSQL restarted under jobs that are at work, jobs that wait, and schedules.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

#[path = "../../../tests/cache.rs"]
mod cache;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use mc_domain::JobState;
use mc_jobs::{BackgroundJob, Enqueue, JobError, Schedule, Timing, WorkerPool};
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedSettings, Health};
use mc_store::Store;
use mc_store::jobs::{self, JobFilter, JobRow};
use mc_store::testing::chains;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Longer than any of this takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const CONNECTIONS: u32 = 16;
/// Deeds that are asked for before each restart: more than are at work at once.
const DEEDS: u32 = 24;

/// What a test job does.
type Handler<J> = Arc<dyn Fn(J) -> BoxFuture<'static, Result<(), JobError>> + Send + Sync>;

/// Registers a test job with a closure that runs it.
trait Handle: Sized {
    fn handle<J, F, Fut>(self, run: F) -> Self
    where
        J: BackgroundJob<Context = Handler<J>>,
        F: Fn(J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static;
}

impl Handle for WorkerPool {
    fn handle<J, F, Fut>(self, run: F) -> Self
    where
        J: BackgroundJob<Context = Handler<J>>,
        F: Fn(J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        self.register::<J>(Arc::new(move |job| Box::pin(run(job))))
    }
}

/// Leaves a trace, once.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Deed {
    n: u32,
}

impl BackgroundJob for Deed {
    const NAME: &'static str = "deed";
    const CONCURRENCY: usize = 4;
    const TIMEOUT: Duration = Duration::from_mins(1);
    const BACKOFF_BASE: Duration = Duration::from_millis(100);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

/// What a deed leaves: work that nobody does, asked for without a key, so that one done twice would
/// show.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trace {
    n: u32,
}

impl BackgroundJob for Trace {
    const NAME: &'static str = "trace";
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

/// A server of the test's own.
struct Site {
    server: Embedded,
    folder: TempDir,
    worker: String,
}

impl Site {
    async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("mc-").tempdir().unwrap();
        // The server's user has to come through when the test runs as root.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let settings = EmbeddedSettings {
            data_dir: folder.path().join("data"),
            install_dirs: vec![cache::cache().join("postgresql")],
            run_as: None,
        };
        let server = Embedded::start(settings).await.unwrap();
        let worker = db_roles::prepare(server.url()).await.unwrap().worker;
        Self { server, folder, worker }
    }

    /// Connections that know of no restart.
    async fn connect(&self) -> Store {
        Store::connect(&self.worker, CONNECTIONS, chains()).await.unwrap()
    }

    /// Has the server stop, by the signals that `pg_ctl stop` sends, and waits until it is back.
    async fn restart(&self, signal: Signal) {
        let mut health = self.server.health();
        let file = self.folder.path().join("data/cluster/postmaster.pid");
        let text = fs::read_to_string(file).unwrap();
        let pid = text.lines().next().unwrap().trim().parse().unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
        let gone = health.wait_for(|state| matches!(state, Health::Restarting { .. }));
        tokio::time::timeout(TIMEOUT, gone).await.unwrap().unwrap();
        let back = health.wait_for(|state| *state == Health::Running);
        tokio::time::timeout(TIMEOUT, back).await.unwrap().unwrap();
    }
}

/// Leaves the trace and then waits at the gate, before anybody can see it.
async fn leave_trace(
    store: Store,
    deed: Deed,
    begun: mpsc::UnboundedSender<u32>,
    mut gate: watch::Receiver<bool>,
) -> Result<(), JobError> {
    let failed = |error: mc_store::Error| JobError::classify(&error);
    let mut tx = store.begin().await.map_err(failed)?;
    if jobs::claim_idempotency_key(&mut tx, Deed::NAME, &deed.n.to_string())
        .await
        .map_err(failed)?
    {
        Enqueue::new(&Trace { n: deed.n }).insert(&mut tx).await.map_err(failed)?;
    }
    begun.send(deed.n).map_err(|_| JobError::Permanent("nobody asks".into()))?;
    gate.wait_for(|is_open| *is_open).await.map_err(|_| JobError::ShuttingDown)?;
    tx.commit().await.map_err(failed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_at_work_and_jobs_that_wait_outlive_a_restart_of_the_database_and_schedules_go_on() {
    let site = Site::start().await;
    let (begun, mut seen) = mpsc::unbounded_channel();
    let (gate, at_gate) = watch::channel(false);
    let store = site.connect().await;
    let of_deeds = store.clone();
    let workers = WorkerPool::new(store)
        .handle(move |deed: Deed| {
            leave_trace(of_deeds.clone(), deed, begun.clone(), at_gate.clone())
        })
        .handle(|_: Tick| async { Ok(()) })
        .schedule(Schedule::new("* * * * * *", Tick {}));
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers.with_timing(quick()).run(stop.clone()));

    for (round, signal) in (0..).zip([Signal::SIGINT, Signal::SIGQUIT]) {
        gate.send_replace(false);
        while seen.try_recv().is_ok() {}
        let asking = site.connect().await;
        for n in 0..DEEDS {
            ask(&asking, round * DEEDS + n).await;
        }
        for _ in 0..Deed::CONCURRENCY {
            tokio::time::timeout(TIMEOUT, seen.recv()).await.unwrap().unwrap();
        }
        site.restart(signal).await;
        gate.send_replace(true);
        let back = Utc::now();
        let looking = site.connect().await;
        let asked = usize::try_from((round + 1) * DEEDS).unwrap();
        until(&looking, "deed", |jobs| {
            jobs.len() == asked && jobs.iter().all(|job| job.state == JobState::Completed)
        })
        .await;
        until(&looking, "tick", |jobs| {
            jobs.iter().any(|job| job.state == JobState::Completed && due(job) > Some(back))
        })
        .await;
        let mut traces = BTreeMap::new();
        for job in of_kind(&looking, "trace").await {
            *traces.entry(job.args["n"].as_u64().unwrap()).or_insert(0_u32) += 1;
        }
        assert_eq!(traces.len(), asked);
        assert!(traces.values().all(|count| *count == 1), "{signal}: {traces:?}");
    }
    stop.cancel();
    tokio::time::timeout(TIMEOUT, running).await.unwrap().unwrap();
    site.server.stop().await;
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

async fn ask(store: &Store, n: u32) {
    let mut tx = store.begin().await.unwrap();
    assert!(Enqueue::new(&Deed { n }).insert(&mut tx).await.unwrap());
    tx.commit().await.unwrap();
}

async fn of_kind(store: &Store, kind: &str) -> Vec<JobRow> {
    let filter = JobFilter { kind: Some(kind.to_owned()), ..JobFilter::default() };
    jobs::list(store, &filter, 10_000).await.unwrap()
}

async fn until(store: &Store, kind: &str, wanted: impl Fn(&[JobRow]) -> bool) {
    let began = Instant::now();
    loop {
        let jobs = of_kind(store, kind).await;
        if wanted(&jobs) {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// The time of a tick, by its key.
fn due(job: &JobRow) -> Option<DateTime<Utc>> {
    job.unique_key.as_deref()?.strip_prefix("tick ")?.parse().ok()
}
