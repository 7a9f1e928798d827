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
    let Some(attempt) = retry_forever(|| jobs::start(&node.store, &id, &worker)).await else {
        tracing::debug!(job.id = id, "another worker owns the job");
        return;
    };
    let result = if attempt.number > attempt.max_attempts {
        Err(JobError::Permanent("the worker process died in every attempt".to_owned()))
    } else {
        run_with_timeout(&kind, args).await
    };
    if result == Err(JobError::ShuttingDown) {
        // The worker ends as well, and releases its jobs.
        return;
    }
    let failure = result.err().map(|error| on_failure(&kind, &id, attempt, &error));
    let outcome = match &failure {
        None => JobOutcome::Done,
        Some((reason, again_in)) => JobOutcome::Failed { reason, again_in: *again_in },
    };
    if !retry_forever(|| jobs::end(&node.store, &id, &worker, attempt, &outcome)).await {
        tracing::warn!(job.id = id, "another worker rescued the job while it was running");
    }
}

/// Logs a failed attempt; returns its masked reason and the delay before the next attempt, if there
/// is one.
fn on_failure(
    kind: &JobKind,
    id: &str,
    attempt: JobAttempt,
    error: &JobError,
) -> (String, Option<Duration>) {
    let reason = mc_sanitizer::mask(&error.to_string()).text.into_string();
    let is_last = matches!(error, JobError::Permanent(_)) || attempt.number >= attempt.max_attempts;
    if is_last {
        tracing::error!(
            job.kind = kind.name,
            job.id = id,
            reason,
            "job discarded; see memory-copilot jobs show"
        );
        return (reason, None);
    }
    let delay = backoff(kind, attempt);
    tracing::warn!(
        job.kind = kind.name,
        job.id = id,
        job.attempt = attempt.number,
        retry_in = ?delay,
        reason,
        "job attempt failed"
    );
    (reason, Some(delay))
}

/// Runs a job in a task of its own, so that one that blocks or panics does not affect others. The
/// task is aborted with its caller.
async fn run_with_timeout(kind: &JobKind, args: Value) -> Result<(), JobError> {
    let timeout = kind.settings.timeout;
    let task = AbortOnDropHandle::new(tokio::spawn(kind.run(args)));
    match tokio::time::timeout(timeout, task).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => {
            Err(JobError::Retryable("the job panicked; the service's log says where".to_owned()))
        }
        Err(_) => {
            Err(JobError::Retryable(format!("the job timed out after {} s", timeout.as_secs())))
        }
    }
}

/// Repeats a query until it succeeds or the worker ends. No node would rescue a job that a live
/// worker dropped.
pub(super) async fn retry_forever<T, Fut>(query: impl Fn() -> Fut) -> T
where
    Fut: Future<Output = Result<T, mc_store::Error>>,
{
    loop {
        match query().await {
            Ok(value) => return value,
            Err(error) => tracing::warn!(%error, "job query failed; retrying"),
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Returns the delay before the next attempt: doubled after each, with up to a quarter of jitter,
/// so that jobs that failed together do not return together.
fn backoff(kind: &JobKind, attempt: JobAttempt) -> Duration {
    let doublings = u32::try_from(attempt.number - 1).unwrap_or_default().min(16);
    let delay = kind.backoff_base.saturating_mul(1 << doublings).min(BACKOFF_MAX);
    delay.mul_f64(rand::random_range(1.0..1.25))
}
