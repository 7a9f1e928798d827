//! Judging a saved record again, by a chat model that did not answer in time before the save.

use std::collections::BTreeMap;
use std::sync::Arc;

use mc_chat::ChatModels;
use mc_contract::operations::proposal::Demotion;
use mc_domain::{AuditAction, Policy, RecordId, RecordState, Trust, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::hygiene::usage::{self, RecordSnapshot};
use mc_store::passages::PassageFilter;
use mc_store::records::{self, Fingerprint, Record};
use mc_store::vectors::{self, Model};
use mc_store::{Store, policies};
use serde_json::json;

use crate::Error;
use crate::chat::ProjectChat;
use crate::judge::model::Question;
use crate::judge::{Candidate, Known, ParsedNote, judge};
use crate::save::{NEARNESS, as_known, verdict};
use crate::simhash::simhash;

/// What a second judgment changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejudged {
    /// Nothing: the model agrees with the rules, or the record has changed or is gone.
    Unchanged,
    /// The record is a proposal now, for a reviewer.
    Demoted,
}

/// Judges a record again, with the verdict of a chat model. A record that a person has confirmed
/// stays. `embedding` is the model of its vector, and `store` has the worker's role.
pub async fn judge_again(
    store: &Store,
    chat: &Arc<ChatModels>,
    embedding: &Model,
    id: RecordId,
) -> Result<Rejudged, Error> {
    let Some(record) = records::find(store, id).await?.filter(may_change) else {
        return Ok(Rejudged::Unchanged);
    };
    let policy = policies::of(store, record.project).await?;
    let chat = ProjectChat::new(Arc::clone(chat), store.clone(), record.project, &policy);
    let mut incoming = Candidate::of_text(record.kind, &record.content, None);
    let known = known(store, embedding, &record, &incoming.content_hash).await?;
    let question = Question { kind: record.kind, title: &record.title, content: &record.content };
    incoming.verdict = Some(verdict(&chat, &question, known.clone()).await?);
    let judgment = judge(&incoming, &known);
    match (judgment.doubt, judgment.needs_review()) {
        (Some(doubt), _) => {
            let reason = format!("the chat model doubts that it helps: {}", doubt.as_str());
            demote(store, &record, &policy, reason).await
        }
        (None, true) => demote(store, &record, &policy, judgment.reason).await,
        (None, false) => Ok(Rejudged::Unchanged),
    }
}

fn may_change(record: &Record) -> bool {
    let access = record.access;
    access.visibility == Visibility::Team
        && access.trust > Trust::Untrusted
        && access.trust < Trust::Confirmed
        && matches!(record.state, RecordState::Active | RecordState::Stale)
}

/// Returns the older records that the record may duplicate.
async fn known(
    store: &Store,
    model: &Model,
    record: &Record,
    content_hash: &[u8],
) -> Result<Vec<Known>, Error> {
    let vector = vectors::of_record(store, model, record.id).await?;
    let simhash = simhash(&record.content);
    let texts = [Fingerprint { content_hash, simhash, vector: vector.as_deref() }];
    let records = PassageFilter::records(record.project);
    let placement = vectors::placement(store, model, &records).await?;
    let placed = vector.is_some().then_some((model, placement));
    let mut tx = store.begin().await?;
    let found = records::candidates(&mut tx, record.project, None, placed, &texts, NEARNESS);
    let found = found.await?.pop().unwrap_or_default();
    let known = found.into_iter().filter(|other| other.id < record.id);
    let known = known.map(|other| {
        let note = ParsedNote::read(&other.content);
        as_known(other, Arc::new(note))
    });
    Ok(known.collect())
}

async fn demote(
    store: &Store,
    record: &Record,
    policy: &Policy,
    reason: String,
) -> Result<Rejudged, Error> {
    let demotion =
        Demotion { rank_factor: None, factors: BTreeMap::new(), reasons: vec![reason.clone()] };
    let Record { id, recall_count, updated_at, .. } = *record;
    let snapshot = RecordSnapshot { id, recall_count, updated_at };
    let days = policy.retention_days.quarantine;
    let mut tx = store.begin_with_memory_lock(record.project).await?;
    if usage::demote(&mut tx, record.project, &[(snapshot, demotion)], days).await?.is_empty() {
        return Ok(Rejudged::Unchanged);
    }
    let details = json!({"action": "demote", "records": [{
        "record": record.id, "reasons": [reason],
    }]});
    let event = NewEvent::new(AuditAction::RecordsRetired, "judge").with(details);
    audit::add(&mut tx, audit::Chain::Project(record.project), None, &[event]);
    tx.commit().await?;
    Ok(Rejudged::Demoted)
}
