//! The trait of job kinds, the errors of attempts, and the insertion of jobs.

use std::time::Duration;

use mc_domain::Classified;
use mc_store::jobs::{self, NewJob};
use mc_store::{Error, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;

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

impl JobError {
    /// Returns a retryable error for transient and internal errors, else a permanent one.
    pub fn classify(error: &impl Classified) -> Self {
        let (kind, reason) = (error.kind(), error.to_string());
        if kind.is_transient() || kind == mc_domain::ErrorKind::Internal {
            Self::Retryable(reason)
        } else {
            Self::Permanent(reason)
        }
    }
}

/// A job to enqueue.
#[derive(Debug)]
pub struct Enqueue<'a, J> {
    job: &'a J,
    unique_key: Option<&'a str>,
    delay: Duration,
}

impl<'a, J: BackgroundJob> Enqueue<'a, J> {
    /// Enqueues a job that may start at once.
    pub fn new(job: &'a J) -> Self {
        Self { job, unique_key: None, delay: Duration::ZERO }
    }

    /// Skips the job if one of its kind was enqueued with this key before.
    pub fn unique(self, key: &'a str) -> Self {
        Self { unique_key: Some(key), ..self }
    }

    /// Delays the first attempt.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Enqueues the job in the transaction; returns `false` if its key was used before.
    pub async fn insert(self, tx: &mut Tx) -> Result<bool, Error> {
        let args = serde_json::to_value(self.job)
            .map_err(|error| Error::UnknownStoredValue(format!("{}: {error}", J::NAME)))?;
        let job = NewJob {
            kind: J::NAME,
            unique_key: self.unique_key,
            args,
            delay: self.delay,
            max_attempts: i32::from(J::MAX_ATTEMPTS),
        };
        Ok(jobs::enqueue(tx, &job).await?.is_some())
    }
}

/// Maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// Returns the message of an error, masked and truncated, for storage outside the queue.
pub(crate) fn stored_reason(error: &impl std::error::Error) -> String {
    mc_sanitizer::mask(&error.to_string()).text.as_str().chars().take(MAX_REASON_CHARS).collect()
}
