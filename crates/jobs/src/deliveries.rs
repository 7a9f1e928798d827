//! Goes through what webhooks delivered: each once, in the transaction of what it brings about.

use std::time::Duration;

use mc_connectors::{Event, Issue, Push};
use mc_domain::{Act, DeliveryId, DeliveryState, ProjectId};
use mc_memory::gate::pass_alone;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hooks::{self, Waiting};
use mc_store::tasks::{self, NewTask, TaskLink, Upserted};
use mc_store::{Store, Tx, ingests, repositories};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::work::{Failure, Work};

/// Something that was delivered and is to be gone through.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delivered {
    id: DeliveryId,
}

impl Work for Delivered {
    const KIND: &'static str = hooks::JOB;
    const AT_ONCE: usize = 4;
    const STARTS: u16 = hooks::JOB_STARTS;
    const BATCH: usize = 16;
    const TIME: Duration = Duration::from_mins(1);
}

/// What came of a delivery, for whoever looks at it.
type Outcome = (DeliveryState, String);

/// Goes through it, and through what came before it by the same hook and still waits: in the order in which it
/// came. Whoever else has the same to do waits, and then finds nothing.
pub async fn run(store: Store, work: Delivered) -> Result<(), Failure> {
    while next(&store, work.id).await.map_err(|error| Failure::of(&error))? {}
    Ok(())
}

/// Goes through the first that waits; `false` where there is none, or that was the last.
async fn next(store: &Store, upto: DeliveryId) -> Result<bool, mc_store::Error> {
    let mut tx = store.begin().await?;
    let Some(waiting) = hooks::next_waiting(&mut tx, upto).await? else { return Ok(false) };
    let (state, outcome) = match serde_json::from_value(waiting.event.clone()) {
        Ok(event) => tell(&mut tx, &waiting, event).await?,
        Err(error) => ignored(&format!("what was kept of it can't be read: {error}")),
    };
    hooks::handled(&mut tx, waiting.id, state, &outcome).await?;
    tx.commit().await?;
    Ok(waiting.id != upto)
}

async fn tell(tx: &mut Tx, waiting: &Waiting, event: Event) -> Result<Outcome, mc_store::Error> {
    let project = waiting.project;
    match event {
        Event::Push(push) => read_again(tx, project, &push).await,
        Event::Issue(issue) => {
            let task = as_task(waiting, issue);
            let upserted = tasks::upsert(tx, project, &task).await?;
            let (changed, outcome) = match upserted {
                Upserted::Created => ("created", "the task was created"),
                Upserted::Updated => ("updated", "the task was brought up to date"),
                Upserted::Unchanged => {
                    return Ok(ignored("the task says so already, or something newer"));
                }
            };
            synced(tx, project, changed).await?;
            Ok(done(outcome))
        }
        Event::IssueGone { external_id } => {
            if !tasks::withdraw(tx, project, &external_id, waiting.received_at).await? {
                return Ok(ignored("the task was heard of since"));
            }
            synced(tx, project, "withdrawn").await?;
            Ok(done("what was known of the task was forgotten"))
        }
        Event::Ignored { reason } => Ok((DeliveryState::Ignored, reason)),
    }
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

fn as_task(waiting: &Waiting, issue: Issue) -> NewTask {
    let Waiting { policy, received_at, .. } = waiting;
    // Masked when it came, and again as the policy has it by now.
    let plain = |text: &str| pass_alone(policy, text).into_string();
    // A clock that is ahead would keep out all that comes until then.
    let said_at = issue.updated_at.map_or(*received_at, |said| said.min(*received_at));
    let links = issue.links.into_iter();
    NewTask {
        title: pass_alone(policy, &issue.title),
        status: issue.status.as_deref().map(plain),
        assignee: issue.assignee.as_deref().map(plain),
        labels: issue.labels.iter().map(|label| plain(label)).collect(),
        links: links
            .map(|link| TaskLink { title: plain(&link.title), url: plain(&link.url) })
            .collect(),
        is_whole: issue.is_whole,
        said_at: Some(said_at),
        external_id: issue.external_id,
    }
}

async fn synced(tx: &mut Tx, project: ProjectId, what: &str) -> Result<(), mc_store::Error> {
    let event = NewEvent::new(Act::TasksSynced, "webhook").with(json!({ what: 1 }));
    audit::add(tx, Chain::Project(project), None, &[event]).await
}

fn done(outcome: &str) -> Outcome {
    (DeliveryState::Done, outcome.to_owned())
}

fn ignored(reason: &str) -> Outcome {
    (DeliveryState::Ignored, reason.to_owned())
}
