//! Those who do the work: for each kind a worker of apalis's, watched, and what the queue needs besides.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use apalis::prelude::{
    BackendExt, Strategy, TaskId, WorkerBuilder, WorkerBuilderExt, WorkerContext,
};
use apalis_postgres::{Config, PostgresStorage};
use futures::FutureExt as _;
use futures::channel::mpsc;
use futures::future::BoxFuture;
use mc_store::Store;
use mc_store::jobs::{self, End, Library, Start, Swept};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::schedule::Schedule;
use crate::work::{Failure, Work};

/// After so many days what was done is forgotten, later than any schedule looks back; what is dead stays.
const KEPT_DAYS: i32 = 40;
/// A worker that ended is made again after this, and after twice as long each time that follows soon.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The library may be looking into the queue while a job comes, and then waits without having seen it. So it
/// is told once more, after any such look is over.
const ECHO: Duration = Duration::from_millis(25);
/// Signs of life that may be missed before the library itself takes a worker for dead: a year of them.
const NEVER: usize = 6_000_000;
/// No pause between two starts is longer.
const MAX_DELAY: Duration = Duration::from_hours(1);

/// How often, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Between two looks into the queue that nobody called for.
    pub look: Duration,
    /// Between two signs of life of a worker.
    pub heartbeat: Duration,
    /// A worker that gave none for so long is dead, and others take what it had.
    pub silence: Duration,
    /// Between two sweeps of what the dead left.
    pub sweep: Duration,
    /// What was at work in a process that died is begun again at different times within this, and within twice
    /// as much after each start: whatever ends the process soon does so alone.
    pub apart: Duration,
    /// For so long work may go on after it was told to stop. With a heartbeat less than the silence, or others
    /// begin it: a worker that stops gives no sign of life.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            sweep: Duration::from_secs(15),
            apart: Duration::from_secs(2),
            grace: Duration::from_secs(20),
        }
    }
}

/// The workers of one node.
pub struct Workers {
    store: Store,
    node: Option<String>,
    timing: Timing,
    kinds: Vec<Kind>,
    schedules: Vec<Schedule>,
}

type Kind = Box<dyn FnOnce(Arc<Node>, CancellationToken) -> BoxFuture<'static, ()> + Send>;

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("timing", &self.timing)
            .field("kinds", &self.kinds.len())
            .field("schedules", &self.schedules)
            .finish_non_exhaustive()
    }
}

impl Workers {
    /// Workers that do nothing yet, over connections that see every project.
    pub fn new(store: Store) -> Self {
        let timing = Timing::default();
        Self { store, node: None, timing, kinds: Vec::new(), schedules: Vec::new() }
    }

    /// The same in the name of a node that has one process at a time: what the one before held when it died is
    /// taken up at once.
    pub fn of_node(self, name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..self }
    }

    /// The same at another pace.
    pub fn timed(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// The same, doing work of a kind.
    pub fn with<W, F, Fut>(mut self, run: F) -> Self
    where
        W: Work,
        F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.kinds.push(Box::new(move |node, stop| Box::pin(keep_working(node, run, stop))));
        self
    }

    /// The same, asking for work by the clock.
    pub fn scheduled(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Works until `stop`; then lets what is at work end, gives back the rest and returns.
    pub async fn run(self, stop: CancellationToken) {
        if let Some(node) = &self.node {
            forget_former(&self.store, node).await;
        }
        let node = Arc::new(Node {
            name: process_name(self.node),
            library: jobs::queue(&self.store),
            store: self.store,
            timing: self.timing,
            bells: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        for kind in self.kinds {
            tasks.spawn(kind(Arc::clone(&node), stop.clone()));
        }
        for schedule in self.schedules {
            tasks.spawn(schedule.run(node.store.clone(), stop.clone()));
        }
        tasks.spawn(listen(Arc::clone(&node), stop.clone()));
        tasks.spawn(sweep(Arc::clone(&node), stop));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a part of the background work ended by a fault");
            }
        }
        node.library.close().await;
    }
}

/// What the workers of a node share.
struct Node {
    name: String,
    store: Store,
    /// What the library takes jobs off the queue with.
    library: Library,
    timing: Timing,
    bells: Mutex<HashMap<&'static str, Arc<Bell>>>,
}

impl Node {
    /// Wakes the workers of a kind, or all.
    fn wake(&self, kind: Option<&str>) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, bell) in bells.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == **of)) {
            bell.ring();
            bell.again.notify_one();
        }
    }
}

/// Wakes the workers of one kind.
struct Bell {
    woken: Mutex<mpsc::Sender<()>>,
    again: Notify,
}

