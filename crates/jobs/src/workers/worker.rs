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

use super::executor::{JobKind, execute, retry_forever};
use super::node::Node;

/// Delay before a failed worker is replaced; doubles with each failure that follows soon.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Missed heartbeats after which apalis itself considers a worker dead: a year of them.
const NEVER: usize = 6_000_000;

/// Runs jobs of a kind until `stop`, and replaces a worker that fails.
pub(super) async fn supervise(node: Arc<Node>, kind: JobKind, stop: CancellationToken) {
    let (mut delay, mut number) = (BACKOFF_BASE, 0);
    while !stop.is_cancelled() {
        number += 1;
        let worker = format!("{} {} {number}", node.name, kind.name);
        let started = Instant::now();
        // A panic in apalis must not stop the kind.
        let running = AssertUnwindSafe(run_worker(&worker, &node, &kind, &stop)).catch_unwind();
        let result = running.await.unwrap_or_else(|_| Err("the worker panicked".to_owned()));
        release(&node, &worker, &stop).await;
        let Err(error) = result else { continue };
        tracing::warn!(job.kind = kind.name, error, "worker failed; replacing it");
        let was_stable = started.elapsed() > BACKOFF_MAX;
        delay = if was_stable { BACKOFF_BASE } else { (delay * 2).min(BACKOFF_MAX) };
        let _ = stop.run_until_cancelled(tokio::time::sleep(delay)).await;
    }
}

/// Releases the jobs of a worker that ended, and retries until the database responds.
async fn release(node: &Node, worker: &str, stop: &CancellationToken) {
    let Err(error) = jobs::release(&node.store, worker).await else { return };
    tracing::warn!(job.worker = worker, %error, "jobs of a worker can't be released; retrying");
    let _ = stop.run_until_cancelled(retry_forever(|| jobs::release(&node.store, worker))).await;
}

/// Runs a worker until `stop`, or until the queue is unavailable.
async fn run_worker(
    name: &str,
    node: &Arc<Node>,
    kind: &JobKind,
    stop: &CancellationToken,
) -> Result<(), String> {
    let timing = node.timing;
    let (wakeup, wakeups) = node.wakeups.subscribe(kind.name);
    let config = Config::default()
        .queue(kind.name)
        .batch_size(kind.fetch_batch)
        .heartbeat_interval(timing.heartbeat)
        // `node::maintain` rescues jobs, and `execute` locks a job before it runs.
        .missed_heartbeats(NEVER)
        .lock_tasks(false)
        .persist_results(false);
    let strategy = Strategy::new().interval(timing.poll_interval).stream(wakeups);
    // Untyped, because arguments that apalis can't parse would end the worker.
    let queue = PostgresStorage::<Value>::new(&node.apalis).with_config(config);
    let worker = Arc::<str>::from(name);
    let context = WorkerContext::new(name);
    let service = {
        let (node, kind) = (Arc::clone(node), kind.clone());
        move |args: Value, id: TaskId| {
            let (node, worker, kind) = (Arc::clone(&node), Arc::clone(&worker), kind.clone());
            execute(node, worker, kind, id.to_string(), args)
        }
    };
    let runner = WorkerBuilder::new(&context)
        .backend(queue.poll_with_strategy(strategy))
        .concurrency(kind.settings.concurrency)
        .build(service);

    let mut running = std::pin::pin!(runner.run());
    tokio::select! {
        result = &mut running => return result.map_err(|error| error.to_string()),
        () = stop.cancelled() => {}
        never = wakeup.wake_again() => never,
    }
    if let Err(error) = context.stop() {
        tracing::debug!(job.worker = name, %error, "worker had not started yet");
        return Ok(());
    }
    tokio::time::timeout(timing.grace, running).await.map_or_else(
        |_| {
            tracing::info!(
                job.kind = kind.name,
                "shutdown interrupted jobs; they return to the queue"
            );
            Ok(())
        },
        |result| result.map_err(|error| error.to_string()),
    )
}
