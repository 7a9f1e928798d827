//! Judging and writing prepared saves: alone, or queued ones in one transaction.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mc_contract::operations::save::Kept;
use mc_domain::{AuditAction, DialogId, ProjectId, RecordId, TaskId, UserId, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Fingerprint, Nearness, PROPOSAL_DAYS, Record};
use mc_store::vectors::Model;
use mc_store::{Store, Tx, tasks};
use serde_json::json;

use super::apply::{Applied, Incoming, RecordDraft};
use super::batch::create_batch;
use super::merge::merge;
use super::opinion::Opinion;
use super::{Decision, Prepared, SaveRequest, apply};
use crate::content_filter::ReviewStatus;
use crate::judge::{
    Action, CANDIDATE_DISTANCE_MAX, Candidate, Contradiction, Judgment, Known, MergeBasis,
    NoteCache, ParsedNote, Scores, judge,
};
use crate::write_queue::QueuedWrite;
use crate::{Error, quarantine};

/// How near a known record must be for the judge to compare it.
pub(crate) const NEARNESS: Nearness = Nearness { max_distance: CANDIDATE_DISTANCE_MAX, limit: 16 };

/// A save that is ready to be judged and written.
pub(crate) struct Save {
    /// Store in the context of the saver.
    pub store: Store,
    pub request: SaveRequest,
    pub prepared: Prepared,
    pub dialog: Option<DialogId>,
    pub notes: NoteCache,
    pub opinion: Opinion,
}

/// Saver, owner of a private note, and id of the embedding model.
pub(super) type Audience = (Option<UserId>, Option<UserId>, Option<i16>);

impl Save {
    /// Returns the audience; saves with the same audience share their statements.
    pub(super) fn audience(&self) -> Audience {
        let model = self.model().map(|model| model.id);
        (self.store.principal(), private_to(&self.request), model)
    }

    pub(super) fn model(&self) -> Option<&Model> {
        self.prepared.vector().map(|(model, _)| model)
    }

    pub(super) fn vector(&self) -> Option<&[f32]> {
        self.prepared.vector().map(|(_, vector)| vector)
    }

    fn fingerprint(&self) -> Fingerprint<'_> {
        Fingerprint {
            content_hash: &self.prepared.body.content_hash,
            simhash: self.prepared.body.simhash,
            vector: self.vector(),
        }
    }

    pub(super) fn incoming(&self) -> Candidate {
        Candidate {
            kind: self.request.kind,
            note: self.prepared.note.clone(),
            content_hash: self.prepared.body.content_hash.clone(),
            contradicts: self.request.contradicts,
            supersedes: self.request.supersedes,
            usefulness: self.prepared.usefulness,
            verdict: self.opinion.verdict().cloned(),
        }
    }

    /// Enqueues the job that asks the model again, if it did not answer in time.
    pub(super) async fn enqueue_judgment(
        &self,
        tx: &mut Tx,
        record: RecordId,
    ) -> Result<(), Error> {
        match self.opinion {
            Opinion::Later => Ok(records::enqueue_judgment(tx, record).await?),
            Opinion::NotAsked | Opinion::Given(_) => Ok(()),
        }
    }

    /// Returns the note with its links.
    pub(super) fn linked_to(&self, task: Option<TaskId>) -> Incoming<'_> {
        let Self { request, prepared, dialog, .. } = self;
        Incoming { request, prepared, task, dialog: *dialog }
    }

    /// Caches the parsed note of a new record for the next saves of the project.
    fn remember(&self, written: &Written) {
        if let Decision::Created(id) = written.decision {
            self.notes.keep(id, self.prepared.note.clone());
        }
    }
}

/// A written save with the judge's decision.
pub(crate) struct Written {
    pub applied: Applied,
    pub decision: Decision,
    pub reason: String,
    pub scores: Scores,
    pub contradicts: Option<Contradiction>,
}

impl QueuedWrite for Save {
    type Output = Written;

    fn project(&self) -> ProjectId {
        self.request.project
    }

    async fn write_one(&mut self) -> Result<Written, Error> {
        let mut tx = self.store.begin_with_memory_lock(self.request.project).await?;
        let written = judge_and_write(&mut tx, self).await?;
        tx.commit().await?;
        self.remember(&written);
        Ok(written)
    }

