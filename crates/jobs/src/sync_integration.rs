//! The job `sync_integration`: reads a provider's changes for one integration, page by page. Each
//! page is stored in one transaction with the position of the next one. A crashed sync resumes at
//! its stored position. Of two concurrent syncs, one sees that the position moved, and stops.

mod issues;
mod pages;
mod reconcile;
mod refs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_connectors::traits::{Cursor, Page};
use mc_connectors::{ConnectorRegistry, PLAIN_GIT, client};
use mc_crypto::Encryptor;
use mc_domain::{Capability, Classified, IntegrationId};
use mc_files::ProtectedDirectories;
use mc_git::AllowedPrivateHost;
use mc_store::integrations::{self, SyncTarget};
use mc_store::{Store, Tx};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::reconcile::Reconciliation;
use crate::JobContext;
use crate::job::{BackgroundJob, JobError, backoff, stored_reason};

/// A sync that takes longer ends after its page, and a new job continues it.
const TIME_SLICE: Duration = Duration::from_mins(5);
/// Longest delay after failures.
const BACKOFF_MAX: Duration = Duration::from_hours(24);

/// Runs one sync of an integration.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncIntegration {
    id: IntegrationId,
}

impl BackgroundJob for SyncIntegration {
    const NAME: &'static str = integrations::JOB;
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = integrations::JOB_ATTEMPTS;
    const TIMEOUT: Duration = integrations::SYNC_TIMEOUT;

    type Context = JobContext;

    /// Runs one sync. Errors are stored on the integration; only a lost database fails the job.
    async fn run(self, JobContext { store, sync, .. }: &JobContext) -> Result<(), JobError> {
        let Some(target) = integrations::start_sync(store, self.id).await? else { return Ok(()) };
        let session = SyncSession {
            store,
            encryptor: &sync.encryptor,
            target: &target,
            started: Instant::now(),
        };
        let stored = match session.run(sync).await {
            Ok(SyncOutcome::Completed) => integrations::finish_sync(store, target.id).await,
            Ok(SyncOutcome::Incomplete) => enqueue_next(store, &target).await,
            Err(SyncError::Overtaken) => Ok(()),
            Err(SyncError::Store(error)) if error.kind().is_transient() => Err(error),
            // Another version of the service has stored the position.
            Err(SyncError::Provider(client::Error::InvalidCursor(_))) => {
                restart(store, &target).await
            }
            Err(SyncError::Provider(client::Error::RateLimited { retry_at, .. })) => {
                let delay = (retry_at - Utc::now()).to_std().unwrap_or_default().min(BACKOFF_MAX);
                integrations::reschedule(store, target.id, None, delay).await
            }
            Err(error) => fail(store, &target, &error).await,
        };
        Ok(stored?)
    }
}

/// Dependencies of jobs that send requests to providers; cheap to clone.
#[derive(Debug, Clone)]
pub struct SyncContext {
    /// The connectors that the operator has configured.
    pub connectors: Arc<ConnectorRegistry>,
    /// Encrypts quarantine items.
    pub encryptor: Arc<Encryptor>,
    /// Private hosts that git may access for every project.
    pub allowed_private_hosts: Arc<[AllowedPrivateHost]>,
    /// Directories that are never indexed.
    pub protected: ProtectedDirectories,
}

/// One sync while it runs.
struct SyncSession<'a> {
    store: &'a Store,
    encryptor: &'a Encryptor,
    target: &'a SyncTarget,
    started: Instant,
}

/// How a sync ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncOutcome {
    /// All changes are stored.
    Completed,
    /// The time slice ended before the last page.
    Incomplete,
}

/// The position of a sync, and its stored form, by which the database detects another worker.
struct Position<T> {
    state: T,
    stored: Option<Value>,
}

impl<T: DeserializeOwned + Default> Position<T> {
    /// Parses the stored position; one of another version of the service becomes the beginning.
    fn load(target: &SyncTarget) -> Self {
        let stored = target.sync_state.clone();
        let state = stored.as_ref().and_then(|value| T::deserialize(value).ok());
        Self { state: state.unwrap_or_default(), stored }
    }
}

/// The state of a sync of issues or pages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SyncState {
    /// Where the next page begins.
    cursor: Cursor,
    /// Whether the pages before the cursor were requested with comments.
    #[serde(default)]
    include_comments: bool,
    /// The reconciliation, while one is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<Reconciliation>,
}

