//! Effects of single events.

use chrono::{DateTime, Utc};
use mc_connectors::{CiRun, Comment, Event, Issue, PullRequestEvent, Release, Thread};
use mc_domain::{AuditAction, DeliveryState, Policy, ProjectId, Provider};
use mc_store::webhooks::{PendingBatch, PendingDelivery};
use mc_store::{Error, Tx, Upserted, docs, tasks};

use super::AuditCounts;
use super::push::{enqueue_reindex, enqueue_wiki_reindex, enqueue_wiki_syncs};
use crate::apply::doc_parts::{self, DocPartBatch};
use crate::apply::{apply_ci_run, apply_pull_request, task_from_issue};

/// New state of a delivery, and its description for people.
pub(super) type Outcome = (DeliveryState, String);

/// The event of a delivery while it is applied.
struct EventContext<'a> {
    project: ProjectId,
    policy: &'a Policy,
    provider: Provider,
    received_at: DateTime<Utc>,
    counts: &'a mut AuditCounts,
}

/// Applies an event, and counts its changes in `counts`.
pub(super) async fn apply_event(
    tx: &mut Tx,
    batch: &PendingBatch,
    delivery: &PendingDelivery,
    event: Event,
    counts: &mut AuditCounts,
) -> Result<Outcome, Error> {
    let PendingBatch { project, ref policy, provider, .. } = *batch;
    let received_at = delivery.received_at;
    let mut context = EventContext { project, policy, provider, received_at, counts };
    match event {
        Event::Push(push) => enqueue_reindex(tx, project, &push).await,
        Event::WikiPush(wiki) => enqueue_wiki_reindex(tx, project, &wiki).await,
        Event::Ignored { reason } => Ok((DeliveryState::Ignored, reason)),
        Event::PageChanged { .. } => enqueue_wiki_syncs(tx, project).await,
        Event::Issue(issue) => context.apply_issue(tx, issue).await,
        Event::IssueDeleted { external_id } => context.delete_issue(tx, &external_id).await,
        Event::PullRequest(event) => context.apply_pull_request(tx, event).await,
        Event::CiRun(run) => context.apply_ci_run(tx, run).await,
        Event::Comment { thread, comment } => {
            let has_changed = context.apply_comment(tx, &thread, Some(comment)).await?;
            let unchanged = "the comment is already stored, or the policy does not import it";
            Ok(comment_outcome(has_changed, unchanged))
        }
        Event::Release(release) => context.apply_release(tx, &release).await,
        Event::PageDeleted { id } => context.delete_page(tx, &id).await,
    }
}

impl EventContext<'_> {
    async fn apply_issue(&mut self, tx: &mut Tx, mut issue: Issue) -> Result<Outcome, Error> {
        // An event with a part of the fields does not show that the issue is public again.
        if !issue.is_whole && tasks::is_deleted(tx, self.project, &issue.external_id).await? {
            return Ok(ignored(
                "the task was deleted, and this event has too few fields to restore it",
            ));
        }
        let comment = issue.comment.take();
        let thread = issue.thread();
        let task = task_from_issue(self.policy, self.received_at, issue);
        let upserted = tasks::upsert(tx, self.project, &task).await?;
        let has_new_comment = self.apply_comment(tx, &thread, comment).await?;
        let (change, outcome) = match upserted {
            Upserted::Created => ("created", "created the task"),
            Upserted::Updated => ("updated", "updated the task"),
            Upserted::Unchanged => {
                let unchanged = "the task is already at this version or a newer one";
                return Ok(comment_outcome(has_new_comment, unchanged));
            }
        };
        self.counts.add(AuditAction::TasksSynced, change);
        Ok(completed(outcome))
    }

    async fn delete_issue(&mut self, tx: &mut Tx, external_id: &str) -> Result<Outcome, Error> {
        if !tasks::mark_deleted(tx, self.project, external_id, self.received_at).await? {
            return Ok(ignored("the task was updated after this deletion"));
        }
        if doc_parts::delete(tx, self.project, self.provider, external_id).await? {
            self.counts.add(AuditAction::DocumentsIngested, "withdrawn");
        }
        self.counts.add(AuditAction::TasksSynced, "withdrawn");
        Ok(completed("deleted the task's data"))
    }

    async fn apply_pull_request(
        &mut self,
        tx: &mut Tx,
        event: PullRequestEvent,
    ) -> Result<Outcome, Error> {
        let has_changed =
            apply_pull_request(tx, self.project, self.policy, &event, self.received_at).await?;
        let thread = event.thread();
        let has_new_comment = self.apply_comment(tx, &thread, event.comment).await?;
        if !has_changed {
            let unchanged = "the pull request is already at this version or a newer one";
            return Ok(comment_outcome(has_new_comment, unchanged));
        }
        self.counts.add(AuditAction::PullRequestsSynced, "changes");
        Ok(completed("updated the pull request"))
    }

    async fn apply_ci_run(&mut self, tx: &mut Tx, run: CiRun) -> Result<Outcome, Error> {
        if !apply_ci_run(tx, self.project, self.policy, run, self.received_at).await? {
            return Ok(ignored("the CI result is already stored, or a newer one is"));
        }
        self.counts.add(AuditAction::PullRequestsSynced, "ci_results");
        Ok(completed("stored the CI result"))
    }

    /// Stores the comment of an event, if it has one; returns whether that changed the document.
    async fn apply_comment(
        &mut self,
        tx: &mut Tx,
        thread: &Thread,
        comment: Option<Comment>,
    ) -> Result<bool, Error> {
        let Some(comment) = comment else { return Ok(false) };
        let thread = (self.provider, thread);
        let parts = DocPartBatch::from_webhook(self.policy, thread, &[comment], self.received_at);
        let has_changed = doc_parts::write(tx, self.project, self.policy, &parts).await?;
        if has_changed {
            self.counts.add(AuditAction::DocumentsIngested, "comments");
        }
        Ok(has_changed)
    }

    async fn apply_release(&mut self, tx: &mut Tx, release: &Release) -> Result<Outcome, Error> {
        let Self { project, policy, received_at, .. } = *self;
        if !doc_parts::apply_release(tx, project, policy, release, received_at).await? {
            return Ok(ignored("the release is already at this version or a newer one"));
        }
        self.counts.add(AuditAction::DocumentsIngested, "releases");
        Ok(completed("updated the release notes"))
    }

    async fn delete_page(&mut self, tx: &mut Tx, id: &str) -> Result<Outcome, Error> {
        let source = Provider::Confluence.as_str();
        if !docs::remove_page(tx, self.project, source, id).await? {
            return Ok(ignored("the project has no document of that page"));
        }
        self.counts.add(AuditAction::DocumentsIngested, "withdrawn");
        Ok(completed("deleted the page's document"))
    }
}

/// Returns the outcome of an event of which at most a comment is new.
fn comment_outcome(has_changed: bool, unchanged: &str) -> Outcome {
    if has_changed { completed("stored the comment") } else { ignored(unchanged) }
}

pub(super) fn completed(outcome: &str) -> Outcome {
    (DeliveryState::Completed, outcome.to_owned())
}

pub(super) fn ignored(reason: &str) -> Outcome {
    (DeliveryState::Ignored, reason.to_owned())
}
