//! A tracker's issues as tasks, and what people say about them as documents.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_connectors::Event;
use mc_connectors::client::{Connector, Provider};
use mc_connectors::traits::{Cursor, IssueWithComments, Page};
use mc_domain::{AuditAction, Policy};
use mc_memory::content_filter::{filter_field_text, run_blocking};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::tasks::{self, NewTask, Upserted};
use mc_store::{Tx, deletion_candidates, integrations};
use serde_json::json;

use super::{Ended, Place, SyncError, SyncSession, SyncState, to_json};
use crate::apply::doc_parts::{self, DocPartBatch};
use crate::apply::task::task_from_issue;

/// Which system was asked for a page of issues, and when.
#[derive(Clone, Copy)]
struct Asked {
    kind: Provider,
    at: DateTime<Utc>,
    include_comments: bool,
}

/// A page of issues as it is written.
struct Batch {
    tasks: Vec<NewTask>,
    said: Vec<DocPartBatch>,
}

impl SyncSession<'_> {
    pub(super) async fn issues(&self, system: &Connector) -> Result<Ended, SyncError> {
        let tracker = system.tracker(&self.asking.resource)?;
        let mut place = Place::of(self.asking);
        let Some(mut at) = self.where_to_begin(&mut place).await? else {
            return Ok(Ended::Overtaken);
        };
        loop {
            let asked = Asked {
                kind: system.kind(),
                at: Utc::now(),
                include_comments: at.include_comments,
            };
            let page = tracker.list_changed(&at.cursor, at.include_comments).await?;
            let (next, is_last) = (page.next.clone(), page.is_last);
            if !is_last && next == at.cursor {
                return Err(super::no_progress());
            }
            if !self.take_issues(&mut place, asked, page, &mut at).await? {
                return Ok(Ended::Overtaken);
            }
            if is_last {
                break;
            }
            if self.is_over() {
                return Ok(Ended::More);
            }
        }
        self.reconcile(place, at, &*tracker).await
    }

    /// Where the sync goes on. Comments that are wanted now and were not before are asked for from
    /// the beginning; those that are not any more are forgotten.
    async fn where_to_begin(&self, place: &mut Place) -> Result<Option<SyncState>, SyncError> {
        let asking = self.asking;
        let is_wanted = asking.include_comments && asking.policy.trackers.import_comments;
        let at: SyncState = place.read();
        if at.include_comments == is_wanted {
            return Ok(Some(at));
        }
        let at = SyncState {
            cursor: if is_wanted { Cursor::default() } else { at.cursor },
            include_comments: is_wanted,
            sweep: at.sweep,
        };
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, to_json(&at)?).await? {
            return Ok(None);
        }
        if !is_wanted {
            integrations::purge_documents(&mut tx, asking.project, asking.id).await?;
        }
        tx.commit().await?;
        Ok(Some(at))
    }

    /// Writes a page, and where the next one begins, or nothing; `false` where somebody else has
    /// gone on.
    async fn take_issues(
        &self,
        place: &mut Place,
        asked: Asked,
        page: Page<IssueWithComments>,
        at: &mut SyncState,
    ) -> Result<bool, SyncError> {
        let next = SyncState { cursor: page.next, ..at.clone() };
        let batch = self.prepared(asked, page.items).await;
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, to_json(&next)?).await? {
            return Ok(false);
        }
        self.write_issues(&mut tx, asked, &batch).await?;
        self.count_items(&mut tx, batch.tasks.len()).await?;
        tx.commit().await?;
        *at = next;
        Ok(true)
    }

    async fn prepared(&self, asked: Asked, discussions: Vec<IssueWithComments>) -> Batch {
        let policy = self.asking.policy.clone();
        let (tasks, said): (Vec<_>, Vec<_>) = run_blocking(move || {
            let known = discussions.into_iter().filter(|one| keeps_its_id(&policy, one));
            known.map(|one| as_rows(&policy, asked, one)).unzip()
        })
        .await;
        Batch { tasks, said: said.into_iter().flatten().collect() }
    }

    async fn write_issues(
        &self,
        tx: &mut Tx,
        asked: Asked,
        batch: &Batch,
    ) -> Result<(), SyncError> {
        let (project, connection) = (self.asking.project, self.asking.id);
        let mut synced = BTreeMap::new();
        for task in &batch.tasks {
            let did = match tasks::upsert(tx, project, task).await? {
                Upserted::Created => "created",
                Upserted::Updated => "updated",
                Upserted::Unchanged => continue,
            };
            *synced.entry(did).or_insert(0_u32) += 1;
        }
        let changed = self.write_said(tx, &batch.said).await?;
        let ids: Vec<_> = batch.tasks.iter().map(|task| task.external_id.clone()).collect();
        integrations::assign_integration(tx, project, connection, &ids, &[]).await?;
        // Whatever a list says that was begun before: they are there.
        deletion_candidates::mark_seen(tx, connection, &ids).await?;
        if asked.include_comments {
            let source = doc_parts::source(asked.kind);
            integrations::assign_docs_integration(tx, project, connection, &source, &ids).await?;
        }
        if !synced.is_empty() {
            let event = NewEvent::new(AuditAction::TasksSynced, connection).with(json!(synced));
            audit::add(tx, Chain::Project(project), None, &[event]);
        }
        if changed > 0 {
            let detail = json!({ "comments": changed });
            let event = NewEvent::new(AuditAction::DocumentsIngested, connection).with(detail);
            audit::add(tx, Chain::Project(project), None, &[event]);
        }
        Ok(())
    }

    /// Writes what is said about issues; answers of how many that is something else than before.
    async fn write_said(&self, tx: &mut Tx, said: &[DocPartBatch]) -> Result<u32, SyncError> {
        let mut changed = 0;
        for one in said {
            let is_another =
                doc_parts::write(tx, self.asking.project, &self.asking.policy, one).await?;
            changed += u32::from(is_another);
        }
        Ok(changed)
    }
}

/// Whether the policy lets the issue's id in: masked it would be another's.
fn keeps_its_id(policy: &Policy, discussion: &IssueWithComments) -> bool {
    let external_id = discussion.issue.external_id.clone();
    let event = Event::IssueDeleted { external_id }.masked(|id| filter_field_text(policy, id));
    event.subject() == Some(&discussion.issue.external_id)
}

/// The task, and what is said about it where that was asked for.
fn as_rows(
    policy: &Policy,
    asked: Asked,
    discussion: IssueWithComments,
) -> (NewTask, Option<DocPartBatch>) {
    let IssueWithComments { issue, comments, has_all_comments } = discussion;
    let said = asked.include_comments.then(|| {
        let of = (asked.kind, &issue.thread());
        DocPartBatch::listed(policy, of, &comments, asked.at, has_all_comments)
    });
    (task_from_issue(policy, Utc::now(), issue), said)
}