    async fn write_batch(group: &mut [Self]) -> Result<Vec<Result<Written, Error>>, Error> {
        let Some(first) = group.first() else { return Ok(Vec::new()) };
        let mut tx = first.store.begin_with_memory_lock(first.request.project).await?;
        let new = create_batch(&mut tx, group).await?;
        let mut written = Vec::with_capacity(group.len());
        for (save, new) in group.iter_mut().zip(new) {
            if let Some(new) = new {
                written.push(Ok(new));
                continue;
            }
            let part = tx.savepoint(&save.store).await?;
            let one = judge_and_write(&mut tx, save).await;
            match &one {
                // After a deadlock, all saves of the batch are retried one by one.
                Err(Error::Store(error)) if error.is_deadlock() => return one.map(|_| Vec::new()),
                Err(_) => tx.rollback_to(part).await?,
                Ok(_) => {}
            }
            written.push(one);
        }
        tx.commit().await?;
        for (save, written) in group.iter().zip(&written) {
            if let Ok(written) = written {
                save.remember(written);
            }
        }
        Ok(written)
    }
}

/// Judges and writes a save in a transaction with the project's memory lock, so that of two equal
/// saves the second finds the first's record. After a failure, the caller rolls back.
async fn judge_and_write(tx: &mut Tx, save: &Save) -> Result<Written, Error> {
    quarantine::claim(tx, save.prepared.review_status).await?;
    let task = match &save.request.task_external_id {
        Some(id) => Some(tasks::ensure(tx, save.request.project, id).await?),
        None => None,
    };
    let known = find_candidates(tx, &[save]).await?.pop().unwrap_or_default();
    let judgment = judge(&save.incoming(), &known);
    let incoming = save.linked_to(task);
    let (request, prepared) = (&save.request, &save.prepared);
    // A released text may be older than the record it would change, so a person decides again.
    let is_outdated = match prepared.review_status {
        ReviewStatus::Released(hold) => {
            mc_store::quarantine::is_outdated(tx, hold, &judgment.touches()).await?
        }
        _ => false,
    };
    let is_proposal = request.visibility == Visibility::Proposed || judgment.needs_review();
    if is_proposal || is_outdated {
        return propose(tx, incoming, judgment).await;
    }
    // Locks all records at once, in one order, as recalls count hits on several records.
    let touched = judgment.touches();
    if !touched.is_empty() {
        records::lock(tx, &touched).await?;
    }
    let applied = match judgment.action {
        Action::Create => {
            apply::insert(tx, incoming, RecordDraft::of(incoming, judgment.scores)).await?
        }
        Action::Merge { into, .. } => merge(tx, incoming, into, &judgment).await?,
    };
    let id = applied.record.id;
    for replaced in &judgment.supersede {
        if !records::supersede(tx, request.project, *replaced, id).await? {
            return Err(Error::UnknownRecord(*replaced));
        }
        // Row and history stay.
        passages::remove(tx, PassageSource::Record(*replaced)).await?;
    }
    let Judgment { action, supersede, contradicts, reason, scores, .. } = judgment;
    if action == Action::Create {
        save.enqueue_judgment(tx, id).await?;
    }
    let decision = match (action, supersede) {
        (Action::Create, replaced) if replaced.is_empty() => Decision::Created(id),
        (Action::Merge { .. }, replaced) if replaced.is_empty() => Decision::Merged(id),
        (_, replaced) => Decision::Superseded { by: id, replaced },
    };
    quarantine::settle(tx, prepared.review_status).await?;
    audit_save(tx, request, &decision, id);
    Ok(Written { applied, decision, reason, scores, contradicts })
}

/// Returns the records that each save of one audience ([`Save::audience`]) may duplicate or change.
pub(super) async fn find_candidates(
    tx: &mut Tx,
    saves: &[&Save],
) -> Result<Vec<Vec<Known>>, Error> {
    let Some(first) = saves.first() else { return Ok(Vec::new()) };
    let private_to = private_to(&first.request);
    let embedded = first.prepared.vector.as_ref().ok();
    let model = embedded.map(|embedded| (&embedded.active.model, embedded.others));
    let texts: Vec<_> = saves.iter().map(|save| save.fingerprint()).collect();
    let found =
        records::candidates(tx, first.request.project, private_to, model, &texts, NEARNESS).await?;
    let known = |candidate: records::Candidate| {
        let note = first.notes.read(candidate.id, &candidate.content);
        as_known(candidate, note)
    };
    Ok(found.into_iter().map(|found| found.into_iter().map(known).collect()).collect())
}

