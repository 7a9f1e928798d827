//! Asks another system what is new, on behalf of one connection: page by page, each written in one
//! transaction with where the next one begins. So a sync that is cut short goes on where it stood,
//! and of two that run at once one finds that it was overtaken and stops.

mod issues;
mod pages;
mod reconcile;
mod refs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_connectors::traits::Cursor;
use mc_connectors::{ConnectorRegistry, PlainGit, client};
use mc_crypto::Encryptor;
use mc_domain::{Capability, Classified, IntegrationId};
use mc_indexer::source::AllowedPrivateHost;
use mc_store::integrations::{self, SyncTarget};
use mc_store::{Store, Tx};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::JobContext;
use crate::job::{BackgroundJob, JobError};

/// After so long a sync lets others have its place; the rest is asked for at once.
const TURN: Duration = Duration::from_mins(5);
/// However often it failed, a system is asked once a day.
const BACKOFF_MAX: Duration = Duration::from_hours(24);
/// Characters of what is kept of a reason.
const REASON: usize = 1_000;

/// A connection whose system is to be asked.
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

    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        run(&context.store, &context.sync, self).await
    }
}

/// What a sync needs besides its connection; cheap to clone.
#[derive(Debug, Clone)]
pub struct SyncContext {
    /// The systems that the operator has named.
    pub systems: Arc<ConnectorRegistry>,
    /// Seals what is held in quarantine.
    pub sealer: Arc<Encryptor>,
    /// Hosts inside the service's network that git may be sent to for everybody.
    pub inside: Arc<[AllowedPrivateHost]>,
}

/// One sync while it runs.
struct SyncSession<'a> {
    store: &'a Store,
    sealer: &'a Encryptor,
    asking: &'a SyncTarget,
    begun: Instant,
}

/// How a sync ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// There is nothing more for now.
    Done,
    /// There is more, and its turn is over.
    More,
    /// Somebody else goes on, or nobody is to.
    Overtaken,
}

/// Why a sync did not end.
#[derive(Debug, thiserror::Error)]
enum SyncError {
    #[error(transparent)]
    System(#[from] client::Error),
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    #[error(transparent)]
    Git(#[from] mc_indexer::Error),
    #[error("{0}")]
    Because(String),
}

/// Where a sync stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SyncState {
    cursor: Cursor,
    /// Whether comments were asked for on the way there.
    #[serde(default)]
    include_comments: bool,
    /// How far what is known was compared with all that there is, while that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<reconcile::Reconciliation>,
}

/// Does it. What is amiss with the system is for the connection to show, and for its next turn to
/// try again.
async fn run(store: &Store, with: &SyncContext, work: SyncIntegration) -> Result<(), JobError> {
    let failed = |error: mc_store::Error| JobError::classify(&error);
    let Some(asking) = integrations::start_sync(store, work.id).await.map_err(failed)? else {
        return Ok(());
    };
    let syncing =
        SyncSession { store, sealer: &with.sealer, asking: &asking, begun: Instant::now() };
    let ended = syncing.ask(with).await;
    let noted = match ended {
        Ok(Ended::Done) => integrations::finish_sync(store, asking.id, asking.interval).await,
        Ok(Ended::More) => enqueue_next(store, &asking).await,
        Ok(Ended::Overtaken) => Ok(()),
        Err(SyncError::Store(error)) if error.kind().is_transient() => return Err(failed(error)),
        // Another version of the service wrote where it stood.
        Err(SyncError::System(client::Error::InvalidCursor { .. })) => {
            restart(store, &asking).await
        }
        Err(SyncError::System(client::Error::RateLimited { retry_at, .. })) => {
            let pause = (retry_at - Utc::now()).to_std().unwrap_or_default().min(BACKOFF_MAX);
            integrations::reschedule(store, asking.id, None, pause).await
        }
        Err(stopped) => fail(store, &asking, &stopped).await,
    };
    noted.map_err(failed)
}

impl SyncSession<'_> {
    async fn ask(&self, with: &SyncContext) -> Result<Ended, SyncError> {
        let SyncTarget { connector: system, key, capability: ability, .. } = self.asking;
        if system == PlainGit::CONNECTOR_NAME {
            return self.plain_git_refs(&with.inside).await;
        }
        let Some(system) = with.systems.find(system, key) else {
            return Err(SyncError::Because(format!(
                "there is no connector {system} that {key} may use; ask the operator to configure \
                 it, or delete the integration"
            )));
        };
        match ability {
            Capability::Issues => self.issues(system).await,
            Capability::Pages => self.pages(system).await,
            Capability::Refs => self.heads(system).await,
        }
    }

