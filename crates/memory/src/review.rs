//! Reviews of records: accept, reject, share, confirm, roll back, and erase contributors.

mod edit;
mod erasure;
mod rollback;

use mc_contract::number::VersionNumber;
use mc_contract::operations::proposal::{AcceptProposal, Demotion};
use mc_domain::{AuditAction, RecordId, RecordState, Trust, UserId, Visibility};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, NewEvent};
use mc_store::citations::Citation;
use mc_store::hygiene::usage;
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Decided, Promotion, Record, RecordBody, RecordUpdate};
use mc_store::{Tx, citations, docs};
use serde_json::json;

pub use edit::{Editor, edit};
pub use erasure::forget;
pub use rollback::roll_back;

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus};
use crate::normalize::content_hash;
use crate::save::{
    CITATIONS_MAX, CONTENT_MAX_CHARS, default_ttl, is_same_place, passage_of, union_capped,
};
use crate::simhash::simhash;
use crate::{Error, MemoryContext};

/// A proposal with the change that it makes.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The proposed record.
    pub record: Record,
    /// The change to a live record, if it amends one.
    pub amendment: Option<Amendment>,
    /// Reason for the review, if hygiene demoted a team record.
    pub demotion: Option<Demotion>,
}

/// A live record before and after a proposal.
#[derive(Debug, Clone)]
pub struct Amendment {
    /// The live record as stored.
    pub now: Record,
    /// Its stored citations.
    pub cited_now: Vec<Citation>,
    /// The record afterward.
    pub then: RecordBody,
    /// Its citations afterward.
    pub cited_then: Vec<Citation>,
}

/// Returns the proposals among `records`, each with its change and the reason for the review.
pub async fn proposals(ctx: &MemoryContext, records: Vec<Record>) -> Result<Vec<Proposal>, Error> {
    let ids: Vec<_> = records.iter().filter_map(|record| record.amends_record_id).collect();
    let proposed: Vec<_> = records.iter().map(|record| record.id).collect();
    let mut demotions = usage::demotions(&ctx.store, &proposed).await?;
    let targets = records::by_ids(&ctx.store, &ids).await?;
    let target = |record: &Record| {
        let of =
            |target: &&Record| Some(target.id) == record.amends_record_id && can_be_amended(target);
        targets.iter().find(of).cloned()
    };
    let both: Vec<_> = ids.iter().copied().chain(proposed).collect();
    let cited = citations::of_records(&ctx.store, &both).await?;
    let cited = |id| cited.iter().filter(|one| one.record == id).cloned().collect::<Vec<_>>();
    let amendment = |record: &Record| {
        let now = target(record)?;
        let then = amended(&now, &body_of(record));
        let cited_now = cited(now.id);
        let cited_then = joined(cited_now.clone(), cited(record.id));
        Some(Amendment { now, cited_now, then, cited_then })
    };
    let proposal = |record: Record| Proposal {
        amendment: amendment(&record),
        demotion: demotions.remove(&record.id),
        record,
    };
    Ok(records.into_iter().map(proposal).collect())
}

/// Accepts a proposal, as a record of its own or as the new text of the record that it amends.
/// Returns that record, now confirmed. If one of both has another version than the reviewed one,
/// nothing happens: an unread text can't be confirmed.
pub async fn accept(
    ctx: &MemoryContext,
    id: RecordId,
    request: &AcceptProposal,
    reviewer: &str,
) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    let amends = records::find_in(&mut tx, id).await?.and_then(|record| record.amends_record_id);
    // Locks both at once, in the order that all writers use.
    let both: Vec<_> = std::iter::once(id).chain(amends).collect();
    records::lock(&mut tx, &both).await?;
    let proposal = live_proposal(&mut tx, id).await?;
    let target = match proposal.amends_record_id {
        Some(target) => records::find_in(&mut tx, target).await?.filter(can_be_amended),
        None => None,
    };
    if proposal.version != request.version.get() {
        return Err(Error::Changed { id, field: "version" });
    }
    match (&target, request.amends_version.map(VersionNumber::get)) {
        (Some(target), Some(version)) if target.version != version => {
            return Err(Error::Changed { id: target.id, field: "amends_version" });
        }
        (Some(target), None) => return Err(Error::AmendmentUnseen(target.id)),
        (None, Some(_)) => return Err(Error::AmendsNothing),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let body = edited(ctx, &proposal, request)?;
    let into = if let Some(target) = target {
        amend(&mut tx, &proposal, &target, &body, reviewer).await?;
        target.id
    } else {
        publish(&mut tx, &proposal, &body, reviewer).await?;
        records::live_until(&mut tx, id, default_ttl(&ctx.policy, body.kind)).await?;
        id
    };
    let is_edited = request.title.is_some() || request.content.is_some();
    let detail = json!({ "into": into, "edited": is_edited });
    audit::record(&mut tx, NewEvent::new(AuditAction::ProposalAccepted, id).with(detail));
    tx.commit().await?;
    find(ctx, into).await
}