/// Returns a record as the judge compares it, with its parsed content.
pub(crate) fn as_known(record: records::Candidate, note: Arc<ParsedNote>) -> Known {
    let records::Candidate { id, kind, trust, content_hash, similarity: cosine, .. } = record;
    Known { id, kind, trust, note, content_hash, cosine }
}

/// Returns the only user who may see the record, for a private note.
pub(super) fn private_to(request: &SaveRequest) -> Option<UserId> {
    request.saved_by.filter(|_| request.visibility == Visibility::Private)
}

/// Creates a proposal. A near duplicate becomes a proposal to amend the team record.
async fn propose(
    tx: &mut Tx,
    incoming: Incoming<'_>,
    judgment: Judgment,
) -> Result<Written, Error> {
    let Incoming { request, prepared, .. } = incoming;
    let ttl = proposal_ttl(request, prepared);
    let amends = match judgment.action {
        Action::Merge { into, basis: MergeBasis::Hash } => {
            let record = records::find_in(tx, into).await?.ok_or(Error::UnknownRecord(into))?;
            quarantine::settle(tx, prepared.review_status).await?;
            let reason = "the team knows this already".to_owned();
            return Ok(unchanged(record, Decision::Duplicate(into), reason, judgment.scores));
        }
        Action::Merge { into, .. } => Some(into),
        Action::Create => None,
    };
    let hash = &prepared.body.content_hash;
    if let Some(same) = records::same_proposal(tx, request.project, request.kind, hash).await? {
        // An expired proposal is open for review again.
        records::extend_ttl(tx, same, ttl).await?;
        let record = records::find_in(tx, same).await?.ok_or(Error::UnknownRecord(same))?;
        let decision = Decision::Proposed(same);
        // The saver becomes a contributor, so the proposal survives the erasure of earlier ones.
        let is_new_contributor =
            records::add_contribution(tx, same, &apply::origin(incoming)).await?;
        quarantine::settle(tx, prepared.review_status).await?;
        if is_new_contributor {
            audit_save(tx, request, &decision, same);
        }
        let reason = "it was proposed already and waits for a person of the team".to_owned();
        return Ok(unchanged(record, decision, reason, judgment.scores));
    }
    let draft = RecordDraft::of(incoming, judgment.scores).proposed(amends, ttl);
    let applied = apply::insert(tx, incoming, draft).await?;
    let decision = Decision::Proposed(applied.record.id);
    quarantine::settle(tx, prepared.review_status).await?;
    audit_save(tx, request, &decision, applied.record.id);
    let reason = match (judgment.doubt, amends) {
        (Some(doubt), _) => format!(
            "a person of the team decides whether it is to count: the chat model finds that {}",
            doubt.as_str()
        ),
        (None, Some(_)) if judgment.needs_review() => {
            format!("{}; a person of the team decides whether it is to say this", judgment.reason)
        }
        (None, Some(id)) => {
            format!("a person of the team decides whether record {id} is to say this")
        }
        (None, None) => "a person of the team decides whether it is to count".to_owned(),
    };
    let applied = Applied { has_vector: true, ..applied };
    let Judgment { scores, contradicts, .. } = judgment;
    Ok(Written { applied, decision, reason, scores, contradicts })
}

/// Decides when a proposal ends: without an explicit TTL after [`PROPOSAL_DAYS`] at the latest, so
/// that an undecided one does not stay.
fn proposal_ttl(request: &SaveRequest, prepared: &Prepared) -> DateTime<Utc> {
    let review_end = Utc::now() + TimeDelta::days(i64::from(PROPOSAL_DAYS));
    let ttl = prepared.body.ttl;
    if request.ttl.is_some() { ttl } else { ttl.min(review_end) }
}

/// Reports a note that a record holds already.
fn unchanged(record: Record, decision: Decision, reason: String, scores: Scores) -> Written {
    let applied = Applied::of(record, Kept::Existing, true);
    Written { applied, decision, reason, scores, contradicts: None }
}

pub(super) fn audit_save(tx: &mut Tx, request: &SaveRequest, decision: &Decision, id: RecordId) {
    let details = json!({
        "outcome": decision.as_str(),
        "kind": request.kind,
        "visibility": request.visibility,
        "replaced": decision.replaced(),
    });
    audit::record(tx, NewEvent::new(AuditAction::RecordSaved, id).with(details));
}
