//! Jobs on a real queue: done, failed, given up, left by the dead, and by the clock.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::collections::HashSet;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use mc_domain::JobState;
use mc_jobs::{
    BackgroundJob, Enqueue, JobError, JobSettings, KindSettings, Schedule, Timing, WorkerPool,
};
use mc_store::Store;
use mc_store::jobs::{self, JobFilter, JobRow, NewJob};
use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than any of this takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
/// What the helper is called.
const NODE: &str = "kitchen";
/// Names the database for [`a_worker_that_waits_to_be_killed`].
const HELPER: &str = "MC_TEST_JOBS_DATABASE";

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

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    n: u32,
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

/// Ends the process that begins it.
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

/// Has the name of a kind that operators can configure.
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

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tick {}

impl BackgroundJob for Tick {
    const NAME: &'static str = "tick";
    const CONCURRENCY: usize = 2;
    const TIMEOUT: Duration = Duration::from_secs(30);

    type Context = Handler<Self>;

    async fn run(self, handler: &Handler<Self>) -> Result<(), JobError> {
        handler(self).await
    }
}

fn quick() -> Timing {
    Timing {
        poll_interval: Duration::from_millis(300),
        heartbeat: Duration::from_millis(200),
        heartbeat_timeout: Duration::from_secs(1),
        maintenance_interval: Duration::from_millis(500),
        rescue_spread: Duration::from_millis(300),
        grace: Duration::from_millis(500),
    }
}

struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(workers: WorkerPool) -> Self {
        Self::timed(workers, quick())
    }

    fn timed(workers: WorkerPool, timing: Timing) -> Self {
        let stop = CancellationToken::new();
        Self { task: tokio::spawn(workers.with_timing(timing).run(stop.clone())), stop }
    }

    async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, self.task).await.unwrap().unwrap();
    }
}