    /// Says in the transaction where the sync stands from now on; `false` where somebody else has
    /// gone on.
    async fn advance(&self, tx: &mut Tx, place: &mut Place, to: Value) -> Result<bool, SyncError> {
        if !integrations::advance(tx, self.asking.id, place.0.as_ref(), &to).await? {
            return Ok(false);
        }
        place.0 = Some(to);
        Ok(true)
    }

    /// Counts a page that was read, and how much of it was taken in.
    async fn count_items(&self, tx: &mut Tx, things: usize) -> Result<(), SyncError> {
        let things = i64::try_from(things).unwrap_or(i64::MAX);
        Ok(integrations::count_items(tx, self.asking.id, things).await?)
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed() > TURN
    }
}

/// What is written of where a sync stands.
struct Place(Option<Value>);

impl Place {
    fn of(asking: &SyncTarget) -> Self {
        Self(asking.sync_state.clone())
    }

    /// What it says; the beginning where it says nothing that this version understands.
    fn read<T: serde::de::DeserializeOwned + Default>(&self) -> T {
        let read = self.0.as_ref().and_then(|value| T::deserialize(value).ok());
        read.unwrap_or_default()
    }
}

fn to_json(progress: &impl Serialize) -> Result<Value, SyncError> {
    serde_json::to_value(progress)
        .map_err(|error| SyncError::Because(format!("where it stands can't be written: {error}")))
}

/// Asks for the rest.
async fn enqueue_next(store: &Store, asking: &SyncTarget) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    integrations::request_sync(&mut tx, asking.project, asking.id).await?;
    tx.commit().await
}

/// Asks for all of it once more.
async fn restart(store: &Store, asking: &SyncTarget) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    let from = asking.sync_state.as_ref();
    if integrations::advance(&mut tx, asking.id, from, &Value::Null).await? {
        integrations::request_sync(&mut tx, asking.project, asking.id).await?;
    }
    tx.commit().await
}

/// Notes why a sync failed, and has it begin anew later, the later the more have failed.
async fn fail(
    store: &Store,
    asking: &SyncTarget,
    stopped: &SyncError,
) -> Result<(), mc_store::Error> {
    let reason: String =
        mc_sanitizer::mask(&stopped.to_string()).text.as_str().chars().take(REASON).collect();
    tracing::warn!(
        connection.id = %asking.id,
        connection.system = asking.connector,
        failures = asking.consecutive_failures + 1,
        reason,
        "a sync failed; its connection shows why and when it is tried again"
    );
    let pause = backoff(asking.interval, asking.consecutive_failures);
    integrations::reschedule(store, asking.id, Some(&reason), pause).await
}

/// Twice as long after each failure, and up to a quarter more, so that what failed together does
/// not come back together.
fn backoff(every: Duration, failures: u32) -> Duration {
    let pause = every.saturating_mul(1 << failures.min(10)).min(BACKOFF_MAX);
    pause.mul_f64(rand::random_range(1.0..1.25))
}

fn no_progress() -> SyncError {
    SyncError::Because(
        "the provider returns the same page again and again; ask its operator for the reason"
            .to_owned(),
    )
}

/// A text without what PostgreSQL and terminals can't take, cut to size.
fn strip_control(text: &str, most: usize) -> String {
    let is_fine = |c: &char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    text.chars().filter(is_fine).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_later_and_later_and_once_a_day_at_least() {
        let every = Duration::from_mins(15);
        for failures in 0..40 {
            let pause = backoff(every, failures);
            let least = (every * (1 << failures.min(6))).min(BACKOFF_MAX);
            assert!(pause >= least && pause <= BACKOFF_MAX.mul_f64(1.25), "{failures}: {pause:?}");
        }
    }

    #[test]
    fn what_can_not_be_stored_is_left_out() {
        assert_eq!(strip_control("a\0b\u{1b}[1mc\nd", 6), "ab[1mc");
    }
}