impl Bell {
    fn ring(&self) {
        // One that is full wakes them already.
        let _ = self.woken.lock().unwrap_or_else(PoisonError::into_inner).try_send(());
    }

    /// Rings once more after each time.
    async fn echo(&self) -> ! {
        loop {
            self.again.notified().await;
            tokio::time::sleep(ECHO).await;
            self.ring();
        }
    }
}

/// Between the name of a node and what tells its processes apart.
const PROCESS: &str = ", process ";

/// One that no other process has, nor ever had.
fn process_name(node: Option<String>) -> String {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let node = node.unwrap_or_else(host);
    format!("{node}{PROCESS}{} {}", std::process::id(), Uuid::now_v7())
}

/// Has the first sweep free what the node's former processes held.
async fn forget_former(store: &Store, node: &str) {
    if let Err(error) = jobs::forget_workers(store, &format!("{node}{PROCESS}")).await {
        tracing::warn!(%error, "what this node left when it ended is free when it was silent for long");
    }
}

/// Does the work of a kind, by a new worker whenever the one before has failed.
async fn keep_working<W, F, Fut>(node: Arc<Node>, run: F, stop: CancellationToken)
where
    W: Work,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let (mut pause, mut number) = (FIRST_PAUSE, 0);
    while !stop.is_cancelled() {
        number += 1;
        let worker = format!("{} {} {number}", node.name, W::KIND);
        let begun = Instant::now();
        // A fault of the library is no reason to work no more.
        let working = AssertUnwindSafe(work_as(&worker, &node, run.clone(), &stop)).catch_unwind();
        let ended = working.await.unwrap_or_else(|_| Err("it panicked".to_owned()));
        if let Err(error) = jobs::release(&node.store, &worker).await {
            tracing::warn!(job.worker = worker, %error, "what a worker held is free when it was silent for long");
        }
        let Err(error) = ended else { continue };
        tracing::warn!(job.kind = W::KIND, error, "a worker ended; another takes its place");
        pause = if begun.elapsed() > MAX_PAUSE { FIRST_PAUSE } else { (pause * 2).min(MAX_PAUSE) };
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

/// Works under a name until `stop`, or until the queue can't be reached.
async fn work_as<W, F, Fut>(
    name: &str,
    node: &Arc<Node>,
    run: F,
    stop: &CancellationToken,
) -> Result<(), String>
where
    W: Work,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let timing = node.timing;
    let (sender, woken) = mpsc::channel(1);
    let bell = Arc::new(Bell { woken: Mutex::new(sender), again: Notify::new() });
    let bells = || node.bells.lock().unwrap_or_else(PoisonError::into_inner);
    bells().insert(W::KIND, Arc::clone(&bell));

    let config = Config::default()
        .queue(W::KIND)
        .batch_size(W::BATCH)
        .heartbeat_interval(timing.heartbeat)
        // `sweep` looks after the dead, and `begin` makes sure of a job before it runs and not beside it.
        .missed_heartbeats(NEVER)
        .lock_tasks(false)
        .persist_results(false);
    let strategy = Strategy::new().interval(timing.look).stream(woken);
    // Read in `begin`: for the library one that can't be read is the end of the worker.
    let queue = PostgresStorage::<Value>::new(&node.library).with_config(config);
    let worker = Arc::<str>::from(name);
    let context = WorkerContext::new(name);
    let service = {
        let node = Arc::clone(node);
        move |args: Value, id: TaskId| {
            begin::<W, F, Fut>(
                Arc::clone(&node),
                Arc::clone(&worker),
                id.to_string(),
                args,
                run.clone(),
            )
        }
    };
    let worker = WorkerBuilder::new(&context)
        .backend(queue.poll_with_strategy(strategy))
        .concurrency(W::AT_ONCE)
        .build(service);

    let mut working = std::pin::pin!(worker.run());
    tokio::select! {
        ended = &mut working => return ended.map_err(|error| error.to_string()),
        () = stop.cancelled() => {}
        never = bell.echo() => never,
    }
    if let Err(error) = context.stop() {
        tracing::debug!(job.worker = name, %error, "a worker had not begun yet");
        return Ok(());
    }
    let ended = tokio::time::timeout(timing.grace, working).await;
    ended
        .unwrap_or_else(|_| {
            tracing::info!(job.kind = W::KIND, "work was cut short; it is begun anew");
            Ok(())
        })
        .map_err(|error| error.to_string())
}

