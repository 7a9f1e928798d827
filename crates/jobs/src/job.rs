//! Kinds of jobs, their failures, and how jobs are enqueued.

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
    /// Default for how many run at once on each node.
    const CONCURRENCY: usize;
    /// Attempts before a job is discarded.
    const MAX_ATTEMPTS: u16 = 6;
    /// Jobs that a worker fetches at a time. More than one suits short jobs only: a fetched job
    /// waits for those before it, and no other node can run it meanwhile.
    const FETCH_BATCH: usize = 1;
    /// Default for how long an attempt may take before it fails.
    const TIMEOUT: Duration;
    /// Delay before the second attempt; each later delay is twice as long.
    const BACKOFF_BASE: Duration = Duration::from_secs(5);

    /// What the job needs besides its arguments.
    type Context: Clone + Send + Sync + 'static;

    /// Runs one attempt.
    fn run(self, context: &Self::Context) -> impl Future<Output = Result<(), JobError>> + Send;
}

/// Why an attempt failed. The queue stores the reason, masked.
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
pub struct Enqueue<'a, W> {
    work: &'a W,
    key: Option<&'a str>,
    delay: Duration,
}

impl<'a, W: BackgroundJob> Enqueue<'a, W> {
    /// Enqueues a job that may start at once.
    pub fn new(work: &'a W) -> Self {
        Self { work, key: None, delay: Duration::ZERO }
    }

    /// Skips the job if one of its kind was enqueued with this key before.
    pub fn unique(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Delays the first attempt.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Enqueues the job in the transaction; returns `false` if its key was used before.
    pub async fn insert(self, tx: &mut Tx) -> Result<bool, Error> {
        let args = serde_json::to_value(self.work)
            .map_err(|error| Error::Unreadable(format!("{}: {error}", W::NAME)))?;
        let (key, delay, starts) = (self.key, self.delay, i32::from(W::MAX_ATTEMPTS));
        let asked = jobs::enqueue(
            tx,
            &NewJob { kind: W::NAME, unique_key: key, args, delay, max_attempts: starts },
        )
        .await?;
        Ok(asked.is_some())
    }
}
