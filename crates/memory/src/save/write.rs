//! A save that is ready, judged and written.

use chrono::{TimeDelta, Utc};
use mc_domain::{AuditAction, DialogId, ProjectId, RecordId, UserId, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::citations::Citation;
use mc_store::records::{self, Fingerprint, Nearness, PROPOSAL_DAYS, Record};
use mc_store::vectors::Model;
use mc_store::{Store, Tx, tasks};
use serde_json::json;

use super::report::{Contradicted, Kept, Report};
use super::together::write_new;
use super::{Decision, Prepared, SaveRequest, apply};
use crate::content_filter::ReviewStatus;
use crate::groups::Work;
use crate::judge::{
    self, Action, CANDIDATE_DISTANCE_MAX, Candidate, Known, NoteCache, Scores, judge,
};
use crate::{Error, quarantine};

/// What a new record is compared with.
const NEARNESS: Nearness = Nearness { max_distance: CANDIDATE_DISTANCE_MAX, limit: 16 };

/// A save that is ready to be judged and written.
pub(crate) struct Save {
    /// The database, on behalf of who saves.
    pub store: Store,
    pub request: SaveRequest,
    pub prepared: Prepared,
    pub dialog: Option<DialogId>,
    pub notes: NoteCache,
}

/// Who saves, for whom, and with vectors of which model.
pub(super) type Audience = (Option<UserId>, Option<UserId>, Option<i16>);

impl Save {
    /// Saves that are alike in this are looked up and written by the same statements.
    pub(super) fn audience(&self) -> Audience {
        let model = self.model().map(|model| model.id);
        (self.store.principal(), private_to(&self.request), model)
    }

    pub(super) fn model(&self) -> Option<&Model> {
        self.prepared.vector.as_ref().map(|embedded| &embedded.active.model)
    }

    pub(super) fn vector(&self) -> Option<&[f32]> {
        self.prepared.vector.as_ref().map(|embedded| embedded.vector.as_slice())
    }

    fn fingerprint(&self) -> Fingerprint<'_> {
        Fingerprint {
            content_hash: &self.prepared.content_hash,
            simhash: self.prepared.simhash,
            vector: self.vector(),
        }
    }

    pub(super) fn incoming(&self) -> Candidate {
        Candidate {
            kind: self.request.kind,
            note: self.prepared.note.clone(),
            content_hash: self.prepared.content_hash,
            contradicts: self.request.contradicts,
            supersedes: self.request.supersedes,
            usefulness: self.prepared.usefulness,
        }
    }

    /// The next saves of the project meet what is new.
    fn remember(&self, written: &Written) {
        if let Decision::Created(id) = written.decision {
            self.notes.keep(id, self.prepared.note.clone());
        }
    }
}

/// What was written.
pub(crate) struct Written {
    pub record: Record,
    pub decision: Decision,
    pub reason: String,
    pub scores: Scores,
    pub citations: Vec<Citation>,
    pub report: Report,
    pub contradicts: Option<Contradicted>,
    pub has_vector: bool,
}

impl Work for Save {
    type Done = Written;

    fn project(&self) -> ProjectId {
        self.request.project
    }

    async fn alone(&mut self) -> Result<Written, Error> {
        let mut tx = self.store.begin_with_memory_lock(self.request.project).await?;
        let written = judge_and_write(&mut tx, self).await?;
        tx.commit().await?;
        self.remember(&written);
        Ok(written)
    }

