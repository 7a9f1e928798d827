//! Judging a saved record again, by a chat model that did not answer before the save.

use std::collections::BTreeMap;
use std::sync::Arc;

use mc_chat::{ChatModels, ChatRequest};
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
use crate::judge::model::{self, Question, Verdict};
use crate::judge::{Candidate, Known, ParsedNote, judge};
use crate::normalize::content_hash;
use crate::save::{NEARNESS, as_known, verdict};
use crate::simhash::simhash;

/// What a second judgment changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejudged {
    /// Nothing: the model agrees with the rules, or the record has changed or is gone.
    Unchanged,
    /// The record is a proposal now, for a reviewer.
    Demoted {
        /// Why.
        reason: String,
    },
}

/// Judges a record again, with the verdict of a chat model. A record that a person has confirmed
/// stays. `embedding` is the model of its vector, and `store` has the worker's role.
pub async fn judge_again(
    store: &Store,
    chat: &Arc<ChatModels>,
    embedding: &Model,
    id: RecordId,
) -> Result<Rejudged, Error> {
    let Some(saved) = SavedRecord::find(store, embedding, id).await? else {
        return Ok(Rejudged::Unchanged);
    };
    let policy = policies::of(store, saved.record.project).await?;
    let chat = ProjectChat::new(Arc::clone(chat), store.clone(), saved.record.project, &policy);
    let verdict = verdict(&chat, &saved.question(), saved.known.clone()).await?;
    saved.judge(store, &policy, verdict, JudgeSource::Service).await
}

/// The model that gave a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgeSource {
    /// A model of the service.
    Service,
    /// The model of a client, whose user may have written the verdict.
    Client,
}

impl JudgeSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Service => "the chat model",
            Self::Client => "the client's model",
        }
    }
}

/// A record that was saved, with the older ones that it may duplicate.
pub(crate) struct SavedRecord {
    record: Record,
    known: Vec<Known>,
}

impl SavedRecord {
    /// Finds a record whose judgment may change. `embedding` is the model of its vector.
    pub async fn find(
        store: &Store,
        embedding: &Model,
        id: RecordId,
    ) -> Result<Option<Self>, Error> {
        let Some(record) = records::find(store, id).await?.filter(may_change) else {
            return Ok(None);
        };
        let known = known(store, embedding, &record).await?;
        Ok(Some(Self { record, known }))
    }

    /// Returns the version of the record.
    pub fn version(&self) -> i32 {
        self.record.version
    }

    /// Returns the request to a model about it, and the known records of the request.
    pub fn request(&self, max_bytes: usize) -> (ChatRequest, Vec<RecordId>) {
        let mut known = self.known.clone();
        let request = model::request(&self.question(), &mut known, max_bytes);
        (request, known.into_iter().map(|known| known.id).collect())
    }

    /// Returns the question about it for a model.
    fn question(&self) -> Question<'_> {
        let Record { kind, title, content, .. } = &self.record;
        Question { kind: *kind, title, content }
    }

    /// Judges it by the rules with the verdict of a model.
    pub async fn judge(
        self,
        store: &Store,
        policy: &Policy,
        verdict: Verdict,
        source: JudgeSource,
    ) -> Result<Rejudged, Error> {
        let Self { record, known } = self;
        let incoming = Candidate::of_text(record.kind, &record.content, None);
        let judgment = judge(&Candidate { verdict: Some(verdict), ..incoming }, &known);
        let reason = match judgment.doubt {
            Some(doubt) => {
                format!("{} doubts that it helps: {}", source.as_str(), doubt.as_str())
            }
            None if judgment.needs_review() => judgment.reason,
            None => return Ok(Rejudged::Unchanged),
        };
        demote(store, &record, policy, reason).await
    }
}

/// Returns whether a second judgment may change the record.
pub(crate) fn may_change(record: &Record) -> bool {
    let access = record.access;
    access.visibility == Visibility::Team
        && access.trust > Trust::Untrusted
        && access.trust < Trust::Confirmed
        && matches!(record.state, RecordState::Active | RecordState::Stale)
}

/// Returns the older records that the record may duplicate.
async fn known(store: &Store, model: &Model, record: &Record) -> Result<Vec<Known>, Error> {
    let vector = vectors::of_record(store, model, record.id).await?;
    let content_hash = &content_hash(&record.content);
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
    audit::add(&mut tx, audit::Chain::Project(record.project), store.principal(), &[event]);
    tx.commit().await?;
    Ok(Rejudged::Demoted { reason })
}
