//! Goes through what webhooks delivered: each once, in the transaction of what it brings about.

use std::time::Duration;

use mc_connectors::{Event, Issue, Push};
use mc_domain::{Act, DeliveryId, DeliveryState, Policy, ProjectId};
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

/// Does it. Another that goes through the same delivery waits, and then finds nothing to do.
pub async fn run(store: Store, work: Delivered) -> Result<(), Failure> {
    let mut tx = store.begin().await.map_err(|error| Failure::of(&error))?;
    let waiting = hooks::waiting(&mut tx, work.id).await.map_err(|error| Failure::of(&error))?;
    let Some(waiting) = waiting else { return Ok(()) };
    let event = serde_json::from_value(waiting.event.clone())
        .map_err(|error| Failure::ForGood(format!("what was kept of it can't be read: {error}")))?;
    let told = async {
        let (state, outcome) = tell(&mut tx, &waiting, event).await?;
        hooks::handled(&mut tx, work.id, state, &outcome).await?;
        tx.commit().await
    };
    told.await.map_err(|error: mc_store::Error| Failure::of(&error))
}

async fn tell(tx: &mut Tx, waiting: &Waiting, event: Event) -> Result<Outcome, mc_store::Error> {
    let project = waiting.project;
    match event {
        Event::Push(push) => read_again(tx, project, &push).await,
        Event::Issue(issue) => {
            let task = as_task(&waiting.policy, issue);
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
            tasks::withdraw(tx, project, &external_id, waiting.received_at).await?;
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
    let mut queued = Vec::new();
    for repository in &known {
        let asked_for = ingests::asked_for(tx, repository).await?;
        if push.moves(&asked_for) && push.after.is_some() {
            ingests::enqueue(tx, repository, &asked_for).await?;
            queued.push(repository.namespace.as_str());
        }
    }
    Ok(if !queued.is_empty() {
        done(&format!("{} is read again", queued.join(", ")))
    } else if push.after.is_none() {
        ignored("the branch is gone; what was indexed of it stays until another is")
    } else {
        ignored("another branch is the one that is indexed")
    })
}

fn as_task(policy: &Policy, issue: Issue) -> NewTask {
    // Masked when it came, and again as the policy has it by now.
    let plain = |text: &str| pass_alone(policy, text).into_string();
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
        said_at: issue.updated_at,
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
