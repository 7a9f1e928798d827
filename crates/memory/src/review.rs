//! From a proposal or a private note to what the team knows, and back: a person decides.

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{AuditAction, ProjectId, RecordId, RecordState, Trust, UserId, Visibility};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, NewEvent};
use mc_store::citations::Citation;
use mc_store::hygiene::usage::{self, DemotionReason};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{
    self, AffectedRecords, Contributor, Decided, Promotion, Record, RecordBody, RecordSource,
    RecordUpdate, Version,
};
use mc_store::{Tx, citations, docs, quarantine, repositories};
use serde_json::json;

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus};
use crate::normalize::content_hash;
use crate::save::{CITATIONS_MAX, is_same_place};
use crate::save::{CONTENT_MAX_CHARS, default_ttl, passage_of, union_capped};
use crate::simhash::simhash;
use crate::{Error, MemoryContext};

/// What a reviewer would have a proposal say instead.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Title.
    pub title: Option<String>,
    /// Content.
    pub content: Option<String>,
}

/// What a proposal would change.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The proposal.
    pub record: Record,
    /// What it would make of a record that lives.
    pub amends_record_id: Option<Amendment>,
    /// What speaks against it, where it was a record of the team that hygiene set aside.
    pub demotion: Option<DemotionReason>,
}

/// A live record, and what it would say and cite.
#[derive(Debug, Clone)]
pub struct Amendment {
    /// As it is.
    pub now: Record,
    /// What it cites now.
    pub cited_now: Vec<Citation>,
    /// As it would be.
    pub then: RecordBody,
    /// What it would cite.
    pub cited_then: Vec<Citation>,
}

/// What a reviewer looked at.
#[derive(Debug, Clone, Copy)]
pub struct ReviewedVersions {
    /// The version of the proposal.
    pub version: i32,
    /// The version of the record that it would change.
    pub amends_version: Option<i32>,
}

/// The proposals among `records`, each with what it would change, or why it waits.
pub async fn proposals(ctx: &MemoryContext, records: Vec<Record>) -> Result<Vec<Proposal>, Error> {
    let ids: Vec<_> = records.iter().filter_map(|record| record.amends_record_id).collect();
    let proposed: Vec<_> = records.iter().map(|record| record.id).collect();
    let mut against = usage::demotion_reasons(&ctx.store, &proposed).await?;
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
        amends_record_id: amendment(&record),
        demotion: against.remove(&record.id),
        record,
    };
    Ok(records.into_iter().map(proposal).collect())
}

/// Makes a proposal count: as a record of its own, or as the new text of the one that it would
/// change. Answers the record that holds it now, which a person has confirmed. Where one of both is
/// not as it was `seen`, nothing happens: nobody confirms what they have not read.
pub async fn accept(
    ctx: &MemoryContext,
    id: RecordId,
    seen: ReviewedVersions,
    edit: &Edit,
    reviewer: &str,
) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    let amends = records::find_in(&mut tx, id).await?.and_then(|record| record.amends_record_id);
    // Both at once and in one order, as everybody does.
    let both: Vec<_> = std::iter::once(id).chain(amends).collect();
    records::lock(&mut tx, &both).await?;
    let proposal = live_proposal(&mut tx, id).await?;
    let target = match proposal.amends_record_id {
        Some(target) => records::find_in(&mut tx, target).await?.filter(can_be_amended),
        None => None,
    };
    if proposal.version != seen.version {
        return Err(Error::Changed { id, field: "version" });
    }
    match (&target, seen.amends_version) {
        (Some(target), Some(version)) if target.version != version => {
            return Err(Error::Changed { id: target.id, field: "amends_version" });
        }
        (Some(target), None) => return Err(Error::AmendmentUnseen(target.id)),
        (None, Some(_)) => return Err(Error::AmendsNothing),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let body = edited(ctx, &proposal, edit)?;
    let into = if let Some(target) = target {
        amend(&mut tx, &proposal, &target, &body, reviewer).await?;
        target.id
    } else {
        count(&mut tx, &proposal, &body, reviewer).await?;
        records::live_until(&mut tx, id, default_ttl(&ctx.policy, body.kind)).await?;
        id
    };
    let detail = json!({ "into": into, "edited": edit.title.is_some() || edit.content.is_some() });
    audit::record(&mut tx, NewEvent::new(AuditAction::ProposalAccepted, id).with(detail));
    tx.commit().await?;
    find(ctx, into).await
}

/// Turns a proposal down. The reason goes into the audit, masked.
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

/// Lets the team see a private note: at once, or after a review.
pub async fn share(ctx: &MemoryContext, id: RecordId, to: Visibility) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    records::lock(&mut tx, &[id]).await?;
    let record = records::find_in(&mut tx, id).await?.filter(is_live);
    let record = record.ok_or(Error::NoRecord(id))?;
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
    // What it said while it was private stays so.
    records::delete_history(&mut tx, id).await?;
    // Made anew where it is to be found: its vector was the owner's alone.
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

