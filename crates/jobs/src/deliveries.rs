//! Goes through what webhooks delivered: each once, in the transaction of what it brings about.

use std::collections::BTreeMap;
use std::time::Duration;

use mc_connectors::{Event, Push};
use mc_domain::{Act, Classified as _, DeliveryId, DeliveryState, ProjectId};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hooks::{self, AllWaiting, Waiting};
use mc_store::tasks::{self, Upserted};
use mc_store::{Store, Tx, ingests, repositories};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::issue::as_task;
use crate::work::{Failure, Work};

/// So many are gone through in one transaction at most.
const TOGETHER: i64 = 64;

/// Something that was delivered and is to be gone through.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delivered {
    id: DeliveryId,
}

impl Work for Delivered {
    const KIND: &'static str = hooks::JOB;
    // Those of one hook wait for each other, each on a connection; more would leave none for the queue.
    const AT_ONCE: usize = 2;
    const STARTS: u16 = hooks::JOB_STARTS;
    const BATCH: usize = 16;
    const TIME: Duration = Duration::from_mins(1);
}

/// What came of a delivery, for whoever looks at it.
type Outcome = (DeliveryState, String);

/// Why nothing came of what was gone through together.
struct Stopped {
    /// At which delivery, where it is known.
    at: Option<DeliveryId>,
    error: mc_store::Error,
}

impl From<mc_store::Error> for Stopped {
    fn from(error: mc_store::Error) -> Self {
        Self { at: None, error }
    }
}

/// Goes through it, and through what came before it by the same hook and still waits: in the order in which it
/// came. Whoever else has the same to do waits, and then finds nothing. One that always fails is passed over.
pub async fn run(store: Store, work: Delivered) -> Result<(), Failure> {
    let mut most = TOGETHER;
    while hooks::is_waiting(&store, work.id).await.map_err(|error| Failure::of(&error))? {
        let Err(Stopped { at, error }) = together(&store, work.id, most).await else { continue };
        if most > 1 {
            most = 1;
            continue;
        }
        let Some(at) = at.filter(|_| !error.kind().is_transient()) else {
            return Err(Failure::of(&error));
        };
        pass_over(&store, at, &error).await.map_err(|error| Failure::of(&error))?;
        most = TOGETHER;
    }
    Ok(())
}

/// Goes through the first that wait of what came by the same hook; all of it is done, or nothing.
async fn together(store: &Store, id: DeliveryId, most: i64) -> Result<(), Stopped> {
    let mut tx = store.begin().await?;
    let Some(all) = hooks::first_waiting(&mut tx, id, most).await? else { return Ok(()) };
    let (mut outcomes, mut synced) = (Vec::new(), BTreeMap::new());
    for waiting in &all.deliveries {
        let id = waiting.id;
        let event = Event::deserialize(&waiting.event);
        // Who asks for a run holds its repository first and then the audit, so each push is for itself.
        let is_push = matches!(event, Ok(Event::Push(_)));
        if is_push && !outcomes.is_empty() {
            break;
        }
        let told = match event {
            Ok(event) => tell(&mut tx, &all, waiting, event, &mut synced).await,
            Err(error) => {
                Ok((DeliveryState::Failed, format!("what was kept of it can't be read: {error}")))
            }
        };
        let (state, text) = told.map_err(|error| Stopped { at: Some(id), error })?;
        outcomes.push(hooks::Outcome { id, state, text });
        if is_push {
            break;
        }
    }
    if !synced.is_empty() {
        let event = NewEvent::new(Act::TasksSynced, "webhook").with(json!(synced));
        audit::add(&mut tx, Chain::Project(all.project), None, &[event]).await?;
    }
    hooks::handled(&mut tx, &outcomes).await?;
    Ok(tx.commit().await?)
}

/// Has what came after a delivery go on without it.
async fn pass_over(
    store: &Store,
    id: DeliveryId,
    error: &mc_store::Error,
) -> Result<(), mc_store::Error> {
    tracing::error!(delivery.id = %id, error = error as &dyn std::error::Error,
        "a delivery can't be gone through and is passed over");
    let text = "the service could not go through it; its log says why, by this delivery's id. Once that is \
                mended, have it gone through again (hooks replay)";
    let outcome = hooks::Outcome { id, state: DeliveryState::Failed, text: text.to_owned() };
    let mut tx = store.begin().await?;
    hooks::handled(&mut tx, &[outcome]).await?;
    tx.commit().await
}

/// Says what an event tells; in `synced` how many tasks it did what to.
async fn tell(
    tx: &mut Tx,
    all: &AllWaiting,
    waiting: &Waiting,
    event: Event,
    synced: &mut BTreeMap<&'static str, u32>,
) -> Result<Outcome, mc_store::Error> {
    let project = all.project;
    let (did, outcome) = match event {
        Event::Push(push) => return read_again(tx, project, &push).await,
        Event::Ignored { reason } => return Ok((DeliveryState::Ignored, reason)),
        Event::Issue(issue) => {
            let task = as_task(&all.policy, waiting.received_at, issue);
            match tasks::upsert(tx, project, &task).await? {
                Upserted::Created => ("created", "the task was created"),
                Upserted::Updated => ("updated", "the task was brought up to date"),
                Upserted::Unchanged => {
                    return Ok(ignored("the task says so already, or something newer"));
                }
            }
        }
        Event::IssueGone { external_id } => {
            if !tasks::withdraw(tx, project, &external_id, waiting.received_at).await? {
                return Ok(ignored("the task was heard of since"));
            }
            ("withdrawn", "what was known of the task was forgotten")
        }
    };
    *synced.entry(did).or_default() += 1;
    Ok(done(outcome))
}

/// Has the repositories read again that were pushed to at the ref that is indexed of them.
async fn read_again(
    tx: &mut Tx,
    project: ProjectId,
    push: &Push,
) -> Result<Outcome, mc_store::Error> {
    let mut known = repositories::list_in(tx, project).await?;
    known.retain(|known| {
        push.is_of(&known.location) || push.path == format!("{}/{}", known.owner, known.name)
    });
    if known.is_empty() {
        return Ok(ignored("the project has not indexed that repository"));
    }
    // All of them are held before the first run is noted: who asks for a run holds its repository first, and then
    // the audit.
    let mut moved = Vec::new();
    for repository in &known {
        match ingests::asked_for(tx, repository).await {
            Ok(asked_for) if push.moves(&asked_for) => moved.push((repository, asked_for)),
            // Removed meanwhile.
            Ok(_) | Err(mc_store::Error::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    if push.after.is_none() {
        return Ok(ignored("the branch is gone; what was indexed of it stays until another is"));
    }
    let mut queued = Vec::new();
    for (repository, asked_for) in moved {
        ingests::enqueue(tx, repository, &asked_for).await?;
        queued.push(repository.namespace.as_str());
    }
    if queued.is_empty() {
        return Ok(ignored("another branch is the one that is indexed"));
    }
    Ok(done(&format!("{} is read again", queued.join(", "))))
}

fn done(outcome: &str) -> Outcome {
    (DeliveryState::Done, outcome.to_owned())
}

fn ignored(reason: &str) -> Outcome {
    (DeliveryState::Ignored, reason.to_owned())
}
