//! Nodes whose process dies.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mc_domain::JobState;
use mc_jobs::{BackgroundJob, JobError, Timing, WorkerPool};
use mc_store::Store;
use mc_testkit::TestDatabase;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Node, Note, enqueue, quick, succeeding, wait_for_state};
use crate::schedule::with_ticks;
use crate::support::{Handle as _, Handler, POLL_INTERVAL, TIMEOUT, list_jobs, wait_for_jobs};

/// Name of the helper's node.
const HELPER_NODE: &str = "kitchen";
/// Environment variable with the database for [`helper_process`].
const HELPER_DATABASE: &str = "MC_TEST_JOBS_DATABASE";
/// Notes from this number on run in the helper until it is killed.
const FIRST_STUCK_NOTE: u32 = 1_000;

/// A job that kills its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Poison {}

impl BackgroundJob for Poison {
    const NAME: &'static str = "poison";
    const CONCURRENCY: usize = 1;
    const MAX_ATTEMPTS: u16 = 3;
    const TIMEOUT: Duration = Duration::from_secs(30);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_that_kills_its_process_is_discarded_and_blocks_no_other() {
    let db = TestDatabase::create().await;
    enqueue(db.store(), &Poison {}, None).await;
    for n in 0..20 {
        enqueue(db.store(), &Note { n }, None).await;
    }
    let mut deaths = 0;
    let mut helper = HelperProcess::start(&db);
    let started = Instant::now();
    let poison = loop {
        if helper.0.try_wait().unwrap().is_some() {
            deaths += 1;
            helper = HelperProcess::start(&db);
        }
        let jobs = list_jobs(db.store(), "poison").await;
        if jobs[0].state == JobState::Discarded {
            break jobs;
        }
        assert!(started.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    assert_eq!((deaths, poison[0].attempts), (3, 3));
    assert!(poison[0].last_error.as_deref().unwrap().contains("died"), "{poison:?}");
    let notes = wait_for_state(db.store(), "note", JobState::Completed).await;
    assert_eq!(notes.len(), 20);
}

/// The next node completes the jobs of a killed one, whether it starts before or after the
/// heartbeat timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn next_node_completes_the_jobs_of_a_killed_one() {
    tokio::join!(
        complete_after(Duration::ZERO),
        complete_after(Duration::from_millis(100)),
        complete_after(Duration::from_secs(5)),
        complete_after(Duration::from_mins(1)),
    );
}

async fn complete_after(delay: Duration) {
    let db = queue_of_a_killed_node().await;
    tokio::time::sleep(delay).await;
    let node = Node::start(succeeding(db.store()));
    let jobs = wait_for_state(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts <= 2), "{delay:?}: {jobs:?}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_node_rescues_its_jobs_before_the_timeout() {
    let db = queue_of_a_killed_node().await;
    let start_node = |name: &str| {
        let timing = Timing { heartbeat_timeout: Duration::from_hours(1), ..quick() };
        Node::start_with_timing(succeeding(db.store()).node_name(name), timing)
    };
    let other = start_node("another");
    let restarted = start_node(HELPER_NODE);
    let jobs = wait_for_state(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().any(|job| job.attempts == 2), "the first attempt counts: {jobs:?}");
    restarted.stop().await;
    other.stop().await;
}

/// Returns a queue whose only node was killed while its jobs were running.
async fn queue_of_a_killed_node() -> TestDatabase {
    let db = TestDatabase::create().await;
    for n in FIRST_STUCK_NOTE..FIRST_STUCK_NOTE + 10 {
        enqueue(db.store(), &Note { n }, None).await;
    }
    let _helper = HelperProcess::start(&db);
    wait_for_jobs(db.store(), "note", |jobs| jobs.iter().any(|job| job.attempts > 0)).await;
    db
}

/// A node in a process of its own, which is killed with the value.
pub struct HelperProcess(Child);

impl HelperProcess {
    pub fn start(db: &TestDatabase) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::helper_process", "--ignored", "--nocapture"])
            .env(HELPER_DATABASE, &db.logins().worker)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that other tests start and kill"]
async fn helper_process() {
    let Ok(url) = std::env::var(HELPER_DATABASE) else { return };
    let store = Store::connect(&url, 8, mc_store::testing::chains()).await.unwrap();
    let workers = WorkerPool::new(store)
        .node_name(HELPER_NODE)
        .handle(|note: Note| async move {
            if note.n >= FIRST_STUCK_NOTE {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
        .handle(|_: Poison| async { std::process::abort() });
    with_ticks(workers).with_timing(quick()).run(CancellationToken::new()).await;
}
