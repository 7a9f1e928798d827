//! Runs one attempt of a job and stores its outcome.

use std::sync::Arc;
use std::time::Duration;

use mc_store::jobs::{self, JobAttempt, JobOutcome};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::job_kind::JobKind;
use super::node::Node;
use crate::job::JobError;

/// Delay before a failed query is repeated.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Longest delay between two attempts.
const BACKOFF_MAX: Duration = Duration::from_hours(1);

/// Starts an attempt of a job if the worker still owns it, and stores its outcome.
pub(super) async fn execute(
    node: Arc<Node>,
    worker: Arc<str>,
    kind: JobKind,
    id: String,
    args: Value,
) {
    let Some(start) = retry_forever(|| jobs::start(&node.store, &id, &worker)).await else {
        tracing::debug!(job.id = id, "another worker owns the job");
        return;
    };
    let ended = if start.number > start.max_attempts {
        Err(JobError::Permanent("the worker process died in every attempt".to_owned()))
    } else {
        run_with_timeout(&kind, args).await
    };
    if ended == Err(JobError::ShuttingDown) {
        // The worker ends as well, and releases its jobs.
        return;
    }
    let failure = ended.err().map(|failure| on_failure(&kind, &id, start, &failure));
    let end = match &failure {
        None => JobOutcome::Done,
        Some((reason, again_in)) => JobOutcome::Failed { reason, again_in: *again_in },
    };
    if !retry_forever(|| jobs::end(&node.store, &id, &worker, start, &end)).await {
        tracing::warn!(job.id = id, "another worker rescued a job that was still running");
    }
}

/// Logs a failed attempt; returns its masked reason and the delay before the next attempt, if there
/// is one.
fn on_failure(
    kind: &JobKind,
    id: &str,
    start: JobAttempt,
    failure: &JobError,
) -> (String, Option<Duration>) {
    let reason = mc_sanitizer::mask(&failure.to_string()).text.into_string();
    let is_last = matches!(failure, JobError::Permanent(_)) || start.number >= start.max_attempts;
    if is_last {
        tracing::error!(
            job.kind = kind.name,
            job.id = id,
            reason,
            "a job was discarded; see memory-copilot jobs show"
        );
        return (reason, None);
    }
    let pause = backoff(kind, start);
    let number = start.number;
    tracing::warn!(
        job.kind = kind.name,
        job.id = id,
        start = number,
        ?pause,
        reason,
        "an attempt of a job failed"
    );
    (reason, Some(pause))
}

/// Runs a job in a task of its own, so that one that blocks or panics does not affect others. The
/// task is aborted with its caller.
async fn run_with_timeout(kind: &JobKind, args: Value) -> Result<(), JobError> {
    let timeout = kind.settings.timeout;
    let task = AbortOnDropHandle::new(tokio::spawn(kind.run(args)));
    match tokio::time::timeout(timeout, task).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => {
            Err(JobError::Retryable("the job panicked; the service's log says where".to_owned()))
        }
        Err(_) => {
            Err(JobError::Retryable(format!("the job timed out after {} s", timeout.as_secs())))
        }
    }
}

/// Repeats a query until the database answers, or the worker ends: if a live worker dropped a job,
/// no node would rescue it.
pub(super) async fn retry_forever<T, Fut>(ask: impl Fn() -> Fut) -> T
where
    Fut: Future<Output = Result<T, mc_store::Error>>,
{
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => tracing::warn!(%error, "a job waits for the database"),
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Returns the delay before the next attempt: doubled after each, with up to a quarter of jitter,
/// so that jobs that failed together do not return together.
fn backoff(kind: &JobKind, start: JobAttempt) -> Duration {
    let times = u32::try_from(start.number - 1).unwrap_or_default().min(16);
    let pause = kind.backoff_base.saturating_mul(1 << times).min(BACKOFF_MAX);
    pause.mul_f64(rand::random_range(1.0..1.25))
}
