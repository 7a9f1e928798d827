//! Test job kinds, and nodes that run them.

use std::time::Duration;

use mc_contract::operations::job::Job;
use mc_domain::JobState;
use mc_jobs::{BackgroundJob, JobError, Timing, WorkerPool};
use mc_store::Store;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::{Handle as _, Handler, TIMEOUT, wait_for_jobs};

/// A job with a number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    pub n: u32,
}

impl BackgroundJob for Note {
    const NAME: &'static str = "note";
    const CONCURRENCY: usize = 4;
    const MAX_ATTEMPTS: u16 = 3;
    const TIMEOUT: Duration = Duration::from_secs(30);
    const BACKOFF_BASE: Duration = Duration::from_millis(50);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

/// A job of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tick {}

impl BackgroundJob for Tick {
    const NAME: &'static str = "tick";
    const CONCURRENCY: usize = 2;
    const TIMEOUT: Duration = Duration::from_secs(30);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

pub fn quick() -> Timing {
    Timing {
        poll_interval: Duration::from_millis(300),
        heartbeat: Duration::from_millis(200),
        heartbeat_timeout: Duration::from_secs(1),
        maintenance_interval: Duration::from_millis(500),
        rescue_spread: Duration::from_millis(300),
        grace: Duration::from_millis(500),
    }
}

/// A running node.
pub struct Node {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Node {
    pub fn start(workers: WorkerPool) -> Self {
        Self::start_with_timing(workers, quick())
    }

    pub fn start_with_timing(workers: WorkerPool, timing: Timing) -> Self {
        let stop = CancellationToken::new();
        Self { task: tokio::spawn(workers.with_timing(timing).run(stop.clone())), stop }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, self.task).await.unwrap().unwrap();
    }
}

/// Returns a pool whose `note` jobs all succeed.
pub fn succeeding(store: &Store) -> WorkerPool {
    WorkerPool::new(store.clone()).handle(|_: Note| async { Ok(()) })
}

/// Enqueues a job; returns whether its key is new.
pub async fn enqueue<J: BackgroundJob>(store: &Store, job: &J, key: Option<&str>) -> bool {
    let mut tx = store.begin().await.unwrap();
    let is_new = mc_jobs::enqueue(&mut tx, job, key).await.unwrap();
    tx.commit().await.unwrap();
    is_new
}

/// Waits until all jobs of a kind are in this state.
pub async fn wait_for_state(store: &Store, kind: &str, state: JobState) -> Vec<Job> {
    let is_in_state = |jobs: &[Job]| jobs.iter().all(|job| job.state == state);
    wait_for_jobs(store, kind, |jobs| !jobs.is_empty() && is_in_state(jobs)).await
}
