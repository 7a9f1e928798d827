//! Schedules on several nodes and with clocks that jump.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::JobState;
use mc_jobs::{Schedule, WorkerPool};
use mc_store::testing::text;
use mc_testkit::TestDatabase;

use crate::crash::HelperProcess;
use crate::fixture::{Node, Tick, wait_for_state};
use crate::support::{Handle as _, POLL_INTERVAL, TIMEOUT, list_jobs};

/// Two nodes live, and a third one is killed again and again. `MC_TEST_TICKS` sets the number of
/// ticks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_enqueued_once_on_several_nodes() {
    let db = TestDatabase::create().await;
    let tick_count = std::env::var("MC_TEST_TICKS").map_or(6, |ticks| ticks.parse().unwrap());
    let start_node = || Node::start(with_ticks(WorkerPool::new(db.store().clone())));
    let (first, second) = (start_node(), start_node());
    let count = "select count(*)::text from apalis.jobs where job_type = 'tick'";
    while text(db.store(), count).await.unwrap().parse::<usize>().unwrap() < tick_count {
        let third = HelperProcess::start(&db);
        tokio::time::sleep(Duration::from_millis(1_300)).await;
        drop(third);
    }
    let jobs = wait_for_state(db.store(), "tick", JobState::Completed).await;
    for node in [first, second] {
        node.stop().await;
    }
    let mut ticks: Vec<_> = jobs.iter().map(|job| job.unique_key.clone().unwrap()).collect();
    ticks.sort();
    assert_eq!(ticks.iter().collect::<HashSet<_>>().len(), jobs.len());
    let missing = "select count(*)::text from (
        select substr(idempotency_key, 6)::timestamptz as at,
            lag(substr(idempotency_key, 6)::timestamptz) over (order by idempotency_key) as before
        from apalis.jobs where job_type = 'tick') as ticks where at - before > interval '1 second'";
    assert_eq!(text(db.store(), missing).await.unwrap(), "0", "{ticks:?}");
}

/// Adds a job that is enqueued each second and succeeds.
pub fn with_ticks(workers: WorkerPool) -> WorkerPool {
    let workers = workers.handle(|_: Tick| async { Ok(()) });
    workers.schedule(Schedule::new("* * * * * *", Tick {}))
}

/// After a jump forward only the last of the skipped ticks is enqueued. After a jump back ticks
/// follow the clock at once, and none is enqueued twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_follows_a_clock_that_jumps() {
    let db = TestDatabase::create().await;
    let offset_seconds = Arc::new(AtomicI64::new(0));
    let seconds = Arc::clone(&offset_seconds);
    let clock = move || Utc::now() + TimeDelta::seconds(seconds.load(Ordering::SeqCst));
    let workers = WorkerPool::new(db.store().clone()).handle(|_: Tick| async { Ok(()) });
    let schedule = Schedule::new("* * * * * *", Tick {}).with_clock(clock.clone());
    let node = Node::start(workers.schedule(schedule));
    wait_for_tick(&db, clock()).await;
    for (jump_hours, offset_hours) in
        [(1, 1), (-1, 0), (-1, -1), (1, 0), (24, 24), (-24, 0), (-24, -24), (24, 0)]
    {
        let (before, after) = (clock(), clock() + TimeDelta::hours(jump_hours));
        let (from, to) = (before + TimeDelta::minutes(2), after - TimeDelta::minutes(2));
        let earlier = count_ticks(&db, from, to).await;
        offset_seconds.store(offset_hours * 3_600, Ordering::SeqCst);
        wait_for_tick(&db, after).await;
        let skipped = count_ticks(&db, from, to).await - earlier;
        assert_eq!(skipped, 0, "by {jump_hours} hours to {offset_hours}");
    }
    let jobs = wait_for_state(db.store(), "tick", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts == 1), "{jobs:?}");
    node.stop().await;
}

/// Waits until a tick within a minute from then is enqueued.
async fn wait_for_tick(db: &TestDatabase, from: DateTime<Utc>) {
    let started = Instant::now();
    while count_ticks(db, from, from + TimeDelta::minutes(1)).await == 0 {
        assert!(started.elapsed() < TIMEOUT, "no tick after {from}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn count_ticks(db: &TestDatabase, from: DateTime<Utc>, to: DateTime<Utc>) -> usize {
    let keys = list_jobs(db.store(), "tick").await.into_iter().filter_map(|job| job.unique_key);
    let tick = |key: &str| key.strip_prefix("tick ")?.parse::<DateTime<Utc>>().ok();
    keys.filter(|key| tick(key).is_some_and(|tick| from < tick && tick < to)).count()
}
