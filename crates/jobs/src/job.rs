//! What is to be done, and how it can fail.

use std::time::Duration;

use mc_domain::Classified;
use mc_store::jobs::{self, NewJob};
use mc_store::{Error, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of background work. The value is what a job is told: it is kept in the queue as JSON, for people
/// to look at, too, so it holds ids and no secrets.
pub trait BackgroundJob: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name, the same for ever: jobs that wait are found by it.
    const KIND: &'static str;
    /// How many are at work at once, on each node.
    const AT_ONCE: usize;
    /// How often one is begun before it is given up.
    const STARTS: u16 = 6;
    /// How many a worker takes off the queue at a time. More than one is for jobs that are over in a moment: who
    /// waits in a worker's hands waits for what that does, and gives no sign of life meanwhile.
    const BATCH: usize = 1;
    /// How long one may take; then it has failed.
    const TIME: Duration;
    /// How long the second start waits for after the first has failed; each later one twice as long.
    const PAUSE: Duration = Duration::from_secs(5);
}

/// Why a job did not do its work. The reason is kept, masked, for whoever looks at the queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// It may be done later.
    #[error("{0}")]
    ForNow(String),
    /// It will never be done as it is: nobody need try again.
    #[error("{0}")]
    ForGood(String),
    /// The node stops: another takes it up, and this start does not count.
    #[error("the node stops")]
    Stopped,
}

impl JobError {
    /// What is away now may come back, and a fault of the service may be mended; what was asked for wrongly,
    /// or is not there, stays so.
    pub fn classify(error: &impl Classified) -> Self {
        let (kind, reason) = (error.kind(), error.to_string());
        if kind.is_transient() || kind == mc_domain::ErrorKind::Internal {
            Self::ForNow(reason)
        } else {
            Self::ForGood(reason)
        }
    }
}

/// Work that is asked for.
#[derive(Debug)]
pub struct Enqueue<'a, W> {
    work: &'a W,
    key: Option<&'a str>,
    delay: Duration,
}

impl<'a, W: BackgroundJob> Enqueue<'a, W> {
    /// To be done as soon as a worker is free.
    pub fn new(work: &'a W) -> Self {
        Self { work, key: None, delay: Duration::ZERO }
    }

    /// The same, unless work of its kind was asked for under this key before.
    pub fn unique(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same, not before so much time has passed.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Puts it into the queue with whatever else the transaction does; `false` where the same was asked for
    /// before.
    pub async fn insert(self, tx: &mut Tx) -> Result<bool, Error> {
        let args = serde_json::to_value(self.work)
            .map_err(|error| Error::Unreadable(format!("{}: {error}", W::KIND)))?;
        let (key, delay, starts) = (self.key, self.delay, i32::from(W::STARTS));
        let asked = jobs::enqueue(
            tx,
            &NewJob { kind: W::KIND, unique_key: key, args, delay, max_attempts: starts },
        )
        .await?;
        Ok(asked.is_some())
    }
}
