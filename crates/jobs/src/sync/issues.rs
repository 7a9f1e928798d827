//! A tracker's issues as tasks, and what people say about them as documents.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_connectors::Event;
use mc_connectors::client::{System, SystemKind};
use mc_connectors::system::{Cursor, Discussion, Page};
use mc_domain::{Act, Policy};
use mc_memory::gate::{beside, pass_text_alone};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::tasks::{self, NewTask, Upserted};
use mc_store::{Tx, connections, unlisted};
use serde_json::json;

use super::{Ended, Place, Progress, Stopped, Syncing, written};
use crate::comments::{self, Said};
use crate::issue::as_task;

/// Which system was asked for a page of issues, and when.
#[derive(Clone, Copy)]
struct Asked {
    kind: SystemKind,
    at: DateTime<Utc>,
    with_comments: bool,
}

/// A page of issues as it is written.
struct Batch {
    tasks: Vec<NewTask>,
    said: Vec<Said>,
}

impl Syncing<'_> {
    pub(super) async fn issues(&self, system: &System) -> Result<Ended, Stopped> {
        let tracker = system.tracker(&self.asking.what)?;
        let mut place = Place::of(self.asking);
        let Some(mut at) = self.where_to_begin(&mut place).await? else {
            return Ok(Ended::Overtaken);
        };
        loop {
            let asked =
                Asked { kind: system.kind(), at: Utc::now(), with_comments: at.with_comments };
            let page = tracker.changed(&at.cursor, at.with_comments).await?;
            let (next, is_last) = (page.next.clone(), page.is_last);
            if !is_last && next == at.cursor {
                return Err(super::stands_still());
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
        self.compare(place, at, &*tracker).await
    }

    /// Where the sync goes on. Comments that are wanted now and were not before are asked for from the beginning;
    /// those that are not any more are forgotten.
    async fn where_to_begin(&self, place: &mut Place) -> Result<Option<Progress>, Stopped> {
        let asking = self.asking;
        let is_wanted = asking.with_comments && asking.policy.trackers.comments;
        let at: Progress = place.read();
        if at.with_comments == is_wanted {
            return Ok(Some(at));
        }
        let at = Progress {
            cursor: if is_wanted { Cursor::default() } else { at.cursor },
            with_comments: is_wanted,
            sweep: at.sweep,
        };
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, written(&at)?).await? {
            return Ok(None);
        }
        if !is_wanted {
            connections::forget_documents(&mut tx, asking.project, asking.id).await?;
        }
        tx.commit().await?;
        Ok(Some(at))
    }

    /// Writes a page, and where the next one begins, or nothing; `false` where somebody else has gone on.
    async fn take_issues(
        &self,
        place: &mut Place,
        asked: Asked,
        page: Page<Discussion>,
        at: &mut Progress,
    ) -> Result<bool, Stopped> {
        let next = Progress { cursor: page.next, ..at.clone() };
        let batch = self.prepared(asked, page.items).await;
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, written(&next)?).await? {
            return Ok(false);
        }
        self.write_issues(&mut tx, asked, &batch).await?;
        self.came(&mut tx, batch.tasks.len()).await?;
        tx.commit().await?;
        *at = next;
        Ok(true)
    }

    async fn prepared(&self, asked: Asked, discussions: Vec<Discussion>) -> Batch {
        let policy = self.asking.policy.clone();
        let (tasks, said): (Vec<_>, Vec<_>) = beside(move || {
            let known = discussions.into_iter().filter(|one| keeps_its_id(&policy, one));
            known.map(|one| as_rows(&policy, asked, one)).unzip()
        })
        .await;
        Batch { tasks, said: said.into_iter().flatten().collect() }
    }

    async fn write_issues(&self, tx: &mut Tx, asked: Asked, batch: &Batch) -> Result<(), Stopped> {
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
        connections::brought(tx, project, connection, &ids, &[]).await?;
        // Whatever a list says that was begun before: they are there.
        unlisted::seen(tx, connection, &ids).await?;
        if asked.with_comments {
            let source = comments::source(asked.kind);
            connections::brought_from(tx, project, connection, &source, &ids).await?;
        }
        if !synced.is_empty() {
            let event = NewEvent::new(Act::TasksSynced, connection).with(json!(synced));
            audit::add(tx, Chain::Project(project), None, &[event]);
        }
        if changed > 0 {
            let detail = json!({ "comments": changed });
            let event = NewEvent::new(Act::DocumentsIngested, connection).with(detail);
            audit::add(tx, Chain::Project(project), None, &[event]);
        }
        Ok(())
    }

    /// Writes what is said about issues; answers of how many that is something else than before.
    async fn write_said(&self, tx: &mut Tx, said: &[Said]) -> Result<u32, Stopped> {
        let mut changed = 0;
        for one in said {
            let is_another =
                comments::write(tx, self.asking.project, &self.asking.policy, one).await?;
            changed += u32::from(is_another);
        }
        Ok(changed)
    }
}

/// Whether the policy lets the issue's id in: masked it would be another's.
fn keeps_its_id(policy: &Policy, discussion: &Discussion) -> bool {
    let external_id = discussion.issue.external_id.clone();
    let event = Event::IssueGone { external_id }.masked(|id| pass_text_alone(policy, id));
    event.subject() == Some(&discussion.issue.external_id)
}

/// The task, and what is said about it where that was asked for.
fn as_rows(policy: &Policy, asked: Asked, discussion: Discussion) -> (NewTask, Option<Said>) {
    let Discussion { issue, comments, has_all_comments } = discussion;
    let said = asked.with_comments.then(|| {
        let of = (asked.kind, &issue.thread());
        Said::listed(policy, of, &comments, asked.at, has_all_comments)
    });
    (as_task(policy, Utc::now(), issue), said)
}
