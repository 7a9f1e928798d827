//! The trait of job kinds, the errors of attempts, and the insertion of jobs.

use std::fmt::Display;
use std::time::Duration;

use mc_domain::{AuditAction, Classified, ErrorKind, ProjectId};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::jobs::{self, NewJob};
use mc_store::{Error, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of background job. The value is the job's arguments, stored in the queue as JSON.
/// Administrators can read them, so they hold ids and no secrets.
pub trait BackgroundJob: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the kind. Stored jobs are found by it, so it never changes.
    const NAME: &'static str;
    /// Default concurrency on each node.
    const CONCURRENCY: usize;
    /// Attempts before a job is discarded.
    const MAX_ATTEMPTS: u16 = 6;
    /// Jobs that a worker fetches at a time. More than one suits short jobs only: a fetched job
    /// waits for those before it, and no other node can run it meanwhile.
    const FETCH_BATCH: usize = 1;
    /// Default timeout of an attempt.
    const TIMEOUT: Duration;
    /// Delay before the second attempt; each later delay is twice as long.
    const BACKOFF_BASE: Duration = Duration::from_secs(5);

    /// Dependencies of the job, besides its arguments.
    type Context: Clone + Send + Sync + 'static;

    /// Runs one attempt.
    fn run(self, context: &Self::Context) -> impl Future<Output = Result<(), JobError>> + Send;
}

/// The error of an attempt. The queue stores its message, masked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// A later attempt may succeed.
    #[error("{0}")]
    Retryable(String),
    /// No attempt can succeed: the job is discarded.
    #[error("{0}")]
    Permanent(String),
    /// The node shuts down: the job returns to the queue, and this attempt does not count.
    #[error("the node shuts down")]
    ShuttingDown,
}

impl<E: Classified> From<E> for JobError {
    /// Returns a retryable error for transient and internal errors, else a permanent one.
    fn from(error: E) -> Self {
        let (kind, reason) = (error.kind(), error.to_string());
        if kind.is_transient() || kind == ErrorKind::Internal {
            Self::Retryable(reason)
        } else {
            Self::Permanent(reason)
        }
    }
}

/// Enqueues a job; returns `false` if one of its kind was enqueued with this key before.
pub async fn enqueue<J: BackgroundJob>(
    tx: &mut Tx,
    job: &J,
    unique_key: Option<&str>,
) -> Result<bool, Error> {
    let args = serde_json::to_value(job)
        .map_err(|error| Error::UnknownStoredValue(format!("{}: {error}", J::NAME)))?;
    let (delay, max_attempts) = (Duration::ZERO, i32::from(J::MAX_ATTEMPTS));
    let job = NewJob { kind: J::NAME, unique_key, args, delay, max_attempts };
    Ok(jobs::enqueue(tx, &job).await?.is_some())
}

/// Records an event of a job in the audit of a project.
pub(crate) fn record_event(
    tx: &mut Tx,
    project: ProjectId,
    action: AuditAction,
    target: impl Display,
    details: Value,
) {
    let event = NewEvent::new(action, target).with(details);
    audit::add(tx, Chain::Project(project), None, &[event]);
}

/// Returns the delay before the next attempt: doubled after each failure, with up to a quarter of
/// jitter, so that work that failed together does not return together.
pub(crate) fn backoff(base: Duration, doublings: u32, max: Duration) -> Duration {
    let delay = base.saturating_mul(1 << doublings).min(max);
    delay.mul_f64(rand::random_range(1.0..1.25))
}

/// Maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// Returns the message of an error, masked and truncated, for storage outside the queue.
pub(crate) fn stored_reason(error: &impl std::error::Error) -> String {
    mc_sanitizer::mask(&error.to_string()).text.as_str().chars().take(MAX_REASON_CHARS).collect()
}