    async fn together(group: &mut [Self]) -> Result<Vec<Result<Written, Error>>, Error> {
        let Some(first) = group.first() else { return Ok(Vec::new()) };
        let mut tx = first.store.begin_with_memory_lock(first.request.project).await?;
        let new = write_new(&mut tx, group).await?;
        let mut written = Vec::with_capacity(group.len());
        for (save, new) in group.iter_mut().zip(new) {
            if let Some(new) = new {
                written.push(Ok(new));
                continue;
            }
            let part = tx.savepoint(&save.store).await?;
            let one = judge_and_write(&mut tx, save).await;
            match &one {
                // All begin again, each by itself.
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

/// Judges and writes in a transaction that has the project's lock, so that of two people who save the same thing at
/// once the second meets the record of the first. Where it fails, what it has written is to be undone.
async fn judge_and_write(tx: &mut Tx, save: &mut Save) -> Result<Written, Error> {
    quarantine::claim(tx, save.prepared.looked).await?;
    let task = match &save.request.task_external_id {
        Some(id) => Some(tasks::ensure(tx, save.request.project, id).await?),
        None => None,
    };
    let known = known_to(tx, &[save]).await?.pop().unwrap_or_default();
    let judgement = judge(&save.incoming(), &known);
    let links = apply::Links { task, dialog: save.dialog };
    let (request, prepared) = (&save.request, &mut save.prepared);
    // What was held may be older than what would be changed: a person decides with both before them.
    let is_overtaken = match prepared.looked {
        ReviewStatus::Released(hold) => {
            mc_store::quarantine::is_outdated(tx, hold, &judgement.touches()).await?
        }
        _ => false,
    };
    if request.visibility == Visibility::Proposed || is_overtaken {
        return propose(tx, request, prepared, links, judgement).await;
    }
    // All of them now and in one order: recalls count their hits on several records at once.
    let touched = judgement.touches();
    if !touched.is_empty() {
        records::lock(tx, &touched).await?;
    }
    let applied = match judgement.action {
        Action::Create => apply::create(tx, request, prepared, links, judgement.scores).await?,
        Action::Merge { into, exact } => {
            apply::merge(
                tx,
                request,
                prepared,
                links,
                apply::ExactDuplicate { id: into, exact },
                &judgement,
            )
            .await?
        }
    };
    let id = applied.record.id;
    for replaced in &judgement.supersede {
        apply::supersede(tx, request.project, *replaced, id).await?;
    }
    let contradicts = judgement.contradicts.map(Contradicted::from);
    let decision = match (judgement.action, judgement.supersede) {
        (Action::Create, replaced) if replaced.is_empty() => Decision::Created(id),
        (Action::Merge { .. }, replaced) if replaced.is_empty() => Decision::Merged(id),
        (_, replaced) => Decision::Superseded { by: id, replaced },
    };
    quarantine::settle(tx, prepared.looked).await?;
    note(tx, request, &decision, id);
    Ok(Written {
        record: applied.record,
        decision,
        reason: judgement.reason,
        scores: judgement.scores,
        citations: applied.citations,
        report: applied.report,
        contradicts,
        has_vector: applied.has_vector,
    })
}

/// For each of several saves of one audience ([`Save::audience`]) what may say the same among the records that it may be
/// merged into, or would change.
pub(super) async fn known_to(tx: &mut Tx, saves: &[&Save]) -> Result<Vec<Vec<Known>>, Error> {
    let Some(first) = saves.first() else { return Ok(Vec::new()) };
    let private_to = private_to(&first.request);
    let embedded = first.prepared.vector.as_ref();
    let model = embedded.map(|embedded| (&embedded.active.model, embedded.others));
    let texts: Vec<_> = saves.iter().map(|save| save.fingerprint()).collect();
    let found =
        records::candidates(tx, first.request.project, private_to, model, &texts, NEARNESS).await?;
    let known = |candidate: records::Candidate| Known {
        note: first.notes.read(candidate.id, &candidate.content),
        id: candidate.id,
        kind: candidate.kind,
        content_hash: candidate.content_hash,
        cosine: candidate.similarity,
    };
    Ok(found.into_iter().map(|found| found.into_iter().map(known).collect()).collect())
}

/// Who alone may see what is saved.
pub(super) fn private_to(request: &SaveRequest) -> Option<UserId> {
    request.saved_by.filter(|_| request.visibility == Visibility::Private)
}

/// Puts a note before the reviewers. It is never merged into what the team has: where it comes close to
/// one record, it is a proposal to change that.
async fn propose(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &mut Prepared,
    links: apply::Links,
    judgement: judge::Judgment,
) -> Result<Written, Error> {
    if request.ttl.is_none() {
        // One that nobody decides about ends in any case.
        let waits = Utc::now() + TimeDelta::days(i64::from(PROPOSAL_DAYS));
        prepared.ttl = prepared.ttl.min(waits);
    }
    let amends = match judgement.action {
        Action::Merge { into, exact: true } => {
            let record = records::find_in(tx, into).await?.ok_or(Error::UnknownRecord(into))?;
            quarantine::settle(tx, prepared.looked).await?;
            let reason = "the team knows this already".to_owned();
            return Ok(unchanged(record, Decision::Duplicate(into), reason, judgement.scores));
        }
        Action::Merge { into, exact: false } => Some(into),
        Action::Create => None,
    };
    let hash = &prepared.content_hash;
    if let Some(same) = records::same_proposal(tx, request.project, request.kind, hash).await? {
        // One that expired unread is before the reviewers again: that is what the caller is told.
        records::extend_ttl(tx, same, prepared.ttl).await?;
        let record = records::find_in(tx, same).await?.ok_or(Error::UnknownRecord(same))?;
        let decision = Decision::Proposed(same);
        // It is theirs as well, and stays when those are forgotten who proposed it before.
        let is_noted =
            records::add_contribution(tx, same, &apply::origin(request, prepared)).await?;
        quarantine::settle(tx, prepared.looked).await?;
        if is_noted {
            note(tx, request, &decision, same);
        }
        let reason = "it was proposed already and waits for a person of the team".to_owned();
        return Ok(unchanged(record, decision, reason, judgement.scores));
    }
    let applied = apply::propose(tx, request, prepared, links, amends, judgement.scores).await?;
    let decision = Decision::Proposed(applied.record.id);
    quarantine::settle(tx, prepared.looked).await?;
    note(tx, request, &decision, applied.record.id);
    let reason = match amends {
        Some(id) => format!("a person of the team decides whether record {id} is to say this"),
        None => "a person of the team decides whether it is to count".to_owned(),
    };
    Ok(Written {
        record: applied.record,
        decision,
        reason,
        scores: judgement.scores,
        citations: applied.citations,
        report: applied.report,
        contradicts: judgement.contradicts.map(Contradicted::from),
        has_vector: true,
    })
}

fn unchanged(record: Record, decision: Decision, reason: String, scores: Scores) -> Written {
    let report = Report { kept: Kept::Existing, ..Report::default() };
    let citations = Vec::new();
    Written {
        record,
        decision,
        reason,
        scores,
        citations,
        report,
        contradicts: None,
        has_vector: true,
    }
}

/// Notes in the audit what was done.
pub(super) fn note(tx: &mut Tx, request: &SaveRequest, decision: &Decision, id: RecordId) {
    let replaced = match decision {
        Decision::Superseded { replaced, .. } => replaced.clone(),
        _ => Vec::new(),
    };
    let detail = json!({
        "outcome": decision.as_str(),
        "kind": request.kind,
        "visibility": request.visibility,
        "replaced": replaced,
    });
    audit::record(tx, NewEvent::new(AuditAction::RecordSaved, id).with(detail));
}