/// Begins a job, if the worker still has it, and writes down how that ended.
async fn begin<W, F, Fut>(node: Arc<Node>, worker: Arc<str>, id: String, args: Value, run: F)
where
    W: Work,
    F: Fn(W) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let Some(start) = insist(|| jobs::start(&node.store, &id, &worker)).await else {
        tracing::debug!(job.id = id, "another worker has it by now");
        return;
    };
    let ended = if start.number > start.most {
        Err(Failure::ForGood("the process died each time it was begun".to_owned()))
    } else {
        done(args, run).await
    };
    if ended == Err(Failure::Stopped) {
        // The worker ends as well, and gives back what it holds.
        return;
    }
    let failure = ended.err().map(|failure| failed::<W>(&id, start, &failure));
    let end = match &failure {
        None => End::Done,
        Some((reason, again_in)) => End::Failed { reason, again_in: *again_in },
    };
    if !insist(|| jobs::end(&node.store, &id, &worker, start, &end)).await {
        tracing::warn!(job.id = id, "another worker took a job for left that was not");
    }
}

/// Why a start failed, without secrets, and when the next one is, if there is one.
fn failed<W: Work>(id: &str, start: Start, failure: &Failure) -> (String, Option<Duration>) {
    let reason = mc_sanitizer::mask(&failure.to_string()).text.into_string();
    let is_last = matches!(failure, Failure::ForGood(_)) || start.number >= start.most;
    if is_last {
        tracing::error!(
            job.kind = W::KIND,
            job.id = id,
            reason,
            "a job was given up; see it with memory-copilot jobs show"
        );
        return (reason, None);
    }
    let pause = pause_after::<W>(start);
    let number = start.number;
    tracing::warn!(job.kind = W::KIND, job.id = id, start = number, ?pause, reason, "a job failed");
    (reason, Some(pause))
}

/// Does the work, in a task of its own: it may be busy, or panic, without the others, and ends with who waits
/// for it.
async fn done<W, F, Fut>(args: Value, run: F) -> Result<(), Failure>
where
    W: Work,
    F: Fn(W) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let work: W = serde_json::from_value(args)
        .map_err(|error| Failure::ForGood(format!("what it was told can't be read: {error}")))?;
    let task = AbortOnDropHandle::new(tokio::spawn(async move { run(work).await }));
    match tokio::time::timeout(W::TIME, task).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Err(Failure::ForNow("it panicked; the service's log says where".to_owned())),
        Err(_) => Err(Failure::ForNow(format!("it was not done after {} s", W::TIME.as_secs()))),
    }
}

/// Asks the database until it answers, or the worker ends: a job whose worker lives and has let go of it would
/// be nobody's.
async fn insist<T, Fut>(ask: impl Fn() -> Fut) -> T
where
    Fut: Future<Output = Result<T, mc_store::Error>>,
{
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => tracing::warn!(%error, "a job waits for the database"),
        }
        tokio::time::sleep(FIRST_PAUSE).await;
    }
}

/// Twice as long after each start, and up to a quarter more, so that what failed together does not come back
/// together.
fn pause_after<W: Work>(start: Start) -> Duration {
    let times = u32::try_from(start.number - 1).unwrap_or_default().min(16);
    let pause = W::PAUSE.saturating_mul(1 << times).min(MAX_DELAY);
    pause.mul_f64(rand::random_range(1.0..1.25))
}

/// Wakes the workers when jobs come. While nobody can be listened to they look by themselves.
async fn listen(node: Arc<Node>, stop: CancellationToken) {
    while let Some(ended) = stop.run_until_cancelled(be_told(&node)).await {
        let Err(error) = ended;
        tracing::warn!(%error, "nobody tells of new jobs; they are looked for");
        let _ = stop.run_until_cancelled(tokio::time::sleep(node.timing.look)).await;
    }
}

async fn be_told(node: &Node) -> Result<Infallible, mc_store::Error> {
    let mut inserted = jobs::listen(&node.store).await?;
    // Some may have come before.
    node.wake(None);
    loop {
        node.wake(inserted.next().await?.as_deref());
    }
}

/// Looks after what the queue leaves lying.
async fn sweep(node: Arc<Node>, stop: CancellationToken) {
    let timing = node.timing;
    let mut due = tokio::time::interval(timing.sweep);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(due.tick()).await.is_some() {
        match jobs::sweep(&node.store, timing.silence, timing.apart, KEPT_DAYS).await {
            Ok(swept) if swept == Swept::default() => {}
            Ok(Swept { freed, killed, pruned }) => {
                tracing::info!(freed, killed, pruned, "looked after the queue");
                if freed > 0 {
                    node.wake(None);
                }
            }
            Err(error) => tracing::warn!(%error, "the queue could not be looked after"),
        }
    }
}
