//! The work of one kind, by a worker of apalis.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apalis::prelude::{
    BackendExt, Strategy, TaskId, WorkerBuilder, WorkerBuilderExt, WorkerContext,
};
use apalis_postgres::{Config, PostgresStorage};
use futures::FutureExt as _;
use mc_store::jobs;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::executor::{execute, retry_forever};
use super::node::Node;
use crate::job::{BackgroundJob, JobError};

/// A worker that ended is made again after this, and after twice as long each time that follows soon.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Signs of life that may be missed before the library itself takes a worker for dead: a year of them.
const NEVER: usize = 6_000_000;

/// Does the work of a kind, by a new worker whenever the one before has failed.
pub(super) async fn supervise<W, F, Fut>(node: Arc<Node>, run: F, stop: CancellationToken)
where
    W: BackgroundJob,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    let (mut pause, mut number) = (FIRST_PAUSE, 0);
    while !stop.is_cancelled() {
        number += 1;
        let worker = format!("{} {} {number}", node.name, W::KIND);
        let begun = Instant::now();
        // A fault of the library is no reason to work no more.
        let working =
            AssertUnwindSafe(run_worker(&worker, &node, run.clone(), &stop)).catch_unwind();
        let ended = working.await.unwrap_or_else(|_| Err("it panicked".to_owned()));
        release(&node, &worker, &stop).await;
        let Err(error) = ended else { continue };
        tracing::warn!(job.kind = W::KIND, error, "a worker ended; another takes its place");
        pause = if begun.elapsed() > MAX_PAUSE { FIRST_PAUSE } else { (pause * 2).min(MAX_PAUSE) };
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

/// Gives back what a worker held that has ended: at once, or as soon as the database answers again.
async fn release(node: &Node, worker: &str, stop: &CancellationToken) {
    let Err(error) = jobs::release(&node.store, worker).await else { return };
    tracing::warn!(job.worker = worker, %error, "what a worker held waits for the database");
    let _ = stop.run_until_cancelled(retry_forever(|| jobs::release(&node.store, worker))).await;
}

/// Works under a name until `stop`, or until the queue can't be reached.
async fn run_worker<W, F, Fut>(
    name: &str,
    node: &Arc<Node>,
    run: F,
    stop: &CancellationToken,
) -> Result<(), String>
where
    W: BackgroundJob,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    let timing = node.timing;
    let (bell, woken) = node.bells.subscribe(W::KIND);
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
            let (node, worker, run) = (Arc::clone(&node), Arc::clone(&worker), run.clone());
            execute::<W, F, Fut>(node, worker, id.to_string(), args, run)
        }
    };
    let working = WorkerBuilder::new(&context)
        .backend(queue.poll_with_strategy(strategy))
        .concurrency(W::AT_ONCE)
        .build(service);

    let mut working = std::pin::pin!(working.run());
    tokio::select! {
        ended = &mut working => return ended.map_err(|error| error.to_string()),
        () = stop.cancelled() => {}
        never = bell.wake_again() => never,
    }
    if let Err(error) = context.stop() {
        tracing::debug!(job.worker = name, %error, "a worker had not begun yet");
        return Ok(());
    }
    tokio::time::timeout(timing.grace, working).await.map_or_else(
        |_| {
            tracing::info!(job.kind = W::KIND, "work was cut short; it is begun anew");
            Ok(())
        },
        |ended| ended.map_err(|error| error.to_string()),
    )
}
