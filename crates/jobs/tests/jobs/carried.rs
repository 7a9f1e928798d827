//! The same promises where a Redis hands the work out: while it is there, is lost, comes back and forgets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mc_domain::JobState;
use mc_jobs::{Failure, Request, Timing, Work, Workers};
use mc_shared::Shared;
use mc_store::jobs;
use mc_store::testing::text;
use mc_testkit::{Redis, TestDatabase};
use tokio::sync::{Semaphore, mpsc};

use crate::{Note, PATIENCE, Running, all, of_kind, put, quick};

/// Parts of the names of what Redis has of jobs that wait or are in hand.
const OF_JOBS: [&str; 6] = [":active", ":scheduled", ":signal", ":data", ":meta:", ":inflight:"];

/// How many jobs Redis was told of.
const TOLD: &str = "select count(*)::text from apalis.jobs where metadata -> 'relayed' is not null";
/// How many of them wait.
const TOLD_AND_WAIT: &str = "select count(*)::text from apalis.jobs
    where status = 'Pending' and metadata -> 'relayed' is not null";

/// When a worker gave the last sign of life.
const LAST_SEEN: &str = "select max(last_seen)::text from apalis.workers";

/// The node's connection, once there is one.
async fn connected(redis: &Redis) -> Shared {
    let shared = crate::open(redis.url());
    let begun = Instant::now();
    while shared.is_away() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    shared
}

/// A node that does notes as told.
fn node<F, Fut>(db: &TestDatabase, shared: &Shared, run: F) -> Running
where
    F: Fn(Note) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let workers = Workers::new(db.store().clone()).with_redis(Some(shared.clone()));
    Running::start(workers.with(run))
}

async fn stop(nodes: impl IntoIterator<Item = Running>) {
    for node in nodes {
        node.stop().await;
    }
}

async fn count(db: &TestDatabase, query: &'static str) -> usize {
    text(db.store(), query).await.unwrap().parse().unwrap()
}