/// Rejects a proposal. The reason is recorded in the audit trail, masked.
pub async fn reject(ctx: &MemoryContext, id: RecordId, reason: &str) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    live_proposal(&mut tx, id).await?;
    if !records::decide(&mut tx, id, Decided::Rejected).await? {
        return Err(Error::NotProposed(id));
    }
    let mut filter = ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed);
    let detail = json!({ "reason": filter.filter_text(reason) });
    audit::record(&mut tx, NewEvent::new(AuditAction::ProposalRejected, id).with(detail));
    Ok(tx.commit().await?)
}

/// Shares a private note with the team, at once or after a review.
pub async fn share(ctx: &MemoryContext, id: RecordId, to: Visibility) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    let record = lock_live(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    if record.access.visibility != Visibility::Private {
        return Err(Error::NotPrivate(id));
    }
    let to = match to {
        Visibility::Team => Promotion::Team(record.access.trust),
        _ => Promotion::Proposed,
    };
    if !records::share(&mut tx, id, to).await? {
        return Err(Error::NotPrivate(id));
    }
    // Its private history stays private.
    records::delete_history(&mut tx, id).await?;
    // The passage is created again, as only the owner could read its vector.
    passages::remove(&mut tx, PassageSource::Record(id)).await?;
    if matches!(to, Promotion::Team(_)) {
        index(&mut tx, &record, &body_of(&record), None).await?;
    }
    let visibility = if to == Promotion::Proposed { "proposed" } else { "team" };
    let event =
        NewEvent::new(AuditAction::RecordShared, id).with(json!({ "visibility": visibility }));
    audit::record(&mut tx, event);
    tx.commit().await?;
    find(ctx, id).await
}

/// Confirms this version of a live team record.
pub async fn confirm(ctx: &MemoryContext, id: RecordId, version: i32) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    let record = lock_live(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    if record.version != version {
        return Err(Error::Changed { id, field: "version" });
    }
    if !records::confirm(&mut tx, id).await? {
        return Err(Error::NoRecord(id));
    }
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordConfirmed, id));
    tx.commit().await?;
    find(ctx, id).await
}

async fn find(ctx: &MemoryContext, id: RecordId) -> Result<Record, Error> {
    records::find(&ctx.store, id).await?.ok_or(Error::NoRecord(id))
}

/// Restores a deleted or replaced record, active or stale; the caller creates its passage.
async fn restore(tx: &mut Tx, id: RecordId) -> Result<(), Error> {
    records::restore(tx, id).await?;
    Ok(citations::update_staleness(tx, id).await?)
}

/// Locks and returns a live record.
async fn lock_live(tx: &mut Tx, id: RecordId) -> Result<Option<Record>, Error> {
    records::lock(tx, &[id]).await?;
    Ok(records::find_in(tx, id).await?.filter(is_live))
}

/// Locks and returns an open proposal.
async fn live_proposal(tx: &mut Tx, id: RecordId) -> Result<Record, Error> {
    let is_proposed = |record: &Record| record.access.visibility == Visibility::Proposed;
    lock_live(tx, id).await?.filter(is_proposed).ok_or(Error::NotProposed(id))
}

/// Whether a record is live and the team's. A record demoted meanwhile is a proposal itself: merged
/// into that, an accepted text would not be found, so it becomes a record of its own.
fn can_be_amended(record: &Record) -> bool {
    is_live(record) && record.access.visibility == Visibility::Team
}

pub(crate) fn is_live(record: &Record) -> bool {
    matches!(record.state, RecordState::Active | RecordState::Stale)
}

/// Applies a reviewer's edit to a proposal, filtered like a save but not quarantined.
fn edited(
    ctx: &MemoryContext,
    proposal: &Record,
    edit: &AcceptProposal,
) -> Result<RecordBody, Error> {
    let mut body = body_of(proposal);
    let mut filter = ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed);
    if let Some(title) = &edit.title {
        filter.filter(title.as_str());
        body.title = filter.filter_again(title.as_str());
    }
    if let Some(content) = &edit.content {
        filter.filter(content.as_str());
        set_content(&mut body, filter.filter_again(content.as_str()))?;
    }
    match filter.decision() {
        FilterDecision::Reject(reasons) => Err(Error::Forbidden(reasons.join(", "))),
        FilterDecision::Quarantine(_) | FilterDecision::Accept { .. } => Ok(body),
    }
}

