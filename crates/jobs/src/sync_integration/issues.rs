//! Sync of issues: imports a tracker's issues as tasks, and their comments as documents.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_connectors::Event;
use mc_connectors::client::{Connector, Provider};
use mc_connectors::traits::{Cursor, IssueWithComments, Page};
use mc_domain::{AuditAction, Policy};
use mc_memory::content_filter::{filter_field_text, run_limited};
use mc_store::integrations::SyncTarget;
use mc_store::tasks::{self, NewTask};
use mc_store::{Tx, Upserted, deletion_candidates, integrations};
use serde_json::json;

use super::{Position, SyncError, SyncOutcome, SyncSession, SyncState, check_progress};
use crate::apply::doc_parts::{self, DocPartBatch};
use crate::apply::task_from_issue;
use crate::job::record_event;

/// The request of a page of issues.
#[derive(Clone, Copy)]
struct PageRequest {
    provider: Provider,
    requested_at: DateTime<Utc>,
    include_comments: bool,
}

/// The rows of a page of issues.
struct IssueBatch {
    tasks: Vec<NewTask>,
    comments: Vec<DocPartBatch>,
}

impl SyncSession<'_> {
    /// Imports the issues that changed since the stored position, then reconciles.
    pub(super) async fn sync_issues(
        &self,
        connector: &Connector,
    ) -> Result<SyncOutcome, SyncError> {
        let tracker = connector.tracker(&self.target.resource)?;
        let mut position = Position::load(self.target);
        self.apply_comment_setting(&mut position).await?;
        loop {
            let SyncState { cursor, include_comments, .. } = &position.state;
            let request = PageRequest {
                provider: connector.kind(),
                requested_at: Utc::now(),
                include_comments: *include_comments,
            };
            let page = tracker.list_changed(cursor, *include_comments).await?;
            let is_last = page.is_last;
            check_progress(&page, cursor)?;
            self.store_issues(&mut position, request, page).await?;
            if is_last {
                return self.reconcile(position, &*tracker).await;
            }
            if self.is_time_slice_over() {
                return Ok(SyncOutcome::Incomplete);
            }
        }
    }

    /// Adapts the position if the import of comments was switched since: on, all issues are read
    /// again; off, the imported comments are deleted.
    async fn apply_comment_setting(
        &self,
        position: &mut Position<SyncState>,
    ) -> Result<(), SyncError> {
        let target = self.target;
        let include_comments = target.include_comments && target.policy.trackers.import_comments;
        let state = &position.state;
        if state.include_comments == include_comments {
            return Ok(());
        }
        let cursor = if include_comments { Cursor::default() } else { state.cursor.clone() };
        let next = SyncState { cursor, include_comments, sweep: state.sweep.clone() };
        let mut tx = self.store.begin().await?;
        self.advance(&mut tx, position, next).await?;
        if !include_comments {
            integrations::purge_documents(&mut tx, target.project, target.id).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Stores a page with the position of the next one.
    async fn store_issues(
        &self,
        position: &mut Position<SyncState>,
        request: PageRequest,
        page: Page<IssueWithComments>,
    ) -> Result<(), SyncError> {
        let next = SyncState { cursor: page.next, ..position.state.clone() };
        let batch = self.prepare_issues(request, page.items).await;
        let mut tx = self.store.begin().await?;
        self.advance(&mut tx, position, next).await?;
        self.write_issues(&mut tx, request, &batch).await?;
        self.count_items(&mut tx, batch.tasks.len()).await?;
        Ok(tx.commit().await?)
    }

    async fn prepare_issues(
        &self,
        request: PageRequest,
        issues: Vec<IssueWithComments>,
    ) -> IssueBatch {
        let policy = self.target.policy.clone();
        let (tasks, comments): (Vec<_>, Vec<_>) = run_limited(None, move || {
            let accepted = issues.into_iter().filter(|issue| is_id_accepted(&policy, issue));
            accepted.map(|issue| prepare_issue(&policy, request, issue)).unzip()
        })
        .await;
        IssueBatch { tasks, comments: comments.into_iter().flatten().collect() }
    }

    async fn write_issues(
        &self,
        tx: &mut Tx,
        request: PageRequest,
        batch: &IssueBatch,
    ) -> Result<(), SyncError> {
        let (project, integration) = (self.target.project, self.target.id);
        let task_counts = self.write_tasks(tx, &batch.tasks).await?;
        let comment_count = self.write_comments(tx, &batch.comments).await?;
        let ids: Vec<_> = batch.tasks.iter().map(|task| task.external_id.clone()).collect();
        integrations::assign_integration(tx, project, integration, &ids, &[]).await?;
        // A listing that started earlier may lack them.
        deletion_candidates::mark_seen(tx, integration, &ids).await?;
        if request.include_comments {
            let source = doc_parts::source(request.provider);
            integrations::assign_docs_integration(tx, project, integration, &source, &ids).await?;
        }
        if !task_counts.is_empty() {
            let action = AuditAction::TasksSynced;
            record_event(tx, project, action, integration, json!(task_counts));
        }
        if comment_count > 0 {
            let details = json!({ "comments": comment_count });
            record_event(tx, project, AuditAction::DocumentsIngested, integration, details);
        }
        Ok(())
    }

    /// Writes tasks; returns the numbers of created and updated ones.
    async fn write_tasks(
        &self,
        tx: &mut Tx,
        tasks: &[NewTask],
    ) -> Result<BTreeMap<&'static str, u32>, SyncError> {
        let mut counts = BTreeMap::new();
        for task in tasks {
            let change = tasks::upsert(tx, self.target.project, task).await?;
            if change != Upserted::Unchanged {
                *counts.entry(change.as_str()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Writes the comments on issues; returns the number of issues with changed comments.
    async fn write_comments(
        &self,
        tx: &mut Tx,
        comments: &[DocPartBatch],
    ) -> Result<u32, SyncError> {
        let SyncTarget { project, policy, .. } = self.target;
        let mut changed = 0;
        for batch in comments {
            changed += u32::from(doc_parts::write(tx, *project, policy, batch).await?);
        }
        Ok(changed)
    }
}

/// Returns whether the policy leaves the issue's id unmasked. A masked id could be another issue's.
fn is_id_accepted(policy: &Policy, issue: &IssueWithComments) -> bool {
    let external_id = issue.issue.external_id.clone();
    let event = Event::IssueDeleted { external_id }.masked(|id| filter_field_text(policy, id));
    event.subject() == Some(&issue.issue.external_id)
}

/// Returns the task of an issue, and its comments if they were requested.
fn prepare_issue(
    policy: &Policy,
    request: PageRequest,
    issue: IssueWithComments,
) -> (NewTask, Option<DocPartBatch>) {
    let IssueWithComments { issue, comments, has_all_comments } = issue;
    let comments = request.include_comments.then(|| {
        let thread = (request.provider, &issue.thread());
        let requested_at = request.requested_at;
        DocPartBatch::from_listing(policy, thread, &comments, requested_at, has_all_comments)
    });
    (task_from_issue(policy, Utc::now(), issue), comments)
}