async fn put<W: BackgroundJob>(store: &Store, work: &W, key: Option<&str>) -> bool {
    let mut tx = store.begin().await.unwrap();
    let request = Enqueue::new(work);
    let request = match key {
        Some(key) => request.unique(key),
        None => request,
    };
    let is_new = request.insert(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    is_new
}

async fn of_kind(store: &Store, kind: &str) -> Vec<JobRow> {
    let filter = JobFilter { kind: Some(kind.to_owned()), ..JobFilter::default() };
    jobs::list(store, &filter, 10_000).await.unwrap()
}

/// Returns when all jobs of a kind are in this state.
async fn all(store: &Store, kind: &str, state: JobState) -> Vec<JobRow> {
    let begun = Instant::now();
    loop {
        let jobs = of_kind(store, kind).await;
        if !jobs.is_empty() && jobs.iter().all(|job| job.state == state) {
            return jobs;
        }
        assert!(begun.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_is_done_by_one_of_two_nodes() {
    let db = TestDatabase::create().await;
    let (sender, mut done) = mpsc::unbounded_channel();
    let node = || {
        let sender = sender.clone();
        WorkerPool::new(db.store().clone()).handle(move |note: Note| {
            let sent = sender.send(note.n);
            async move { sent.map_err(|_| JobError::Permanent("nobody asks".into())) }
        })
    };
    let nodes = [Running::start(node()), Running::start(node())];
    for n in 0..200 {
        assert!(put(db.store(), &Note { n }, None).await);
    }
    all(db.store(), "note", JobState::Completed).await;
    for node in nodes {
        node.stop().await;
    }
    drop(sender);
    let mut seen = Vec::new();
    while let Some(n) = done.recv().await {
        seen.push(n);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_rolled_back_is_not_asked_for_and_a_key_is_asked_for_once() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let mut tx = store.begin().await.unwrap();
    assert!(Enqueue::new(&Note { n: 1 }).insert(&mut tx).await.unwrap());
    drop(tx);
    assert!(of_kind(store, "note").await.is_empty());
    assert!(put(store, &Note { n: 1 }, Some("one")).await);
    assert!(!put(store, &Note { n: 2 }, Some("one")).await);
    assert!(put(store, &Tick {}, Some("one")).await, "a key is one among its kind");
    let jobs = of_kind(store, "note").await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].args["n"].as_u64(), jobs[0].unique_key.as_deref()), (Some(1), Some("one")));
    let mut tx = store.begin().await.unwrap();
    assert!(jobs::delete(&mut tx, &jobs[0].id).await.unwrap());
    assert!(!jobs::delete(&mut tx, &jobs[0].id).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_is_begun_again_later_and_then_given_up_until_a_person_says() {
    let db = TestDatabase::create().await;
    let store = db.store().clone();
    let starts = Arc::new(Mutex::new(Vec::new()));
    let heals = Arc::new(Mutex::new(false));
    let (times, healed) = (Arc::clone(&starts), Arc::clone(&heals));
    let workers = WorkerPool::new(store.clone()).handle(move |note: Note| {
        times.lock().unwrap().push((note.n, Instant::now()));
        let is_well = *healed.lock().unwrap();
        async move {
            match note.n {
                _ if is_well => Ok(()),
                0 => Err(JobError::Retryable(
                    "the disk is full, token ghp_16C7e42F292c6912E7710c838347Ae178B4a".into(),
                )),
                1 => panic!("not at all"),
                _ => Err(JobError::Permanent("there is no such thing".into())),
            }
        }
    });
    let running = Running::start(workers);
    for n in 0..3 {
        put(&store, &Note { n }, None).await;
    }
    let mut jobs = all(&store, "note", JobState::Discarded).await;
    jobs.reverse();
    assert_eq!(jobs.iter().map(|job| job.attempts).collect::<Vec<_>>(), [3, 3, 1]);
    let reasons: Vec<_> = jobs.iter().map(|job| job.last_error.clone().unwrap()).collect();
    assert_eq!(reasons[0], "the disk is full, token [secret:github-token]");
    assert!(reasons[1].contains("panicked"), "{reasons:?}");
    assert_eq!(reasons[2], "there is no such thing");
    let first: Vec<_> =
        starts.lock().unwrap().iter().filter(|(n, _)| *n == 0).map(|(_, at)| *at).collect();
    assert!(first[1] - first[0] >= Duration::from_millis(50));
    assert!(first[2] - first[1] >= Duration::from_millis(100));

    *heals.lock().unwrap() = true;
    let mut tx = store.begin().await.unwrap();
    for job in &jobs {
        assert!(jobs::retry(&mut tx, &job.id).await.unwrap());
    }
    assert!(!jobs::retry(&mut tx, &jobs[0].id).await.unwrap(), "it is not dead any more");
    tx.commit().await.unwrap();
    all(&store, "note", JobState::Completed).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_timeout_and_concurrency_apply_to_jobs() {
    let db = TestDatabase::create().await;
    let mut settings = JobSettings::default();
    let timeout = Duration::from_secs(2);
    settings.set_kind("cleanup", KindSettings { concurrency: 2, timeout }).unwrap();
    let (started, mut seen) = mpsc::unbounded_channel();
    let workers = WorkerPool::new(db.store().clone()).with_settings(settings);
    let running = Running::start(workers.handle(move |_: Configured| {
        let _ = started.send(Instant::now());
        std::future::pending()
    }));
    for _ in 0..3 {
        put(db.store(), &Configured {}, None).await;
    }
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(tokio::time::timeout(TIMEOUT, seen.recv()).await.unwrap().unwrap());
    }
    assert!(times[1] - times[0] < timeout, "two run at once");
    assert!(times[2] - times[0] >= timeout, "the third waits until one has timed out");
    let begun = Instant::now();
    let has_timed_out =
        |job: &JobRow| job.last_error.as_deref() == Some("the job timed out after 2 s");
    while !of_kind(db.store(), "cleanup").await.iter().any(has_timed_out) {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}

/// Nobody tells of new jobs: they are found all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notices_jobs_are_looked_for() {
    let db = TestDatabase::create().await;
    execute(db.url(), "drop trigger notify_workers on apalis.jobs").await.unwrap();
    let running =
        Running::start(WorkerPool::new(db.store().clone()).handle(|_: Note| async { Ok(()) }));
    for n in 0..3 {
        put(db.store(), &Note { n }, None).await;
        // The worker has seen it, so that it sees the next by looking again.
        all(db.store(), "note", JobState::Completed).await;
        tokio::time::sleep(quick().poll_interval * 2).await;
    }
    running.stop().await;
}

/// What is at work when a node stops is done, or begun anew by another at once; that start does not
/// count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_gives_back_what_it_can_not_finish() {
    let db = TestDatabase::create().await;
    let (begun, mut seen) = mpsc::unbounded_channel();
    let stuck = WorkerPool::new(db.store().clone()).handle(move |note: Note| {
        let _ = begun.send(note.n);
        std::future::pending()
    });
    let running = Running::start(stuck);
    put(db.store(), &Note { n: 7 }, None).await;
    assert_eq!(tokio::time::timeout(TIMEOUT, seen.recv()).await.unwrap(), Some(7));
    running.stop().await;
    let jobs = all(db.store(), "note", JobState::Pending).await;
    assert_eq!(jobs[0].attempts, 0);
    let running =
        Running::start(WorkerPool::new(db.store().clone()).handle(|_: Note| async { Ok(()) }));
    assert_eq!(all(db.store(), "note", JobState::Completed).await[0].attempts, 1);
    running.stop().await;
}

/// Jobs that last longer than a silent worker is given stay with theirs, also while others wait
/// behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_last_are_begun_once() {
    let db = TestDatabase::create().await;
    for n in 0..9 {
        put(db.store(), &Note { n }, None).await;
    }
    let node = || {
        WorkerPool::new(db.store().clone()).handle(|_: Note| async {
            tokio::time::sleep(quick().heartbeat_timeout * 2).await;
            Ok(())
        })
    };
    let nodes = [Running::start(node()), Running::start(node())];
    let jobs = all(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts == 1), "{jobs:?}");
    for node in nodes {
        node.stop().await;
    }
}

/// As one that another version asked for may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_can_not_be_read_is_given_up_and_holds_nobody_up() {
    let db = TestDatabase::create().await;
    let args = serde_json::json!({"no": 1});
    let odd =
        NewJob { kind: Note::NAME, unique_key: None, args, delay: Duration::ZERO, max_attempts: 3 };
    let mut tx = db.store().begin().await.unwrap();
    assert!(jobs::enqueue(&mut tx, &NewJob { max_attempts: 0, ..odd.clone() }).await.is_err());
    drop(tx);
    let mut tx = db.store().begin().await.unwrap();
    assert!(jobs::enqueue(&mut tx, &odd).await.unwrap().is_some());
    tx.commit().await.unwrap();
    put(db.store(), &Note { n: 1 }, None).await;
    let running =
        Running::start(WorkerPool::new(db.store().clone()).handle(|_: Note| async { Ok(()) }));
    let begun = Instant::now();
    let jobs = loop {
        let jobs = of_kind(db.store(), "note").await;
        if jobs.iter().all(|job| job.completed_at.is_some()) {
            break jobs;
        }
        assert!(begun.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let states: Vec<_> = jobs.iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Completed, JobState::Discarded]);
    assert!(jobs[1].last_error.as_deref().unwrap().contains("missing field"), "{jobs:?}");
    running.stop().await;
}