/// Notes that a person looked at this version of a live record of the team and said that it holds.
pub async fn confirm(ctx: &MemoryContext, id: RecordId, version: i32) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    records::lock(&mut tx, &[id]).await?;
    let record = records::find_in(&mut tx, id).await?.filter(is_live);
    let record = record.ok_or(Error::NoRecord(id))?;
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

/// Makes a record again what it was in an earlier version, or brings one back that was taken out or
/// replaced. What it is now stays in its history.
pub async fn roll_back(
    ctx: &MemoryContext,
    id: RecordId,
    version: Option<i32>,
    principal: &str,
) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    records::lock(&mut tx, &[id]).await?;
    let mut record = records::find_in(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    let is_removed = !is_live(&record);
    if is_removed {
        restore(&mut tx, id).await?;
        record = records::find_in(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    }
    let said = match version {
        Some(version) => Some(earlier(&mut tx, id, version).await?),
        None if is_removed => None,
        None => {
            Some(records::last_version(&mut tx, id).await?.ok_or(Error::NothingToRollBack(id))?)
        }
    };
    let body = match &said {
        Some(said) => {
            let body = said_then(&record, said);
            let cited = citations::of_version(&mut tx, id, said.version).await?;
            let origin = RecordSource { saved_by: ctx.store.principal(), source: String::new() };
            let reason = format!("rolled back to version {}", said.version);
            let change = RecordUpdate {
                body: &body,
                citations: Some(&cited),
                trust: said.trust.min(Trust::Team),
                origins: &[origin],
                reason: &reason,
                changed_by: Some(principal),
            };
            records::update(&mut tx, &record, &change).await?;
            citations::update_staleness(&mut tx, id).await?;
            body
        }
        None => body_of(&record),
    };
    if record.access.visibility != Visibility::Proposed {
        index(&mut tx, &record, &body, record.access.private_to).await?;
    }
    let detail = json!({ "version": said.map(|said| said.version), "restored": is_removed });
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordRolledBack, id).with(detail));
    tx.commit().await?;
    find(ctx, id).await
}

/// What forgetting did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasureReport {
    /// Records that came from there alone: deleted, with their history.
    pub deleted: Vec<RecordId>,
    /// Records that others had contributed to: they are what those made of them last.
    pub rolled_back: Vec<RecordId>,
    /// Records that say what others said: only their origin was changed.
    pub reattributed: Vec<RecordId>,
    /// Records of others that one of the removed had replaced, and that are there again.
    pub restored: Vec<RecordId>,
    /// Dialogs that were deleted.
    pub dialogs: u64,
    /// Documents that were deleted.
    pub docs: u64,
    /// Files of a repository that were taken out, and it with them.
    pub files: u64,
    /// What a person had sent and nobody had decided about yet: destroyed. Where something held
    /// came from is sealed with it, so that nothing is found by a source.
    pub quarantine_items: u64,
}

/// Takes out everything that came from one person or source alone, and from the rest what came from
/// there; with `dry_run` only says what that would be.
pub async fn forget(
    ctx: &MemoryContext,
    project: ProjectId,
    contributor: &Contributor,
    dry_run: bool,
) -> Result<ErasureReport, Error> {
    let mut tx = ctx.store.begin_with_memory_lock(project).await?;
    let mut forgotten = ErasureReport::default();
    if let Contributor::User(user) = contributor {
        // First: a release of one that is under way has ended then, and what it took in is found
        // below.
        forgotten.quarantine_items =
            quarantine::delete_submitted_by(&mut tx, project, *user).await?;
    }
    forget_records(&mut tx, project, contributor, &mut forgotten).await?;
    forgotten.dialogs = records::forget_dialogs(&mut tx, project, contributor).await?;
    forgotten.docs = records::forget_docs(&mut tx, project, contributor).await?;
    if let Contributor::Source(source) = contributor {
        forgotten.files = repositories::remove(&mut tx, project, source).await?;
    }
    if dry_run {
        // Rolled back: nothing of it happened.
        return Ok(forgotten);
    }
    let (by, subject) = match contributor {
        Contributor::User(user) => ("user", user.to_string()),
        Contributor::Source(source) => {
            ("source", ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed).filter_text(source))
        }
    };
    let detail = json!({
        "by": by,
        "removed": forgotten.deleted,
        "rolled_back": forgotten.rolled_back,
        "restored": forgotten.restored,
        "dialogs": forgotten.dialogs,
        "documents": forgotten.docs,
        "files": forgotten.files,
        "quarantine_items": forgotten.quarantine_items,
    });
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordsErased, subject).with(detail));
    tx.commit().await?;
    Ok(forgotten)
}

