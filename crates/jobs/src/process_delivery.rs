//! Goes through what webhooks delivered: each once, in the transaction of what it brings about.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_connectors::{Comment, Event, Issue, Push, Thread, WikiPush};
use mc_domain::{AuditAction, Classified as _, DeliveryId, DeliveryState, ProjectId, Provider};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::repositories::Repository;
use mc_store::tasks::{self, Upserted};
use mc_store::webhooks::{self, PendingBatch, PendingDelivery};
use mc_store::{Store, Tx, docs, ingest_runs, integrations, pull_requests, repositories};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::apply::doc_parts::DocPartBatch;
use crate::apply::task::task_from_issue;
use crate::apply::{doc_parts, pull_request};
use crate::context::JobContext;
use crate::job::{BackgroundJob, JobError};

/// So many are gone through in one transaction at most.
const BATCH_SIZE: i64 = 64;

/// Something that was delivered and is to be gone through.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessDelivery {
    id: DeliveryId,
}

impl BackgroundJob for ProcessDelivery {
    const NAME: &'static str = webhooks::JOB;
    // Those of one hook wait for each other, each on a connection; more would leave none for the
    // queue.
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = webhooks::JOB_ATTEMPTS;
    const FETCH_BATCH: usize = 16;
    const TIMEOUT: Duration = Duration::from_mins(1);

    type Context = JobContext;

    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        run(&context.store, self).await
    }
}