/// Replaces the content of a body, and the values that are computed from it.
fn set_content(body: &mut RecordBody, content: Sanitized) -> Result<(), Error> {
    let length = content.as_str().chars().count();
    if length > CONTENT_MAX_CHARS {
        return Err(Error::TooLong(length));
    }
    body.content_hash = content_hash(content.as_str());
    body.simhash = simhash(content.as_str());
    body.content = content;
    Ok(())
}

async fn amend(
    tx: &mut Tx,
    proposal: &Record,
    target: &Record,
    body: &RecordBody,
    reviewer: &str,
) -> Result<(), Error> {
    if !records::decide(tx, proposal.id, Decided::Into(target.id)).await? {
        return Err(Error::NotProposed(proposal.id));
    }
    let body = amended(target, body);
    docs::transfer_superseded(tx, proposal.id, target.id).await?;
    let known = citations::of_record_in(tx, target.id).await?;
    let brought = citations::of_record_in(tx, proposal.id).await?;
    let cited = if brought.is_empty() { None } else { Some(joined(known, brought)) };
    let change = RecordUpdate {
        body: &body,
        citations: cited.as_deref(),
        trust: Trust::Confirmed,
        origins: &records::list_sources(tx, proposal.id).await?,
        reason: &format!("accepted proposal {}", proposal.id),
        changed_by: Some(reviewer),
    };
    records::update(tx, target, &change).await?;
    index(tx, target, &body, None).await?;
    citations::derive_states(tx, &[target.id]).await?;
    Ok(())
}

/// Returns the target's citations once the proposal is accepted: its own first, then the
/// proposal's, which count for the same place, as the reviewer has seen them.
fn joined(known: Vec<Citation>, brought: Vec<Citation>) -> Vec<Citation> {
    let is_cited_again = |one: &Citation| brought.iter().any(|other| is_same_place(one, other));
    let mut all: Vec<_> = known.into_iter().filter(|one| !is_cited_again(one)).collect();
    all.extend(brought);
    all.truncate(CITATIONS_MAX);
    all
}

/// Returns the target's body once the proposal is accepted.
fn amended(target: &Record, body: &RecordBody) -> RecordBody {
    RecordBody {
        scope: union_capped(&target.scope, &body.scope),
        tags: union_capped(&target.tags, &body.tags),
        ttl: target.ttl.max(body.ttl),
        is_ttl_explicit: target.is_ttl_explicit,
        // Fields whose change the reviewer does not see stay.
        kind: target.kind,
        meta: target.meta.clone(),
        owner: target.owner.clone(),
        ..body.clone()
    }
}

async fn publish(
    tx: &mut Tx,
    proposal: &Record,
    body: &RecordBody,
    reviewer: &str,
) -> Result<(), Error> {
    let is_edited =
        body.content.as_str() != proposal.content || body.title.as_str() != proposal.title;
    if is_edited {
        let change = RecordUpdate {
            body,
            citations: None,
            trust: proposal.access.trust,
            origins: &records::list_sources(tx, proposal.id).await?,
            reason: "edited by the reviewer",
            changed_by: Some(reviewer),
        };
        records::update(tx, proposal, &change).await?;
    }
    if !records::share(tx, proposal.id, Promotion::Team(Trust::Confirmed)).await? {
        return Err(Error::NotProposed(proposal.id));
    }
    index(tx, proposal, body, None).await
}

/// Writes the passage of a record for its readers; its vector follows from the queue.
pub(crate) async fn index(
    tx: &mut Tx,
    record: &Record,
    body: &RecordBody,
    private_to: Option<UserId>,
) -> Result<(), Error> {
    let citations = citations::of_record_in(tx, record.id).await?;
    let passage = passage_of(body, &citations);
    let source = PassageSource::Record(record.id);
    passages::put_only_for(tx, record.project, source, &passage, private_to).await?;
    Ok(())
}

/// Returns the body of a record, as it is stored.
pub(crate) fn body_of(record: &Record) -> RecordBody {
    RecordBody {
        kind: record.kind,
        title: Sanitized::stored(record.title.clone()),
        content: Sanitized::stored(record.content.clone()),
        scope: record.scope.clone(),
        tags: record.tags.clone(),
        owner: record.owner.clone(),
        ttl: record.ttl,
        is_ttl_explicit: record.is_ttl_explicit,
        quality: record.quality.clone(),
        meta: record.meta.clone(),
        task: record.task,
        dialog: record.dialog,
        content_hash: content_hash(&record.content),
        simhash: simhash(&record.content),
    }
}