/// Work is done at least once, its effect once: a second start finds that it was taken, unless that
/// was undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_is_taken_once() {
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

/// Three nodes, one of which is killed again and again: each tick is asked for once, and done. As
/// many ticks as `MC_TEST_TICKS` says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_one_job_on_any_number_of_nodes() {
    let db = TestDatabase::create().await;
    let wanted = std::env::var("MC_TEST_TICKS").map_or(6, |ticks| ticks.parse().unwrap());
    let node = || Running::start(ticking(WorkerPool::new(db.store().clone())));
    let (first, second) = (node(), node());
    let count = "select count(*)::text from apalis.jobs where job_type = 'tick'";
    while text(db.store(), count).await.unwrap().parse::<usize>().unwrap() < wanted {
        let third = Helper::start(&db);
        tokio::time::sleep(Duration::from_millis(1_300)).await;
        drop(third);
    }
    let jobs = all(db.store(), "tick", JobState::Completed).await;
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

/// The same, asking for a tick each second and doing it.
fn ticking(workers: WorkerPool) -> WorkerPool {
    let workers = workers.handle(|_: Tick| async { Ok(()) });
    workers.schedule(Schedule::new("* * * * * *", Tick {}))
}

/// Of what a jump forward passes over the last tick alone is asked for, and after a jump back ticks
/// go on by the time that it is then: none waits for the clock to catch up, and none is asked for
/// twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ticks_go_on_when_the_clock_jumps() {
    let db = TestDatabase::create().await;
    let ahead = Arc::new(AtomicI64::new(0));
    let seconds = Arc::clone(&ahead);
    let clock = move || Utc::now() + TimeDelta::seconds(seconds.load(Ordering::SeqCst));
    let workers = WorkerPool::new(db.store().clone()).handle(|_: Tick| async { Ok(()) });
    let schedule = Schedule::new("* * * * * *", Tick {}).by(clock.clone());
    let running = Running::start(workers.schedule(schedule));
    ticks_from(&db, clock()).await;
    for (jump, to) in [(1, 1), (-1, 0), (-1, -1), (1, 0), (24, 24), (-24, 0), (-24, -24), (24, 0)] {
        let (before, now) = (clock(), clock() + TimeDelta::hours(jump));
        let passed_over = (before + TimeDelta::minutes(2), now - TimeDelta::minutes(2));
        let had = ticks_within(&db, passed_over.0, passed_over.1).await;
        ahead.store(to * 3_600, Ordering::SeqCst);
        ticks_from(&db, now).await;
        let has = ticks_within(&db, passed_over.0, passed_over.1).await;
        assert_eq!(has, had, "by {jump} hours to {to}");
    }
    let jobs = all(db.store(), "tick", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts == 1), "{jobs:?}");
    running.stop().await;
}