/// How many tasks, changes and documents were changed in which way, for the audit.
#[derive(Default)]
struct AuditCounts(BTreeMap<AuditAction, BTreeMap<&'static str, u32>>);

impl AuditCounts {
    fn count(&mut self, act: AuditAction, did: &'static str) {
        *self.0.entry(act).or_default().entry(did).or_default() += 1;
    }

    fn events(&self) -> Vec<NewEvent> {
        let each = self.0.iter();
        each.map(|(act, did)| NewEvent::new(*act, "webhook").with(json!(did))).collect()
    }
}

/// What came of a delivery, for whoever looks at it.
type Outcome = (DeliveryState, String);

/// Why nothing came of what was gone through together.
struct BatchError {
    /// At which delivery, where it is known.
    at: Option<DeliveryId>,
    error: mc_store::Error,
}

impl From<mc_store::Error> for BatchError {
    fn from(error: mc_store::Error) -> Self {
        Self { at: None, error }
    }
}

/// Goes through it, and through what came before it by the same hook and still waits: in the order
/// in which it came. Whoever else has the same to do waits, and then finds nothing. One that always
/// fails is passed over.
async fn run(store: &Store, work: ProcessDelivery) -> Result<(), JobError> {
    let mut most = BATCH_SIZE;
    while webhooks::is_pending(store, work.id).await.map_err(|error| JobError::classify(&error))? {
        let Err(BatchError { at, error }) = process_batch(store, work.id, most).await else {
            continue;
        };
        if most > 1 {
            most = 1;
            continue;
        }
        let Some(at) = at.filter(|_| !error.kind().is_transient()) else {
            return Err(JobError::classify(&error));
        };
        mark_failed(store, at, &error).await.map_err(|error| JobError::classify(&error))?;
        most = BATCH_SIZE;
    }
    Ok(())
}

/// Goes through the first that wait of what came by the same hook; all of it is done, or nothing.
async fn process_batch(store: &Store, id: DeliveryId, most: i64) -> Result<(), BatchError> {
    let mut tx = store.begin().await?;
    let Some(all) = webhooks::lock_pending(&mut tx, id, most).await? else { return Ok(()) };
    let (mut outcomes, mut synced) = (Vec::new(), AuditCounts::default());
    for waiting in &all.deliveries {
        let id = waiting.id;
        let event = Event::decode(&waiting.event);
        // Who asks for a run holds its repository first and then the audit, and a sync its
        // connection and then what it writes: what asks for either is for itself.
        let is_alone =
            matches!(event, Ok(Event::Push(_) | Event::WikiPush(_) | Event::PageChanged { .. }));
        if is_alone && !outcomes.is_empty() {
            break;
        }
        let told = match event {
            Ok(event) => apply_event(&mut tx, &all, waiting, event, &mut synced).await,
            Err(error) => Ok((DeliveryState::Failed, error.to_string())),
        };
        let (state, text) = told.map_err(|error| BatchError { at: Some(id), error })?;
        outcomes.push(webhooks::Outcome { id, state, text });
        if is_alone {
            break;
        }
    }
    let events = synced.events();
    if !events.is_empty() {
        audit::add(&mut tx, Chain::Project(all.project), None, &events);
    }
    webhooks::mark_completed(&mut tx, &outcomes).await?;
    Ok(tx.commit().await?)
}

/// Has what came after a delivery go on without it.
async fn mark_failed(
    store: &Store,
    id: DeliveryId,
    error: &mc_store::Error,
) -> Result<(), mc_store::Error> {
    tracing::error!(delivery.id = %id, error = error as &dyn std::error::Error,
        "skipping a delivery that can't be processed");
    let text = "the service failed to process it; its log has the reason under this delivery's id. \
                Then process it again (memory-copilot webhooks replay)";
    let outcome = webhooks::Outcome { id, state: DeliveryState::Failed, text: text.to_owned() };
    let mut tx = store.begin().await?;
    webhooks::mark_completed(&mut tx, &[outcome]).await?;
    tx.commit().await
}

/// Says what an event tells; in `synced` what it did to how much.
async fn apply_event(
    tx: &mut Tx,
    all: &PendingBatch,
    waiting: &PendingDelivery,
    event: Event,
    synced: &mut AuditCounts,
) -> Result<Outcome, mc_store::Error> {
    let (project, policy, heard_at) = (all.project, &all.policy, waiting.received_at);
    let (act, did, outcome) = match event {
        Event::Push(push) => return enqueue_reindex(tx, project, &push).await,
        Event::WikiPush(wiki) => return enqueue_wiki_reindex(tx, project, &wiki).await,
        Event::Ignored { reason } => return Ok((DeliveryState::Ignored, reason)),
        Event::PageChanged { .. } => return enqueue_wiki_syncs(tx, project).await,
        Event::Issue(issue) => return apply_issue(tx, all, heard_at, issue, synced).await,
        Event::IssueDeleted { external_id } => {
            if !tasks::mark_deleted(tx, project, &external_id, heard_at).await? {
                return Ok(ignored("the task was heard of since"));
            }
            if doc_parts::forget(tx, project, all.provider, &external_id).await? {
                synced.count(AuditAction::DocumentsIngested, "withdrawn");
            }
            (AuditAction::TasksSynced, "withdrawn", "what was known of the task was forgotten")
        }
        Event::PullRequest(change) => {
            let is_news = pull_request::change(tx, project, policy, &change, heard_at).await?;
            let thread = change.thread();
            let is_said = apply_comment(tx, all, heard_at, &thread, change.comment, synced).await?;
            if !is_news {
                return Ok(comment_outcome(
                    is_said,
                    "the change says so already, or something newer",
                ));
            }
            (AuditAction::PullRequestsSynced, "changes", "the change was brought up to date")
        }
        Event::CiRun(run) => {
            if !pull_request::ci_run(tx, project, policy, run, heard_at).await? {
                return Ok(ignored("that is known already, or something newer"));
            }
            (AuditAction::PullRequestsSynced, "ci_results", "the result was noted")
        }
        Event::Comment { thread, comment } => {
            let is_said = apply_comment(tx, all, heard_at, &thread, Some(comment), synced).await?;
            return Ok(comment_outcome(
                is_said,
                "nothing else was said than is known, or may be kept",
            ));
        }
        Event::Release(release) => {
            if !doc_parts::publish(tx, project, policy, &release, heard_at).await? {
                return Ok(ignored("the release says so already, or something newer"));
            }
            (AuditAction::DocumentsIngested, "releases", "the release was brought up to date")
        }
        Event::PageDeleted { id } => {
            let source = Provider::Confluence.as_str();
            if !docs::remove_page(tx, project, source, &id).await? {
                return Ok(ignored("the project has no document of that page"));
            }
            (AuditAction::DocumentsIngested, "withdrawn", "the page was forgotten")
        }
    };
    synced.count(act, did);
    Ok(completed(outcome))
}

/// Takes in what is told of an issue, and what was said of it.
async fn apply_issue(
    tx: &mut Tx,
    all: &PendingBatch,
    heard_at: DateTime<Utc>,
    mut issue: Issue,
    synced: &mut AuditCounts,
) -> Result<Outcome, mc_store::Error> {
    // Only a part of it: that says nothing of who may see the rest.
    if !issue.is_whole && tasks::is_deleted(tx, all.project, &issue.external_id).await? {
        return Ok(ignored(
            "the task was deleted, and this event has too little of it to restore it",
        ));
    }
    let comment = issue.comment.take();
    let thread = issue.thread();
    let task = task_from_issue(&all.policy, heard_at, issue);
    let upserted = tasks::upsert(tx, all.project, &task).await?;
    let is_said = apply_comment(tx, all, heard_at, &thread, comment, synced).await?;
    let (did, outcome) = match upserted {
        Upserted::Created => ("created", "the task was created"),
        Upserted::Updated => ("updated", "the task was brought up to date"),
        Upserted::Unchanged => {
            return Ok(comment_outcome(is_said, "the task says so already, or something newer"));
        }
    };
    synced.count(AuditAction::TasksSynced, did);
    Ok(completed(outcome))
}

/// Takes in what was said of an issue or a change; answers whether anything was.
async fn apply_comment(
    tx: &mut Tx,
    all: &PendingBatch,
    heard_at: DateTime<Utc>,
    thread: &Thread,
    comment: Option<Comment>,
    synced: &mut AuditCounts,
) -> Result<bool, mc_store::Error> {
    let Some(comment) = comment else { return Ok(false) };
    let said = DocPartBatch::told(&all.policy, (all.provider, thread), &[comment], heard_at);
    let is_said = doc_parts::write(tx, all.project, &all.policy, &said).await?;
    if is_said {
        synced.count(AuditAction::DocumentsIngested, "comments");
    }
    Ok(is_said)
}

/// Has the repositories read again that were pushed to at the ref that is indexed of them.
async fn enqueue_reindex(
    tx: &mut Tx,
    project: ProjectId,
    push: &Push,
) -> Result<Outcome, mc_store::Error> {
    let named = match &push.after {
        Some(head) => {
            pull_requests::insert_pushed_commits(tx, project, head, &push.commits).await?
        }
        None => 0,
    };
    let known =
        find_repositories(tx, project, &push.path, |location| push.is_same_repository(location))
            .await?;
    if known.is_empty() {
        return Ok(push_outcome(named, "the project has not indexed that repository"));
    }
    // All of them are held before the first run is noted: who asks for a run holds its repository
    // first, and then the audit.
    let mut moved = held(tx, &known).await?;
    moved.retain(|(_, asked_for)| push.updates_ref(asked_for));
    if push.after.is_none() {
        return Ok(ignored(
            "the branch was deleted; its index stays until another branch is indexed",
        ));
    }
    if moved.is_empty() {
        return Ok(push_outcome(named, "another branch is the one that is indexed"));
    }
    enqueue_runs(tx, moved).await
}

/// Has the pages of a wiki read again, where its repository is indexed.
async fn enqueue_wiki_reindex(
    tx: &mut Tx,
    project: ProjectId,
    wiki: &WikiPush,
) -> Result<Outcome, mc_store::Error> {
    let known =
        find_repositories(tx, project, &wiki.path, |location| wiki.is_same_repository(location))
            .await?;
    if known.is_empty() {
        let place = wiki.urls.first().unwrap_or(&wiki.path);
        let reason = format!(
            "the project has not indexed the wiki, which is a separate repository; index it by its \
             address (memory-copilot ingest {place})"
        );
        return Ok((DeliveryState::Ignored, reason));
    }
    let held = held(tx, &known).await?;
    enqueue_runs(tx, held).await
}

/// Has the wikis asked that the project is connected to: what is told of a page is that it is
/// another one now, and not of which wiki it is.
async fn enqueue_wiki_syncs(tx: &mut Tx, project: ProjectId) -> Result<Outcome, mc_store::Error> {
    Ok(match integrations::request_wiki_syncs(tx, project).await? {
        0 => ignored("no connection fetches pages from there"),
        1 => completed("the wiki that is connected is asked now"),
        several => completed(&format!("the {several} wikis that are connected are asked now")),
    })
}

/// The project's repositories at such an address or of this path.
async fn find_repositories(
    tx: &mut Tx,
    project: ProjectId,
    path: &str,
    is_at: impl Fn(&str) -> bool,
) -> Result<Vec<Repository>, mc_store::Error> {
    let mut known = repositories::list_in(tx, project).await?;
    known.retain(|known| {
        is_at(&known.location) || path == format!("{}/{}", known.owner, known.name)
    });
    Ok(known)
}

/// Those that are still there, each with the ref that was asked for last. Nobody asks for another
/// until the transaction ends.
async fn held<'a>(
    tx: &mut Tx,
    known: &'a [Repository],
) -> Result<Vec<(&'a Repository, String)>, mc_store::Error> {
    let mut held = Vec::new();
    for repository in known {
        match ingest_runs::last_requested_ref(tx, repository).await {
            Ok(asked_for) => held.push((repository, asked_for)),
            // Removed meanwhile.
            Err(mc_store::Error::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

async fn enqueue_runs(
    tx: &mut Tx,
    held: Vec<(&Repository, String)>,
) -> Result<Outcome, mc_store::Error> {
    let mut queued = Vec::new();
    for (repository, asked_for) in held {
        ingest_runs::enqueue(tx, repository, &asked_for).await?;
        queued.push(repository.namespace.as_str());
    }
    Ok(completed(&format!("{} is read again", queued.join(", "))))
}

/// What comes of something of which nothing but a comment may be news.
fn comment_outcome(is_said: bool, otherwise: &str) -> Outcome {
    if is_said { completed("what was said was taken in") } else { ignored(otherwise) }
}

/// What comes of a push of which nothing but its commits is of use.
fn push_outcome(commits: u64, otherwise: &str) -> Outcome {
    if commits == 0 {
        return ignored(otherwise);
    }
    completed(&format!("its commits were noted; {otherwise}"))
}

fn completed(outcome: &str) -> Outcome {
    (DeliveryState::Completed, outcome.to_owned())
}

fn ignored(reason: &str) -> Outcome {
    (DeliveryState::Ignored, reason.to_owned())
}
