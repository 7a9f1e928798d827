//! The apalis worker of one job kind.

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
use super::job_kind::JobKind;
use super::node::Node;

/// Delay before a failed worker is replaced; doubles with each failure that follows soon.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Missed heartbeats until the library itself takes a worker for dead: those of a year.
const NEVER: usize = 6_000_000;

/// Runs jobs of a kind until `stop`, with a new worker whenever one has failed.
pub(super) async fn supervise(node: Arc<Node>, kind: JobKind, stop: CancellationToken) {
    let (mut pause, mut number) = (BACKOFF_BASE, 0);
    while !stop.is_cancelled() {
        number += 1;
        let worker = format!("{} {} {number}", node.name, kind.name);
        let begun = Instant::now();
        // A panic in the library must not end the kind.
        let working = AssertUnwindSafe(run_worker(&worker, &node, &kind, &stop)).catch_unwind();
        let ended = working.await.unwrap_or_else(|_| Err("it panicked".to_owned()));
        release(&node, &worker, &stop).await;
        let Err(error) = ended else { continue };
        tracing::warn!(job.kind = kind.name, error, "a worker failed; starting another");
        pause =
            if begun.elapsed() > BACKOFF_MAX { BACKOFF_BASE } else { (pause * 2).min(BACKOFF_MAX) };
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

/// Releases the jobs of a worker that ended: at once, or as soon as the database answers again.
async fn release(node: &Node, worker: &str, stop: &CancellationToken) {
    let Err(error) = jobs::release(&node.store, worker).await else { return };
    tracing::warn!(job.worker = worker, %error,
                   "releasing the jobs of a worker waits for the database");
    let _ = stop.run_until_cancelled(retry_forever(|| jobs::release(&node.store, worker))).await;
}

/// Runs a worker until `stop`, or until the queue can't be reached.
async fn run_worker(
    name: &str,
    node: &Arc<Node>,
    kind: &JobKind,
    stop: &CancellationToken,
) -> Result<(), String> {
    let timing = node.timing;
    let (wakeup, woken) = node.wakeups.subscribe(kind.name);
    let config = Config::default()
        .queue(kind.name)
        .batch_size(kind.fetch_batch)
        .heartbeat_interval(timing.heartbeat)
        // `node::maintain` rescues jobs, and `execute` locks a job before it runs.
        .missed_heartbeats(NEVER)
        .lock_tasks(false)
        .persist_results(false);
    let strategy = Strategy::new().interval(timing.poll_interval).stream(woken);
    // Untyped: arguments that the library can't read would end the worker.
    let queue = PostgresStorage::<Value>::new(&node.library).with_config(config);
    let worker = Arc::<str>::from(name);
    let context = WorkerContext::new(name);
    let service = {
        let (node, kind) = (Arc::clone(node), kind.clone());
        move |args: Value, id: TaskId| {
            let (node, worker, kind) = (Arc::clone(&node), Arc::clone(&worker), kind.clone());
            execute(node, worker, kind, id.to_string(), args)
        }
    };
    let working = WorkerBuilder::new(&context)
        .backend(queue.poll_with_strategy(strategy))
        .concurrency(kind.settings.concurrency)
        .build(service);

    let mut working = std::pin::pin!(working.run());
    tokio::select! {
        ended = &mut working => return ended.map_err(|error| error.to_string()),
        () = stop.cancelled() => {}
        never = wakeup.wake_again() => never,
    }
    if let Err(error) = context.stop() {
        tracing::debug!(job.worker = name, %error, "a worker had not started yet");
        return Ok(());
    }
    tokio::time::timeout(timing.grace, working).await.map_or_else(
        |_| {
            tracing::info!(
                job.kind = kind.name,
                "shutdown interrupted jobs; they return to the queue"
            );
            Ok(())
        },
        |ended| ended.map_err(|error| error.to_string()),
    )
}
