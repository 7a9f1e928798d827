//! Attempts, retries, keys and shutdown.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mc_contract::operations::job::Job;
use mc_domain::JobState;
use mc_jobs::{BackgroundJob, JobError, JobSettings, KindSettings, WorkerPool};
use mc_store::jobs::{self, NewJob};
use mc_store::testing::execute;
use mc_testkit::TestDatabase;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::fixture::{Node, Note, Tick, enqueue, quick, succeeding, wait_for_state};
use crate::support::{Handle as _, Handler, TIMEOUT, list_jobs, wait_for_jobs};

/// A job with the name of a kind that operators can configure.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Configured {}

impl BackgroundJob for Configured {
    const NAME: &'static str = "cleanup";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_mins(30);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_runs_on_one_of_two_nodes() {
    let db = TestDatabase::create().await;
    let (sender, mut completed) = mpsc::unbounded_channel();
    let pool = || {
        let sender = sender.clone();
        WorkerPool::new(db.store().clone()).handle(move |note: Note| {
            let sent = sender.send(note.n);
            async move { sent.map_err(|_| JobError::Permanent("the test has ended".into())) }
        })
    };
    let nodes = [Node::start(pool()), Node::start(pool())];
    for n in 0..200 {
        assert!(enqueue(db.store(), &Note { n }, None).await);
    }
    wait_for_state(db.store(), "note", JobState::Completed).await;
    for node in nodes {
        node.stop().await;
    }
    drop(sender);
    let mut numbers = Vec::new();
    while let Some(n) = completed.recv().await {
        numbers.push(n);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enqueue_is_transactional_and_keys_are_unique() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let mut tx = store.begin().await.unwrap();
    assert!(mc_jobs::enqueue(&mut tx, &Note { n: 1 }, None).await.unwrap());
    drop(tx);
    assert!(list_jobs(store, "note").await.is_empty());
    assert!(enqueue(store, &Note { n: 1 }, Some("one")).await);
    assert!(!enqueue(store, &Note { n: 2 }, Some("one")).await);
    assert!(enqueue(store, &Tick {}, Some("one")).await, "keys are unique within a kind");
    let jobs = list_jobs(store, "note").await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].args["n"].as_u64(), jobs[0].unique_key.as_deref()), (Some(1), Some("one")));
    let mut tx = store.begin().await.unwrap();
    assert!(jobs::delete(&mut tx, &jobs[0].id).await.unwrap());
    assert!(!jobs::delete(&mut tx, &jobs[0].id).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_job_backs_off_then_is_discarded_until_retried() {
    let db = TestDatabase::create().await;
    let store = db.store().clone();
    let (attempts, is_fixed) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(false)));
    let (times, fixed) = (Arc::clone(&attempts), Arc::clone(&is_fixed));
    let workers = WorkerPool::new(store.clone()).handle(move |note: Note| {
        times.lock().unwrap().push((note.n, Instant::now()));
        let is_fixed = *fixed.lock().unwrap();
        async move {
            match note.n {
                _ if is_fixed => Ok(()),
                0 => Err(JobError::Retryable(
                    "the disk is full, token ghp_16C7e42F292c6912E7710c838347Ae178B4a".into(),
                )),
                1 => panic!("a test panic"),
                _ => Err(JobError::Permanent("there is no such file".into())),
            }
        }
    });
    let node = Node::start(workers);
    for n in 0..3 {
        enqueue(&store, &Note { n }, None).await;
    }
    let mut jobs = wait_for_state(&store, "note", JobState::Discarded).await;
    jobs.reverse();
    assert_eq!(jobs.iter().map(|job| job.attempts).collect::<Vec<_>>(), [3, 3, 1]);
    let reasons: Vec<_> = jobs.iter().map(|job| job.last_error.clone().unwrap()).collect();
    assert_eq!(reasons[0], "the disk is full, token [secret:github-token]");
    assert!(reasons[1].contains("panicked"), "{reasons:?}");
    assert_eq!(reasons[2], "there is no such file");
    let attempts = attempts.lock().unwrap().clone();
    let first_job: Vec<_> =
        attempts.iter().filter(|(n, _)| *n == 0).map(|(_, time)| *time).collect();
    assert!(first_job[1] - first_job[0] >= Duration::from_millis(50));
    assert!(first_job[2] - first_job[1] >= Duration::from_millis(100));

    *is_fixed.lock().unwrap() = true;
    let mut tx = store.begin().await.unwrap();
    for job in &jobs {
        assert!(jobs::retry(&mut tx, &job.id).await.unwrap());
    }
    assert!(!jobs::retry(&mut tx, &jobs[0].id).await.unwrap(), "the job is pending again");
    tx.commit().await.unwrap();
    wait_for_state(&store, "note", JobState::Completed).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_timeout_and_concurrency_apply_to_jobs() {
    let db = TestDatabase::create().await;
    let mut settings = JobSettings::default();
    let timeout = Duration::from_secs(2);
    settings.set_kind("cleanup", KindSettings { concurrency: 2, timeout }).unwrap();
    let (sender, mut started) = mpsc::unbounded_channel();
    let workers = WorkerPool::new(db.store().clone()).with_settings(settings);
    let node = Node::start(workers.handle(move |_: Configured| {
        let _ = sender.send(Instant::now());
        std::future::pending()
    }));
    for _ in 0..3 {
        enqueue(db.store(), &Configured {}, None).await;
    }
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(tokio::time::timeout(TIMEOUT, started.recv()).await.unwrap().unwrap());
    }
    assert!(times[1] - times[0] < timeout, "two run at once");
    assert!(times[2] - times[0] >= timeout, "the third waits until one has timed out");
    let has_timed_out =
        |job: &Job| job.last_error.as_deref() == Some("the job timed out after 2 s");
    wait_for_jobs(db.store(), "cleanup", |jobs| jobs.iter().any(has_timed_out)).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_poll_the_queue_without_notifications() {
    let db = TestDatabase::create().await;
    execute(db.url(), "drop trigger notify_workers on apalis.jobs").await.unwrap();
    let node = Node::start(succeeding(db.store()));
    for n in 0..3 {
        enqueue(db.store(), &Note { n }, None).await;
        // The next job is enqueued after the worker has found the queue empty.
        wait_for_state(db.store(), "note", JobState::Completed).await;
        tokio::time::sleep(quick().poll_interval * 2).await;
    }
    node.stop().await;
}