/// Returns when a tick was asked for that is due within a minute from then.
async fn ticks_from(db: &TestDatabase, from: DateTime<Utc>) {
    let begun = Instant::now();
    while ticks_within(db, from, from + TimeDelta::minutes(1)).await == 0 {
        assert!(begun.elapsed() < TIMEOUT, "no tick from {from} on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn ticks_within(db: &TestDatabase, from: DateTime<Utc>, to: DateTime<Utc>) -> usize {
    let ticks = of_kind(db.store(), "tick").await.into_iter().filter_map(|job| job.unique_key);
    let at = |key: &str| key.strip_prefix("tick ")?.parse::<DateTime<Utc>>().ok();
    ticks.filter(|key| at(key).is_some_and(|at| from < at && at < to)).count()
}

/// A job that ends its process each time is given up after as many starts as it has, and those that
/// wait beside it are done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_its_process_is_given_up_and_its_neighbours_are_done() {
    let db = TestDatabase::create().await;
    put(db.store(), &Poison {}, None).await;
    for n in 0..20 {
        put(db.store(), &Note { n }, None).await;
    }
    let mut deaths = 0;
    let mut helper = Helper::start(&db);
    let begun = Instant::now();
    let poisoned = loop {
        if helper.0.try_wait().unwrap().is_some() {
            deaths += 1;
            helper = Helper::start(&db);
        }
        let jobs = of_kind(db.store(), "poison").await;
        if jobs[0].state == JobState::Discarded {
            break jobs;
        }
        assert!(begun.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((deaths, poisoned[0].attempts), (3, 3));
    assert!(poisoned[0].last_error.as_deref().unwrap().contains("died"), "{poisoned:?}");
    let notes = all(db.store(), "note", JobState::Completed).await;
    assert_eq!(notes.len(), 20);
}

/// What a worker held that was killed is done by whoever comes next, soon or late: within the
/// silence after which it counts as dead, and long after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_strands_nothing() {
    tokio::join!(
        restarted_after(Duration::ZERO),
        restarted_after(Duration::from_millis(100)),
        restarted_after(Duration::from_secs(5)),
        restarted_after(Duration::from_mins(1)),
    );
}

async fn restarted_after(wait: Duration) {
    let db = killed_at_work().await;
    tokio::time::sleep(wait).await;
    let workers = WorkerPool::new(db.store().clone()).handle(|_: Note| async { Ok(()) });
    let running = Running::start(workers);
    let jobs = all(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().all(|job| job.attempts <= 2), "{wait:?}: {jobs:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_begins_anew_takes_up_what_it_held_however_long_others_would_wait() {
    let db = killed_at_work().await;
    let node = |name: &str| {
        let workers = WorkerPool::new(db.store().clone()).handle(|_: Note| async { Ok(()) });
        let patient = Timing { heartbeat_timeout: Duration::from_hours(1), ..quick() };
        Running::timed(workers.node_name(name), patient)
    };
    let other = node("another");
    let same = node(NODE);
    let jobs = all(db.store(), "note", JobState::Completed).await;
    assert!(jobs.iter().any(|job| job.attempts == 2), "what was at work counts as begun: {jobs:?}");
    same.stop().await;
    other.stop().await;
}

/// A queue whose one node was killed while it worked.
async fn killed_at_work() -> TestDatabase {
    let db = TestDatabase::create().await;
    for n in 1000..1010 {
        put(db.store(), &Note { n }, None).await;
    }
    let _helper = Helper::start(&db);
    let begun = Instant::now();
    while of_kind(db.store(), "note").await.iter().all(|job| job.attempts == 0) {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    db
}

/// A node in a process of its own; killed with the value.
struct Helper(Child);

impl Helper {
    fn start(db: &TestDatabase) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_worker_that_waits_to_be_killed", "--ignored", "--nocapture"])
            .env(HELPER, &db.logins().worker)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that other tests start and kill"]
async fn a_worker_that_waits_to_be_killed() {
    let Ok(url) = std::env::var(HELPER) else { return };
    let store = Store::connect(&url, 8, mc_store::testing::chains()).await.unwrap();
    let workers = WorkerPool::new(store)
        .node_name(NODE)
        .handle(|note: Note| async move {
            // Those are held until the process is killed.
            if note.n >= 1000 {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
        .handle(|_: Poison| async { std::process::abort() });
    ticking(workers).with_timing(quick()).run(CancellationToken::new()).await;
}
