//! A tracker's issues as tasks, and what people say about them as documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use mc_connectors::Event;
use mc_connectors::client::System;
use mc_connectors::system::{Comment, Cursor, Page, Thread, Tracker};
use mc_domain::{Act, ConnectionId, DocId, Policy};
use mc_memory::documents::{self, Body, Document, Incoming, Prepared, Said};
use mc_memory::gate::{Looked, Verdict, beside, pass_alone};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::connections;
use mc_store::tasks::{self, NewTask, Upserted};
use mc_store::{Tx, docs};
use serde_json::json;

use super::{Ended, Place, Progress, Stopped, Syncing, cleaned, gone, written};
use crate::issue::as_task;

/// Of what is said about an issue the last so many are kept, and so many characters of each and of all.
const COMMENTS: usize = 500;
const COMMENT: usize = 32_000;
const ALL_COMMENTS: usize = 500_000;

/// A page of issues as it is written.
struct Batch {
    tasks: Vec<NewTask>,
    /// What is said about some of them.
    said: Vec<Prepared>,
    /// Those about which nothing is said, any more.
    silent: Vec<String>,
}

impl Syncing<'_> {
    pub(super) async fn issues(&self, system: &System) -> Result<Ended, Stopped> {
        let tracker = system.tracker(&self.asking.what)?;
        let mut place = Place::of(self.asking);
        let Some(mut at) = self.where_to_begin(&mut place).await? else {
            return Ok(Ended::Overtaken);
        };
        loop {
            let page = tracker.changed(&at.cursor, at.with_comments).await?;
            let (next, is_last) = (page.next.clone(), page.is_last);
            if !is_last && next == at.cursor {
                return Err(super::stands_still());
            }
            if !self.take_issues(&mut place, page, &mut at).await? {
                return Ok(Ended::Overtaken);
            }
            if is_last {
                break;
            }
            if self.is_over() {
                return Ok(Ended::More);
            }
        }
        self.compare_tasks(&tracker, place).await
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
        page: Page<Thread>,
        at: &mut Progress,
    ) -> Result<bool, Stopped> {
        let next = Progress { cursor: page.next, ..at.clone() };
        let batch = self.prepared(page.items, at.with_comments).await;
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, written(&next)?).await? {
            return Ok(false);
        }
        self.write_issues(&mut tx, &batch).await?;
        tx.commit().await?;
        *at = next;
        Ok(true)
    }

    async fn prepared(&self, threads: Vec<Thread>, with_comments: bool) -> Batch {
        let policy = Arc::new(self.asking.policy.clone());
        let (heard_at, masking) = (Utc::now(), Arc::clone(&policy));
        let threads: Vec<_> = beside(move || {
            let known = threads.into_iter().filter(|thread| keeps_its_id(&masking, thread));
            known.map(|thread| as_rows(&masking, heard_at, thread)).collect()
        })
        .await;
        let (connection, system) = (self.asking.id, self.asking.system.as_str());
        let mut batch = Batch { tasks: Vec::new(), said: Vec::new(), silent: Vec::new() };
        let mut conversations = Vec::new();
        for (task, said) in threads {
            match conversation(connection, system, &task, said) {
                Some(said) if with_comments => conversations.push(said),
                _ => batch.silent.push(task.external_id.clone()),
            }
            batch.tasks.push(task);
        }
        batch.said = documents::prepare_all(&policy, conversations, Looked::Nobody).await;
        batch
    }

    async fn write_issues(&self, tx: &mut Tx, batch: &Batch) -> Result<(), Stopped> {
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
        let ids: Vec<_> = batch.tasks.iter().map(|task| task.external_id.clone()).collect();
        connections::brought(tx, project, connection, &ids, &[]).await?;
        let kept = self.write_said(tx, &batch.said).await?;
        let gone = connections::forget_gone(tx, project, connection, &batch.silent).await?;
        if !synced.is_empty() {
            let event = NewEvent::new(Act::TasksSynced, connection).with(json!(synced));
            audit::add(tx, Chain::Project(project), None, &[event]).await?;
        }
        if kept + gone > 0 {
            let detail = json!({ "updated": kept, "removed": gone });
            let event = NewEvent::new(Act::DocumentsIngested, connection).with(detail);
            audit::add(tx, Chain::Project(project), None, &[event]).await?;
        }
        Ok(())
    }

    /// Writes what is said about issues; answers how much of it is new. Each comment was withheld by itself where
    /// the policy does not let it in; what is amiss all the same is left out.
    async fn write_said(&self, tx: &mut Tx, said: &[Prepared]) -> Result<u64, Stopped> {
        let mut kept = 0;
        for one in said {
            if !matches!(one.verdict, Verdict::Take { .. }) {
                continue;
            }
            let (_, outcome): (DocId, _) = one.write(tx, self.asking.project).await?;
            kept += u64::from(outcome != docs::Outcome::Unchanged);
        }
        Ok(kept)
    }

    async fn compare_tasks(
        &self,
        tracker: &Arc<dyn Tracker>,
        place: Place,
    ) -> Result<Ended, Stopped> {
        if !self.asking.is_compared {
            return Ok(Ended::Done);
        }
        let asked_at = Utc::now();
        let known = connections::known_tasks(self.store, self.asking.id).await?;
        let gone = gone::find(known, &**tracker).await?;
        self.withdraw(place, &gone, Some(asked_at)).await
    }
}

/// Whether the policy lets the issue's id in: masked it would be another's.
fn keeps_its_id(policy: &Policy, thread: &Thread) -> bool {
    let external_id = thread.issue.external_id.clone();
    let event = Event::IssueGone { external_id }.masked(|id| pass_alone(policy, id).into_string());
    event.subject() == Some(&thread.issue.external_id)
}

/// The task, and what is said about it: each comment by itself as the policy has it, since no person decides about
/// single ones.
fn as_rows(policy: &Policy, heard_at: DateTime<Utc>, thread: Thread) -> (NewTask, Vec<Said>) {
    let mut left = ALL_COMMENTS;
    let mut said: Vec<_> = Vec::new();
    for comment in thread.comments.into_iter().rev().take(COMMENTS) {
        let text = cleaned(&comment.text, COMMENT);
        let length = text.chars().count();
        if length > left {
            break;
        }
        left -= length;
        if !text.trim().is_empty() {
            said.push(as_said(policy, &comment, &text));
        }
    }
    said.reverse();
    (as_task(policy, heard_at, thread.issue), said)
}

fn as_said(policy: &Policy, comment: &Comment, text: &str) -> Said {
    let author = cleaned(&comment.author, 120).replace(['\n', '\r', '\t'], " ");
    Said {
        author: Some(pass_alone(policy, &author).into_string()).filter(|name| !name.is_empty()),
        sent_at: comment.at,
        text: pass_alone(policy, text).into_string(),
    }
}

/// What is said about an issue, as a document beside its task; nothing where nobody says anything.
fn conversation(
    connection: ConnectionId,
    system: &str,
    task: &NewTask,
    said: Vec<Said>,
) -> Option<Incoming> {
    if said.is_empty() {
        return None;
    }
    let url = task.links.first().map(|link| link.url.clone()).unwrap_or_default();
    Some(Incoming {
        saved_by: None,
        connection: Some(connection),
        source: format!("tracker:{system}"),
        document: Document {
            doc_id: task.external_id.clone(),
            title: format!("{} {}", task.external_id, task.title.as_str()),
            body: Body::Conversation(said),
            url,
            scope: Vec::new(),
            tags: task.labels.clone(),
        },
    })
}