/// A job that shutdown interrupts is released at once, and the attempt does not count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_node_releases_unfinished_jobs() {
    let db = TestDatabase::create().await;
    let (sender, mut started) = mpsc::unbounded_channel();
    let stuck = WorkerPool::new(db.store().clone()).handle(move |note: Note| {
        let _ = sender.send(note.n);
        std::future::pending()
    });
    let node = Node::start(stuck);
    enqueue(db.store(), &Note { n: 7 }, None).await;
    assert_eq!(tokio::time::timeout(TIMEOUT, started.recv()).await.unwrap(), Some(7));
    node.stop().await;
    let jobs = wait_for_state(db.store(), "note", JobState::Pending).await;
    assert_eq!(jobs[0].attempts, 0);
    let node = Node::start(succeeding(db.store()));
    assert_eq!(wait_for_state(db.store(), "note", JobState::Completed).await[0].attempts, 1);
    node.stop().await;
}

/// Jobs that run longer than the heartbeat timeout stay with their live worker, also while others
/// wait behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_jobs_start_once() {
    let db = TestDatabase::create().await;
    for n in 0..9 {
        enqueue(db.store(), &Note { n }, None).await;
    }
    let pool = || {
        WorkerPool::new(db.store().clone()).handle(|_: Note| async {
            tokio::time::sleep(quick().heartbeat_timeout * 2).await;
            Ok(())
        })
    };
    let nodes = [Node::start(pool()), Node::start(pool())];
    let jobs = wait_for_state(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts == 1), "{jobs:?}");
    for node in nodes {
        node.stop().await;
    }
}

/// Another version of the service may have enqueued such a job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_with_invalid_args_is_discarded_and_blocks_no_other() {
    let db = TestDatabase::create().await;
    let args = serde_json::json!({"no": 1});
    let invalid =
        NewJob { kind: Note::NAME, unique_key: None, args, delay: Duration::ZERO, max_attempts: 3 };
    let mut tx = db.store().begin().await.unwrap();
    assert!(jobs::enqueue(&mut tx, &NewJob { max_attempts: 0, ..invalid.clone() }).await.is_err());
    drop(tx);
    let mut tx = db.store().begin().await.unwrap();
    assert!(jobs::enqueue(&mut tx, &invalid).await.unwrap().is_some());
    tx.commit().await.unwrap();
    enqueue(db.store(), &Note { n: 1 }, None).await;
    let node = Node::start(succeeding(db.store()));
    let have_ended = |jobs: &[Job]| jobs.iter().all(|job| job.completed_at.is_some());
    let jobs = wait_for_jobs(db.store(), "note", have_ended).await;
    let states: Vec<_> = jobs.iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Completed, JobState::Discarded]);
    assert!(jobs[1].last_error.as_deref().unwrap().contains("missing field"), "{jobs:?}");
    node.stop().await;
}

/// A job runs at least once. Its effect happens once, because a second attempt finds the key
/// claimed, unless that was rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_key_is_claimed_once() {
    let db = TestDatabase::create().await;
    let mut tx = db.store().begin().await.unwrap();
    assert!(jobs::claim_idempotency_key(&mut tx, "note", "one").await.unwrap());
    drop(tx);
    for is_first in [true, false] {
        let mut tx = db.store().begin().await.unwrap();
        assert_eq!(jobs::claim_idempotency_key(&mut tx, "note", "one").await.unwrap(), is_first);
        assert_eq!(jobs::claim_idempotency_key(&mut tx, "other", "one").await.unwrap(), is_first);
        tx.commit().await.unwrap();
    }
}