#[derive(Debug, thiserror::Error)]
enum SyncError {
    /// Another worker has moved the position, or the integration is paused or deleted.
    #[error("another worker has moved the position of the sync")]
    Overtaken,
    #[error(transparent)]
    Provider(#[from] client::Error),
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    #[error(transparent)]
    Git(#[from] mc_git::Error),
    #[error(transparent)]
    Fingerprint(#[from] mc_indexer::Error),
    #[error("{0}")]
    Other(String),
}

impl SyncSession<'_> {
    async fn run(&self, context: &SyncContext) -> Result<SyncOutcome, SyncError> {
        let SyncTarget { connector, key, capability, .. } = self.target;
        if connector == PLAIN_GIT {
            return self.sync_plain_git_refs(context).await;
        }
        let Some(connector) = context.connectors.find(connector, key) else {
            return Err(SyncError::Other(format!(
                "there is no connector {connector} that {key} may use; ask the operator to \
                 configure it, or delete the integration"
            )));
        };
        match capability {
            Capability::Issues => self.sync_issues(connector).await,
            Capability::Pages => self.sync_pages(connector).await,
            Capability::Refs => self.sync_refs(connector).await,
        }
    }

    /// Counts a page that was read, and the items imported from it.
    async fn count_items(&self, tx: &mut Tx, items: usize) -> Result<(), SyncError> {
        let items = i64::try_from(items).unwrap_or(i64::MAX);
        Ok(integrations::count_items(tx, self.target.id, items).await?)
    }

    /// Moves the position in the transaction. Fails if another worker has moved it.
    async fn advance<T: Serialize>(
        &self,
        tx: &mut Tx,
        position: &mut Position<T>,
        next: T,
    ) -> Result<(), SyncError> {
        let stored = serde_json::to_value(&next)
            .map_err(|error| SyncError::Other(format!("position can't be serialized: {error}")))?;
        let before = position.stored.as_ref();
        if !integrations::advance(tx, self.target.id, before, &stored).await? {
            return Err(SyncError::Overtaken);
        }
        *position = Position { state: next, stored: Some(stored) };
        Ok(())
    }

    fn is_time_slice_over(&self) -> bool {
        self.started.elapsed() > TIME_SLICE
    }
}

/// Rejects a page after which the list would continue where the page began.
fn check_progress<T>(page: &Page<T>, from: &Cursor) -> Result<(), SyncError> {
    if page.is_last || page.next != *from {
        return Ok(());
    }
    Err(SyncError::Other(
        "the provider returns the same page again and again; ask its operator for the reason"
            .to_owned(),
    ))
}

/// Enqueues a job for the rest of a sync.
async fn enqueue_next(store: &Store, target: &SyncTarget) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    integrations::request_sync(&mut tx, target.project, target.id).await?;
    tx.commit().await
}

/// Resets the position of a sync, and enqueues a job that starts at the beginning.
async fn restart(store: &Store, target: &SyncTarget) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    let stored = target.sync_state.as_ref();
    if integrations::advance(&mut tx, target.id, stored, &Value::Null).await? {
        integrations::request_sync(&mut tx, target.project, target.id).await?;
    }
    tx.commit().await
}

/// Stores why a sync failed, and schedules the next one with backoff.
async fn fail(
    store: &Store,
    target: &SyncTarget,
    error: &SyncError,
) -> Result<(), mc_store::Error> {
    let reason = stored_reason(error);
    tracing::warn!(
        integration.id = %target.id,
        integration.connector = target.connector,
        failures = target.consecutive_failures + 1,
        reason,
        "sync failed"
    );
    let delay = backoff(target.interval, target.consecutive_failures.min(10), BACKOFF_MAX);
    integrations::reschedule(store, target.id, Some(&reason), delay).await
}

/// Truncates a text and removes control characters, which PostgreSQL and terminals can't handle.
fn strip_control(text: &str, max_chars: usize) -> String {
    let is_allowed = |c: &char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    text.chars().filter(is_allowed).take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_sync_backs_off_up_to_a_day() {
        let interval = Duration::from_mins(15);
        for failures in 0..40 {
            let delay = backoff(interval, failures.min(10), BACKOFF_MAX);
            let min = (interval * (1 << failures.min(6))).min(BACKOFF_MAX);
            assert!(delay >= min && delay <= BACKOFF_MAX.mul_f64(1.25), "{failures}: {delay:?}");
        }
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(strip_control("a\0b\u{1b}[1mc\nd", 6), "ab[1mc");
    }
}
