//! Job kinds; runs one attempt of a job and stores its outcome.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_store::jobs::{self, JobAttempt, JobOutcome};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::node::Node;
use crate::job::{BackgroundJob, JobError, backoff};
use crate::settings::{JobSettings, KindSettings};

/// Delay before a failed query is repeated.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Longest delay between two attempts.
const BACKOFF_MAX: Duration = Duration::from_hours(1);

type Handler = dyn Fn(Value) -> BoxFuture<'static, Result<(), JobError>> + Send + Sync;

/// A registered job kind with its type erased, so that the worker is compiled once for all kinds.
#[derive(Clone)]
pub(super) struct JobKind {
    pub(super) name: &'static str,
    pub(super) fetch_batch: usize,
    pub(super) backoff_base: Duration,
    pub(super) settings: KindSettings,
    handler: Arc<Handler>,
}

impl JobKind {
    /// Creates a kind with the dependencies of its jobs.
    pub(super) fn new<J: BackgroundJob>(settings: &JobSettings, context: J::Context) -> Self {
        let handler = move |args| -> BoxFuture<'static, _> {
            let context = context.clone();
            Box::pin(async move {
                let job: J = serde_json::from_value(args).map_err(|error| {
                    JobError::Permanent(format!("the job's arguments can't be read: {error}"))
                })?;
                job.run(&context).await
            })
        };
        Self {
            name: J::NAME,
            fetch_batch: J::FETCH_BATCH,
            backoff_base: J::BACKOFF_BASE,
            settings: settings.kind::<J>(),
            handler: Arc::new(handler),
        }
    }

    /// Runs one attempt of a job with these arguments.
    pub(super) fn run(&self, args: Value) -> BoxFuture<'static, Result<(), JobError>> {
        (self.handler)(args)
    }
}

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

/// Logs a failed attempt; returns its masked reason and the delay before the next, if any.
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
    let doublings = u32::try_from(attempt.number - 1).unwrap_or_default().min(16);
    let delay = backoff(kind.backoff_base, doublings, BACKOFF_MAX);
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

/// Runs a job in a task of its own, which may block or panic and is aborted with its caller.
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

/// Repeats a query until it succeeds: no node rescues a job that a live worker dropped.
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