async fn forget_records(
    tx: &mut Tx,
    project: ProjectId,
    contributor: &Contributor,
    forgotten: &mut ErasureReport,
) -> Result<(), Error> {
    let touched = records::records_of(tx, project, contributor).await?;
    let ids: Vec<_> = touched.iter().map(|one| one.id).collect();
    let replaced = records::replaced_by(tx, &ids).await?;
    records::lock(tx, &[ids, replaced].concat()).await?;
    // Those of nobody else first: what remains may be about to say the same.
    let (own, shared): (Vec<AffectedRecords>, Vec<AffectedRecords>) =
        touched.iter().partition(|one| one.others.is_none());
    for one in own {
        erase(tx, one.id, forgotten).await?;
    }
    for one in shared {
        forget_share(tx, &one, contributor, forgotten).await?;
    }
    // Last: until here what comes back may be somebody's share, too, and what says the same may go.
    forgotten.restored = restore_superseded(tx, &forgotten.restored).await?;
    Ok(())
}

/// Deletes a record, and notes which ones nothing replaces now.
async fn erase(tx: &mut Tx, id: RecordId, forgotten: &mut ErasureReport) -> Result<(), Error> {
    forgotten.restored.extend(records::erase(tx, id).await?);
    forgotten.deleted.push(id);
    Ok(())
}

/// Brings back the records that nothing replaces any more, as far as they are still there and no
/// live one says the same; answers which.
async fn restore_superseded(tx: &mut Tx, replaced: &[RecordId]) -> Result<Vec<RecordId>, Error> {
    let mut restored = Vec::new();
    for id in replaced {
        let Some(record) = records::find_in(tx, *id).await? else { continue };
        let body = body_of(&record);
        if let Some(same) = records::same(tx, &record, &body).await? {
            // It comes back once that is forgotten, too.
            records::transfer_superseded(tx, *id, same).await?;
            continue;
        }
        restore(tx, *id).await?;
        index(tx, &record, &body, record.access.private_to).await?;
        restored.push(*id);
    }
    Ok(restored)
}

async fn forget_share(
    tx: &mut Tx,
    one: &AffectedRecords,
    contributor: &Contributor,
    forgotten: &mut ErasureReport,
) -> Result<(), Error> {
    let others = one.others.unwrap_or_default();
    let says_theirs = one.theirs > others && one.theirs >= one.version;
    // What somebody else had it say, before it said what the contributor did.
    let before = if says_theirs { records::version(tx, one.id, others).await? } else { None };
    records::forget(tx, one.id, contributor).await?;
    let Some(said) = before else {
        if says_theirs {
            erase(tx, one.id, forgotten).await?;
        } else {
            forgotten.reattributed.push(one.id);
        }
        return Ok(());
    };
    let record = records::find_in(tx, one.id).await?.ok_or(Error::NoRecord(one.id))?;
    let body = said_then(&record, &said);
    let cited = citations::of_version(tx, one.id, said.version).await?;
    let same = if is_live(&record) { records::same(tx, &record, &body).await? } else { None };
    if let Some(same) = same {
        records::supersede(tx, record.project, one.id, same).await?;
        passages::remove(tx, PassageSource::Record(one.id)).await?;
    }
    // One that is replaced by another, too: it may be brought back.
    records::rewrite(tx, one.id, &said, &body).await?;
    citations::replace(tx, record.project, one.id, &cited).await?;
    citations::update_staleness(tx, one.id).await?;
    // What is not recalled, or not any more, has no passage.
    let is_found = is_live(&record) && record.access.visibility != Visibility::Proposed;
    if is_found && same.is_none() {
        index(tx, &record, &body, record.access.private_to).await?;
    }
    forgotten.rolled_back.push(one.id);
    Ok(())
}

async fn find(ctx: &MemoryContext, id: RecordId) -> Result<Record, Error> {
    records::find(&ctx.store, id).await?.ok_or(Error::NoRecord(id))
}

/// Brings a record back that was taken out or replaced, stale or active by what it cites. The
/// caller makes its passage.
async fn restore(tx: &mut Tx, id: RecordId) -> Result<(), Error> {
    records::restore(tx, id).await?;
    Ok(citations::update_staleness(tx, id).await?)
}

/// The proposal, which nobody else decides about until the transaction ends.
async fn live_proposal(tx: &mut Tx, id: RecordId) -> Result<Record, Error> {
    records::lock(tx, &[id]).await?;
    let record = records::find_in(tx, id).await?.ok_or(Error::NotProposed(id))?;
    let waits = record.access.visibility == Visibility::Proposed && is_live(&record);
    if waits { Ok(record) } else { Err(Error::NotProposed(id)) }
}