async fn until(db: &TestDatabase, query: &'static str, wanted: usize) {
    let begun = Instant::now();
    while count(db, query).await < wanted {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What Redis has of the queues.
async fn keys(shared: &Shared) -> Vec<String> {
    let mut connection = shared.connection().unwrap();
    redis::cmd("KEYS").arg("*jobs:*").query_async(&mut connection).await.unwrap()
}

/// How many keys the queues have when Redis knows of no job any more.
async fn keys_at_rest(shared: &Shared) -> usize {
    let begun = Instant::now();
    loop {
        let keys = keys(shared).await;
        if !keys.iter().any(|key| OF_JOBS.iter().any(|part| key.contains(part))) {
            return keys.len();
        }
        assert!(begun.elapsed() < PATIENCE, "{keys:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Nobody looks into PostgreSQL within an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_alone_hands_work_out() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let hour = Duration::from_hours(1);
    let timing = Timing { look: hour, heartbeat: hour, silence: hour * 2, ..quick() };
    let workers = Workers::new(db.store().clone()).with_redis(Some(connected(&redis).await));
    let running = Running::timed(workers.with(|_: Note| async { Ok(()) }), timing);
    // The first may come before Redis was asked.
    let mut n = 0;
    while count(&db, TOLD).await == 0 {
        n += 1;
        put(db.store(), &Note { n }, None).await;
        all(db.store(), "note", JobState::Done).await;
    }
    for after in 1..=20 {
        put(db.store(), &Note { n: n + after }, None).await;
        all(db.store(), "note", JobState::Done).await;
    }
    let told = count(&db, TOLD).await;
    assert!(told >= 19, "{told} of 21: the last bell of before may have found one");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_told_of_once_and_when_there_is_room() {
    let db = TestDatabase::create().await;
    for n in 0..3 {
        put(db.store(), &Note { n }, None).await;
    }
    let kinds = ["note".to_owned(), "tick".to_owned()];
    let mut told = Vec::new();
    for wanted in [2, 1, 0] {
        let jobs = jobs::relay(db.store(), &kinds, &[2, 2]).await.unwrap();
        assert_eq!(jobs.len(), wanted, "{jobs:?}");
        told.extend(jobs.into_iter().map(|job| job.id));
    }
    let waiting = all(db.store(), "note", JobState::Waiting).await;
    assert!(waiting.iter().all(|job| told.contains(&job.id)), "{told:?}");
}

/// What happens to Redis while there is work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    Gone,
    GoneForAWhile,
    Emptied,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_is_done_once_by_three_nodes() {
    done_once_each(1_000, Fault::Nothing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_work_is_found_in_postgresql() {
    done_once_each(400, Fault::Gone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_comes_back_empty_changes_nothing() {
    done_once_each(400, Fault::GoneForAWhile).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_forgets_is_found_in_postgresql() {
    done_once_each(400, Fault::Emptied).await;
}

async fn done_once_each(count: u32, fault: Fault) {
    let db = TestDatabase::create().await;
    let mut redis = Redis::start().await;
    let (sender, mut begun) = mpsc::unbounded_channel();
    let run = move |note: Note| {
        let sent = sender.send(note.n);
        async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            sent.map_err(|_| Failure::ForGood("nobody asks".into()))
        }
    };
    let mut nodes = Vec::new();
    for _ in 0..3 {
        nodes.push(node(&db, &connected(&redis).await, run.clone()));
    }
    drop(run);
    for n in 0..count {
        put(db.store(), &Note { n }, None).await;
        if n == count / 2 {
            befall(&mut redis, fault).await;
        }
    }
    all(db.store(), "note", JobState::Done).await;
    stop(nodes).await;
    let mut times = BTreeMap::new();
    while let Some(n) = begun.recv().await {
        *times.entry(n).or_insert(0) += 1;
    }
    assert_eq!(times, (0..count).map(|n| (n, 1)).collect::<BTreeMap<_, _>>());
}

async fn befall(redis: &mut Redis, fault: Fault) {
    match fault {
        Fault::Nothing => {}
        Fault::Gone => redis.kill(),
        Fault::GoneForAWhile => {
            redis.kill();
            tokio::time::sleep(quick().look).await;
            redis.restart().await;
        }
        Fault::Emptied => {
            let mut connection = connected(redis).await.connection().unwrap();
            redis::cmd("FLUSHALL").exec_async(&mut connection).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_by_redis_after_it_was_away() {
    let db = TestDatabase::create().await;
    let mut redis = Redis::start().await;
    let shared = connected(&redis).await;
    let running = node(&db, &shared, |_: Note| async { Ok(()) });
    redis.restart().await;
    let begun = Instant::now();
    let mut told = 0_usize;
    while told == 0 || keys(&connected(&redis).await).await.is_empty() {
        assert!(begun.elapsed() < PATIENCE);
        put(db.store(), &Note { n: 0 }, None).await;
        all(db.store(), "note", JobState::Done).await;
        told = count(&db, TOLD).await;
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_job_that_is_done_stays_in_redis() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let running = node(&db, &shared, |note: Note| async move {
        if note.n % 10 == 3 { Err(Failure::ForGood("not this one".into())) } else { Ok(()) }
    });
    let mut counts = Vec::new();
    for round in 0..3 {
        for n in 0..100 {
            put(db.store(), &Note { n: round * 100 + n }, None).await;
        }
        let begun = Instant::now();
        while of_kind(db.store(), "note").await.iter().any(|job| job.ended_at.is_none()) {
            assert!(begun.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        counts.push(keys_at_rest(&shared).await);
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    running.stop().await;
    assert_eq!(keys_at_rest(&shared).await, 0, "nor of a worker that has ended");
}

/// Both ways together: what Redis hands out, and what is looked for meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_are_at_work_at_once_than_may_be() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let highest = Arc::clone(&most);
    let running = node(&db, &shared, move |_: Note| {
        let (now, highest) = (Arc::clone(&now), Arc::clone(&highest));
        async move {
            highest.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(40)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    for n in 0..100 {
        put(db.store(), &Note { n }, None).await;
    }
    let jobs = all(db.store(), "note", JobState::Done).await;
    assert!(jobs.iter().all(|job| job.starts == 1), "{jobs:?}");
    assert_eq!(most.load(Ordering::SeqCst), Note::AT_ONCE);
    running.stop().await;
}

/// Works on what it is told until there are permits, and says when it begins.
fn held(
    db: &TestDatabase,
    shared: &Shared,
    go_on: &Arc<Semaphore>,
) -> (Running, mpsc::UnboundedReceiver<u32>) {
    let (sender, begun) = mpsc::unbounded_channel();
    let gate = Arc::clone(go_on);
    let running = node(db, shared, move |note: Note| {
        let (sent, gate) = (sender.send(note.n), Arc::clone(&gate));
        async move {
            let _passed = gate.acquire().await;
            sent.map_err(|_| Failure::ForGood("nobody asks".into()))
        }
    });
    (running, begun)
}

/// As many as may be at work at once, and one more, which waits.
async fn fill(db: &TestDatabase, begun: &mut mpsc::UnboundedReceiver<u32>) {
    for n in 0..=4 {
        put(db.store(), &Note { n }, None).await;
        if n < 4 {
            assert_eq!(tokio::time::timeout(PATIENCE, begun.recv()).await.unwrap(), Some(n));
        }
    }
}

/// What a busy node can't begin it does not keep from others, nor does it stop in the middle of taking it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_free_does_what_waits_for_a_busy_node() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let go_on = Arc::new(Semaphore::new(0));
    let (busy, mut begun) = held(&db, &shared, &go_on);
    fill(&db, &mut begun).await;
    for _ in 0..3 {
        let seen = text(db.store(), LAST_SEEN).await.unwrap();
        let waited = Instant::now();
        while text(db.store(), LAST_SEEN).await.unwrap() == seen {
            assert!(waited.elapsed() < PATIENCE, "the busy node gives no sign of life");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let free = node(&db, &shared, |_: Note| async { Ok(()) });
    for n in 5..15 {
        put(db.store(), &Note { n }, None).await;
    }
    until(&db, "select count(*)::text from apalis.jobs where status = 'Done'", 11).await;
    go_on.add_permits(4);
    all(db.store(), "note", JobState::Done).await;
    stop([busy, free]).await;
}

/// A worker of the library looks for work whenever anything wakes its task: nothing may do so while there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_without_work_hardly_ask() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let running = node(&db, &shared, |_: Note| async { Ok(()) });
    put(db.store(), &Note { n: 0 }, None).await;
    all(db.store(), "note", JobState::Done).await;
    let before = scripts(&shared).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = scripts(&shared).await - before;
    // Ten looks a second, and what a sign of life takes; on a slow machine fewer.
    assert!(asked < 120, "Redis ran {asked} scripts");
    running.stop().await;
}

/// How many scripts Redis has run.
async fn scripts(shared: &Shared) -> u64 {
    let mut connection = shared.connection().unwrap();
    let told: String =
        redis::cmd("INFO").arg("commandstats").query_async(&mut connection).await.unwrap();
    let calls = |line: &str| line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok();
    told.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(calls).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_thrown_away_while_redis_has_it_is_not_done() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let go_on = Arc::new(Semaphore::new(0));
    let (running, mut begun) = held(&db, &shared, &go_on);
    fill(&db, &mut begun).await;
    until(&db, TOLD_AND_WAIT, 1).await;
    let waiting = of_kind(db.store(), "note").await.remove(0);
    // A worker may just have it in hand, and gives it back.
    let mut is_discarded = false;
    while !is_discarded {
        let mut tx = db.store().begin().await.unwrap();
        is_discarded = jobs::discard(&mut tx, &waiting.id).await.unwrap();
        tx.commit().await.unwrap();
    }
    go_on.add_permits(4);
    all(db.store(), "note", JobState::Done).await;
    // By then Redis knows nothing of it any more.
    keys_at_rest(&shared).await;
    running.stop().await;
    assert_eq!(begun.recv().await, None);
}

/// Redis may know of a job that was put off since; it is nobody's before its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_not_begun_before_its_time() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let (sender, mut begun) = mpsc::unbounded_channel();
    let running = node(&db, &shared, move |_: Note| {
        let sent = sender.send(Instant::now());
        async move { sent.map_err(|_| Failure::ForGood("nobody asks".into())) }
    });
    let (asked, delay) = (Instant::now(), Duration::from_secs(1));
    let mut tx = db.store().begin().await.unwrap();
    assert!(Request::new(&Note { n: 1 }).after(delay).put(&mut tx).await.unwrap());
    tx.commit().await.unwrap();
    let job = of_kind(db.store(), "note").await.remove(0);
    assert_eq!(jobs::claim(db.store(), &job.id, "whoever").await.unwrap(), None);
    let at = tokio::time::timeout(PATIENCE, begun.recv()).await.unwrap().unwrap();
    assert!(at - asked >= delay);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_one_job() {
    let redis = Redis::start().await;
    crate::tick_on_three_nodes(Some(&redis)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_its_process_is_given_up() {
    let redis = Redis::start().await;
    crate::give_up_poison(Some(&redis)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_strands_nothing_in_redis() {
    let redis = Redis::start().await;
    crate::restarted_after(Duration::ZERO, Some(&redis)).await;
    let redis = Redis::start().await;
    crate::restarted_after(Duration::from_secs(5), Some(&redis)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_begins_anew_takes_up_what_it_had_from_redis() {
    let redis = Redis::start().await;
    crate::begin_anew_beside_another(Some(&redis)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_that_stops_can_not_finish_is_given_back() {
    let db = TestDatabase::create().await;
    let redis = Redis::start().await;
    let shared = connected(&redis).await;
    let (sender, mut begun) = mpsc::unbounded_channel();
    let running = node(&db, &shared, move |note: Note| {
        let _ = sender.send(note.n);
        std::future::pending()
    });
    put(db.store(), &Note { n: 7 }, None).await;
    assert_eq!(tokio::time::timeout(PATIENCE, begun.recv()).await.unwrap(), Some(7));
    running.stop().await;
    assert_eq!(all(db.store(), "note", JobState::Waiting).await[0].starts, 0);
    let running = node(&db, &shared, |_: Note| async { Ok(()) });
    assert_eq!(all(db.store(), "note", JobState::Done).await[0].starts, 1);
    running.stop().await;
}
