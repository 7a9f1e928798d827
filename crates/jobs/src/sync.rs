//! Asks another system what is new, on behalf of one connection: page by page, each written in one transaction with
//! where the next one begins. So a sync that is cut short goes on where it stood, and of two that run at once one
//! finds that it was overtaken and stops.

mod gone;
mod heads;
mod issues;
mod pages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_connectors::system::Cursor;
use mc_connectors::{PlainGit, Systems, client};
use mc_crypto::Sealer;
use mc_domain::{Ability, Classified, ConnectionId};
use mc_indexer::source::InsideHost;
use mc_store::connections::{self, Asking};
use mc_store::{Store, Tx};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::work::{Failure, Work};

/// After so long a sync lets others have its place; the rest is asked for at once.
const TURN: Duration = Duration::from_mins(5);
/// However often it failed, a system is asked once a day.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);
/// Characters of what is kept of a reason.
const REASON: usize = 1_000;

/// A connection whose system is to be asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Due {
    id: ConnectionId,
}

impl Work for Due {
    const KIND: &'static str = connections::JOB;
    const AT_ONCE: usize = 2;
    const STARTS: u16 = connections::JOB_STARTS;
    const TIME: Duration = connections::SYNC_TIME;
}

/// What a sync needs besides its connection; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connecting {
    /// The systems that the operator has named.
    pub systems: Arc<Systems>,
    /// Seals what is held in quarantine.
    pub sealer: Arc<Sealer>,
    /// Hosts inside the service's network that git may be sent to for everybody.
    pub inside: Arc<[InsideHost]>,
}

/// One sync while it runs.
struct Syncing<'a> {
    store: &'a Store,
    sealer: &'a Sealer,
    asking: &'a Asking,
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
enum Stopped {
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
struct Progress {
    cursor: Cursor,
    /// Whether comments were asked for on the way there.
    #[serde(default)]
    with_comments: bool,
    /// How far what is known was compared with all that there is, while that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<gone::Sweep>,
}

/// Does it. What is amiss with the system is for the connection to show, and for its next turn to try again.
pub async fn run(store: Store, with: Connecting, work: Due) -> Result<(), Failure> {
    let failed = |error: mc_store::Error| Failure::of(&error);
    let Some(asking) = connections::begin_asking(&store, work.id).await.map_err(failed)? else {
        return Ok(());
    };
    let syncing =
        Syncing { store: &store, sealer: &with.sealer, asking: &asking, begun: Instant::now() };
    let ended = syncing.ask(&with).await;
    let noted = match ended {
        Ok(Ended::Done) => connections::succeeded(&store, asking.id, asking.every).await,
        Ok(Ended::More) => go_on(&store, &asking).await,
        Ok(Ended::Overtaken) => Ok(()),
        Err(Stopped::Store(error)) if error.kind().is_transient() => return Err(failed(error)),
        // Another version of the service wrote where it stood.
        Err(Stopped::System(client::Error::Cursor { .. })) => begin_anew(&store, &asking).await,
        Err(Stopped::System(client::Error::RateLimited { retry_at, .. })) => {
            let pause = (retry_at - Utc::now()).to_std().unwrap_or_default().min(LONGEST_PAUSE);
            connections::put_off(&store, asking.id, None, pause).await
        }
        Err(stopped) => fail(&store, &asking, &stopped).await,
    };
    noted.map_err(failed)
}

impl Syncing<'_> {
    async fn ask(&self, with: &Connecting) -> Result<Ended, Stopped> {
        let Asking { system, key, ability, .. } = self.asking;
        if system == PlainGit::SYSTEM {
            return self.git_heads(&with.inside).await;
        }
        let Some(system) = with.systems.find(system, key) else {
            return Err(Stopped::Because(format!(
                "connectors.systems has no {system} that {key} may use; have the operator name it there, or \
                 remove the connection"
            )));
        };
        match ability {
            Ability::Issues => self.issues(system).await,
            Ability::Pages => self.pages(system).await,
            Ability::Heads => self.heads(system).await,
        }
    }

    /// Says in the transaction where the sync stands from now on; `false` where somebody else has gone on.
    async fn advance(&self, tx: &mut Tx, place: &mut Place, to: Value) -> Result<bool, Stopped> {
        if !connections::advance(tx, self.asking.id, place.0.as_ref(), &to).await? {
            return Ok(false);
        }
        place.0 = Some(to);
        Ok(true)
    }

    /// Counts a page that was read, and how much of it was taken in.
    async fn came(&self, tx: &mut Tx, things: usize) -> Result<(), Stopped> {
        let things = i64::try_from(things).unwrap_or(i64::MAX);
        Ok(connections::came(tx, self.asking.id, things).await?)
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed() > TURN
    }
}

/// What is written of where a sync stands.
struct Place(Option<Value>);

impl Place {
    fn of(asking: &Asking) -> Self {
        Self(asking.progress.clone())
    }

    /// What it says; the beginning where it says nothing that this version understands.
    fn read<T: serde::de::DeserializeOwned + Default>(&self) -> T {
        let read = self.0.as_ref().and_then(|value| T::deserialize(value).ok());
        read.unwrap_or_default()
    }
}

fn written(progress: &impl Serialize) -> Result<Value, Stopped> {
    serde_json::to_value(progress)
        .map_err(|error| Stopped::Because(format!("where it stands can't be written: {error}")))
}

/// Asks for the rest.
async fn go_on(store: &Store, asking: &Asking) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    connections::ask(&mut tx, asking.project, asking.id).await?;
    tx.commit().await
}

/// Asks for all of it once more.
async fn begin_anew(store: &Store, asking: &Asking) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    let from = asking.progress.as_ref();
    if connections::advance(&mut tx, asking.id, from, &Value::Null).await? {
        connections::ask(&mut tx, asking.project, asking.id).await?;
    }
    tx.commit().await
}

/// Notes why a sync failed, and has it begin anew later, the later the more have failed.
async fn fail(store: &Store, asking: &Asking, stopped: &Stopped) -> Result<(), mc_store::Error> {
    let reason: String =
        mc_sanitizer::mask(&stopped.to_string()).text.as_str().chars().take(REASON).collect();
    tracing::warn!(
        connection.id = %asking.id,
        connection.system = asking.system,
        failures = asking.failures + 1,
        reason,
        "a sync failed; its connection shows why and when it is tried again"
    );
    let pause = pause_after(asking.every, asking.failures);
    connections::put_off(store, asking.id, Some(&reason), pause).await
}

/// Twice as long after each failure, and up to a quarter more, so that what failed together does not come back
/// together.
fn pause_after(every: Duration, failures: u32) -> Duration {
    let pause = every.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE);
    pause.mul_f64(rand::random_range(1.0..1.25))
}

fn stands_still() -> Stopped {
    Stopped::Because(
        "it answers the same page again and again; its operator should look why".to_owned(),
    )
}

/// A text without what PostgreSQL and terminals can't take, cut to size.
fn cleaned(text: &str, most: usize) -> String {
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
            let pause = pause_after(every, failures);
            let least = (every * (1 << failures.min(6))).min(LONGEST_PAUSE);
            assert!(
                pause >= least && pause <= LONGEST_PAUSE.mul_f64(1.25),
                "{failures}: {pause:?}"
            );
        }
    }

    #[test]
    fn what_can_not_be_stored_is_left_out() {
        assert_eq!(cleaned("a\0b\u{1b}[1mc\nd", 6), "ab[1mc");
    }
}