/// Whether it lives and counts for the team. One that was set aside meanwhile is a proposal itself:
/// merged into that, an accepted text would be found by nobody, so it counts as a record of its
/// own.
fn can_be_amended(record: &Record) -> bool {
    is_live(record) && record.access.visibility == Visibility::Team
}

pub(crate) fn is_live(record: &Record) -> bool {
    matches!(record.state, RecordState::Active | RecordState::Stale)
}

/// The proposal's text as the reviewer would have it. What a person writes here goes through the
/// same filter as a save, but for what would have to wait for a person.
fn edited(ctx: &MemoryContext, proposal: &Record, edit: &Edit) -> Result<RecordBody, Error> {
    let mut body = body_of(proposal);
    let mut filter = ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed);
    if let Some(title) = &edit.title {
        filter.filter(title);
        body.title = filter.filter_again(title);
    }
    if let Some(content) = &edit.content {
        filter.filter(content);
        body.content = filter.filter_again(content);
        let (length, max) = (body.content.as_str().chars().count(), CONTENT_MAX_CHARS);
        if length > max {
            return Err(Error::TooLong { length, max });
        }
        body.content_hash = content_hash(body.content.as_str()).to_vec();
        body.simhash = simhash(body.content.as_str());
    }
    match filter.decision() {
        FilterDecision::Reject(reasons) => Err(Error::Forbidden(reasons.join(", "))),
        FilterDecision::Quarantine(_) | FilterDecision::Accept { .. } => Ok(body),
    }
}

/// Has the target say what the proposal says.
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
        origins: &records::origins(tx, proposal.id).await?,
        reason: &format!("accepted proposal {}", proposal.id),
        changed_by: Some(reviewer),
    };
    records::update(tx, target, &change).await?;
    index(tx, target, &body, None).await?;
    citations::derive_states(tx, &[target.id]).await?;
    Ok(())
}

/// What the target cites once the proposal is accepted: what it did, which a proposal can't push
/// out, and what the proposal does; of the same place the proposal's word, which is what the
/// reviewer is shown.
fn joined(known: Vec<Citation>, brought: Vec<Citation>) -> Vec<Citation> {
    let is_said_anew = |one: &Citation| brought.iter().any(|other| is_same_place(one, other));
    let mut all: Vec<_> = known.into_iter().filter(|one| !is_said_anew(one)).collect();
    all.extend(brought);
    all.truncate(CITATIONS_MAX);
    all
}

/// What the target says once it says what the proposal does.
fn amended(target: &Record, body: &RecordBody) -> RecordBody {
    RecordBody {
        scope: union_capped(&target.scope, &body.scope),
        tags: union_capped(&target.tags, &body.tags),
        ttl: target.ttl.max(body.ttl),
        is_ttl_explicit: target.is_ttl_explicit,
        // What the reviewer is shown no difference of stays.
        kind: target.kind,
        meta: target.meta.clone(),
        owner: target.owner.clone(),
        ..body.clone()
    }
}

/// Makes the proposal a record of the team.
async fn count(
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
            origins: &records::origins(tx, proposal.id).await?,
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

/// Makes the passage of a record, for its readers; its vector follows from the queue.
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

async fn earlier(tx: &mut Tx, id: RecordId, version: i32) -> Result<Version, Error> {
    records::version(tx, id, version).await?.ok_or(Error::UnknownVersion(version))
}

/// What a record says, as it is stored.
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
        content_hash: content_hash(&record.content).to_vec(),
        simhash: simhash(&record.content),
    }
}

/// What a record was in an earlier version.
fn said_then(record: &Record, said: &Version) -> RecordBody {
    let (ttl, is_ttl_explicit) = end_then(record, said);
    RecordBody {
        kind: said.kind,
        owner: said.owner.clone(),
        ttl,
        is_ttl_explicit,
        title: Sanitized::stored(said.title.clone()),
        content: Sanitized::stored(said.content.clone()),
        scope: said.scope.clone(),
        tags: said.tags.clone(),
        meta: said.meta.clone(),
        content_hash: content_hash(&said.content).to_vec(),
        simhash: simhash(&said.content),
        ..body_of(record)
    }
}

/// When a record is to end that is what it was in an earlier version, and whether that was named.
/// None ends by becoming so.
fn end_then(record: &Record, said: &Version) -> (DateTime<Utc>, bool) {
    let now = Utc::now();
    match (said.is_ttl_explicit, record.is_ttl_explicit) {
        // An end that nobody named is where saves and recalls have moved it,
        (false, false) => (record.ttl, false),
        // which they have not done since somebody named one.
        (false, true) => {
            let least = now + TimeDelta::days(i64::from(records::RESTORED_DAYS));
            (said.ttl.max(least), false)
        }
        (true, _) if said.ttl > now => (said.ttl, true),
        // One that was named and is over: as it is.
        (true, _) => (record.ttl, record.is_ttl_explicit),
    }
}
