//! One job: begun if the worker still has it, done, and how that ended written down.

use std::sync::Arc;
use std::time::Duration;

use mc_store::jobs::{self, JobAttempt, JobOutcome};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::node::Node;
use crate::job::{BackgroundJob, JobError};

/// The database is asked once more after this.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// No pause between two starts is longer.
const MAX_DELAY: Duration = Duration::from_hours(1);

/// Begins a job, if the worker still has it, and writes down how that ended.
pub(super) async fn execute<W, F, Fut>(
    node: Arc<Node>,
    worker: Arc<str>,
    id: String,
    args: Value,
    run: F,
) where
    W: BackgroundJob,
    F: Fn(W) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    let Some(start) = retry_forever(|| jobs::start(&node.store, &id, &worker)).await else {
        tracing::debug!(job.id = id, "another worker has it by now");
        return;
    };
    let ended = if start.number > start.max_attempts {
        Err(JobError::ForGood("the process died each time it was begun".to_owned()))
    } else {
        run_with_timeout(args, run).await
    };
    if ended == Err(JobError::Stopped) {
        // The worker ends as well, and gives back what it holds.
        return;
    }
    let failure = ended.err().map(|failure| on_failure::<W>(&id, start, &failure));
    let end = match &failure {
        None => JobOutcome::Done,
        Some((reason, again_in)) => JobOutcome::Failed { reason, again_in: *again_in },
    };
    if !retry_forever(|| jobs::end(&node.store, &id, &worker, start, &end)).await {
        tracing::warn!(job.id = id, "another worker took a job for left that was not");
    }
}

/// Why a start failed, without secrets, and when the next one is, if there is one.
fn on_failure<W: BackgroundJob>(
    id: &str,
    start: JobAttempt,
    failure: &JobError,
) -> (String, Option<Duration>) {
    let reason = mc_sanitizer::mask(&failure.to_string()).text.into_string();
    let is_last = matches!(failure, JobError::ForGood(_)) || start.number >= start.max_attempts;
    if is_last {
        tracing::error!(
            job.kind = W::KIND,
            job.id = id,
            reason,
            "a job was given up; see it with memory-copilot jobs show"
        );
        return (reason, None);
    }
    let pause = backoff::<W>(start);
    let number = start.number;
    tracing::warn!(job.kind = W::KIND, job.id = id, start = number, ?pause, reason, "a job failed");
    (reason, Some(pause))
}

/// Does the work, in a task of its own: it may be busy, or panic, without the others, and ends with who waits
/// for it.
async fn run_with_timeout<W, F, Fut>(args: Value, run: F) -> Result<(), JobError>
where
    W: BackgroundJob,
    F: Fn(W) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    let work: W = serde_json::from_value(args)
        .map_err(|error| JobError::ForGood(format!("what it was told can't be read: {error}")))?;
    let task = AbortOnDropHandle::new(tokio::spawn(async move { run(work).await }));
    match tokio::time::timeout(W::TIME, task).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Err(JobError::ForNow("it panicked; the service's log says where".to_owned())),
        Err(_) => Err(JobError::ForNow(format!("it was not done after {} s", W::TIME.as_secs()))),
    }
}

/// Asks the database until it answers, or the worker ends: a job whose worker lives and has let go of it would
/// be nobody's.
pub(super) async fn retry_forever<T, Fut>(ask: impl Fn() -> Fut) -> T
where
    Fut: Future<Output = Result<T, mc_store::Error>>,
{
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => tracing::warn!(%error, "a job waits for the database"),
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Twice as long after each start, and up to a quarter more, so that what failed together does not come back
/// together.
fn backoff<W: BackgroundJob>(start: JobAttempt) -> Duration {
    let times = u32::try_from(start.number - 1).unwrap_or_default().min(16);
    let pause = W::PAUSE.saturating_mul(1 << times).min(MAX_DELAY);
    pause.mul_f64(rand::random_range(1.0..1.25))
}
