//! One record in the place of others that say the same.

use mc_domain::{ProjectId, Visibility};
use mc_store::citations::{self, Citation};
use mc_store::duplicates::Member;
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Record, RecordBody, RecordUpdate};
use mc_store::{Tx, docs};

use crate::Error;
use crate::normalize::content_hash;
use crate::review::{body_of, index, is_live};
use crate::save::{CITATIONS_MAX, is_same_place, merged_kind, union_capped};

/// The members as they are, held until the transaction ends and in their order; `None` where one of
/// them is no live record of the team any more, or says something else.
pub(super) async fn held(
    tx: &mut Tx,
    project: ProjectId,
    members: &[Member],
) -> Result<Option<Vec<Record>>, Error> {
    let ids: Vec<_> = members.iter().map(|member| member.id).collect();
    records::lock(tx, &ids).await?;
    let mut held = Vec::with_capacity(members.len());
    for member in members {
        let record = records::find_in(tx, member.id).await?;
        match record.filter(|record| is_as_found(record, project, member)) {
            Some(record) => held.push(record),
            None => return Ok(None),
        }
    }
    Ok(Some(held))
}

fn is_as_found(record: &Record, project: ProjectId, member: &Member) -> bool {
    record.project == project
        && record.access.visibility == Visibility::Team
        && is_live(record)
        && content_hash(&record.content)[..] == member.content_hash
}

/// Has the first of the records, which are held, take the place of the others: it keeps its text
/// and who vouches for it, and gathers what they are tagged with, cite and are linked to. Where no
/// person says so it gathers that from none that is vouched for by less: what was confirmed of it
/// would be what nobody confirmed. All of it stays in the histories.
pub(super) async fn merge_into(
    tx: &mut Tx,
    all: &[Record],
    reviewer: Option<&str>,
) -> Result<(), Error> {
    let Some((kept, replaced)) = all.split_first() else { return Ok(()) };
    let is_heard = |other: &Record| reviewer.is_some() || other.access.trust >= kept.access.trust;
    let mut origins = Vec::new();
    let known = citations::of_record_in(tx, kept.id).await?;
    let mut cited = known.clone();
    for record in replaced {
        if is_heard(record) {
            gather(&mut cited, citations::of_record_in(tx, record.id).await?);
        }
        origins.extend(records::origins(tx, record.id).await?);
        // Before the other is changed: two live ones never say the same with the same words.
        records::supersede(tx, record.project, record.id, kept.id).await?;
        passages::remove(tx, PassageSource::Record(record.id)).await?;
        docs::transfer_superseded(tx, record.id, kept.id).await?;
    }
    let heard = replaced.iter().filter(|other| is_heard(other));
    let mut body = heard.fold(body_of(kept), gathered);
    // A rule, say, with the same words: one that is replaced could not be brought back beside
    // another, and one that lives stands beside this for people who said that both are to.
    let is_body = |other: &Record| {
        other.kind == body.kind && content_hash(&other.content)[..] == body.content_hash
    };
    if replaced.iter().any(is_body) || records::same(tx, kept, &body).await?.is_some() {
        body.kind = kept.kind;
    }
    let change = RecordUpdate {
        body: &body,
        citations: (cited.len() > known.len()).then_some(cited.as_slice()),
        trust: kept.access.trust,
        origins: &origins,
        reason: &format!("took the place of {}", listed(replaced)),
        changed_by: reviewer.or(Some("hygiene")),
    };
    records::update(tx, kept, &change).await?;
    index(tx, kept, &body, None).await?;
    citations::derive_states(tx, &[kept.id]).await?;
    Ok(())
}

/// Adds what stands for no place that is cited already, as far as there is room.
fn gather(cited: &mut Vec<Citation>, others: Vec<Citation>) {
    for other in others {
        if cited.len() < CITATIONS_MAX && !cited.iter().any(|one| is_same_place(one, &other)) {
            cited.push(other);
        }
    }
}

/// What the record says and is told by, with what another that says the same has besides.
fn gathered(mut body: RecordBody, other: &Record) -> RecordBody {
    body.kind = merged_kind(body.kind, other.kind);
    body.scope = union_capped(&body.scope, &other.scope);
    body.tags = union_capped(&body.tags, &other.tags);
    body.owner = body.owner.or_else(|| other.owner.clone());
    // It lives for as long as any of them would have, and an end is named only where each has one.
    body.ttl = body.ttl.max(other.ttl);
    body.is_ttl_explicit &= other.is_ttl_explicit;
    body.task = body.task.or(other.task);
    body.dialog = body.dialog.or(other.dialog);
    if let (Some(own), Some(theirs)) = (body.meta.as_object_mut(), other.meta.as_object()) {
        for (name, value) in theirs {
            own.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    body
}

fn listed(records: &[Record]) -> String {
    records.iter().map(|record| record.id.to_string()).collect::<Vec<_>>().join(", ")
}
