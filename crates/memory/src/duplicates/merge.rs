//! Merging duplicate records into one.

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

/// Locks and returns the members in order; `None` if one is no live team record or has changed.
pub(super) async fn lock_members(
    tx: &mut Tx,
    project: ProjectId,
    members: &[Member],
) -> Result<Option<Vec<Record>>, Error> {
    let ids: Vec<_> = members.iter().map(|member| member.id).collect();
    records::lock(tx, &ids).await?;
    let mut lock_members = Vec::with_capacity(members.len());
    for member in members {
        let record = records::find_in(tx, member.id).await?;
        match record.filter(|record| is_unchanged(record, project, member)) {
            Some(record) => lock_members.push(record),
            None => return Ok(None),
        }
    }
    Ok(Some(lock_members))
}

fn is_unchanged(record: &Record, project: ProjectId, member: &Member) -> bool {
    record.project == project
        && record.access.visibility == Visibility::Team
        && is_live(record)
        && content_hash(&record.content) == member.content_hash
}

/// Merges locked records into the first. It keeps its text and trust, and takes over tags,
/// citations and links of the others. Without a reviewer, it takes nothing from less trusted
/// records, as a confirmed record would then hold unconfirmed data. The histories keep everything.
pub(super) async fn merge_into(
    tx: &mut Tx,
    all: &[Record],
    reviewer: Option<&str>,
) -> Result<(), Error> {
    let Some((kept, replaced)) = all.split_first() else { return Ok(()) };
    let is_trusted = |other: &Record| reviewer.is_some() || other.access.trust >= kept.access.trust;
    let mut origins = Vec::new();
    let known = citations::of_record_in(tx, kept.id).await?;
    let mut cited = known.clone();
    for record in replaced {
        if is_trusted(record) {
            add_citations(&mut cited, citations::of_record_in(tx, record.id).await?);
        }
        origins.extend(records::list_sources(tx, record.id).await?);
        // The other is superseded first, as two live records never have the same content.
        records::supersede(tx, record.project, record.id, kept.id).await?;
        passages::remove(tx, PassageSource::Record(record.id)).await?;
        docs::transfer_superseded(tx, record.id, kept.id).await?;
    }
    let trusted = replaced.iter().filter(|other| is_trusted(other));
    let mut body = trusted.fold(body_of(kept), with_labels_of);
    // The kind stays if another record has this kind and content: a replaced one could not be
    // restored alongside it, and a live one is there because people kept both.
    let has_same_content = |other: &Record| {
        other.kind == body.kind && content_hash(&other.content) == body.content_hash
    };
    if replaced.iter().any(has_same_content) || records::find_same(tx, kept, &body).await?.is_some()
    {
        body.kind = kept.kind;
    }
    let change = RecordUpdate {
        body: &body,
        citations: (cited.len() > known.len()).then_some(cited.as_slice()),
        trust: kept.access.trust,
        origins: &origins,
        reason: &format!("took the place of {}", id_list(replaced)),
        changed_by: reviewer.or(Some("hygiene")),
    };
    records::update(tx, kept, &change).await?;
    index(tx, kept, &body, None).await?;
    citations::derive_states(tx, &[kept.id]).await?;
    Ok(())
}

/// Adds citations of new places, up to the limit.
fn add_citations(cited: &mut Vec<Citation>, others: Vec<Citation>) {
    for other in others {
        if cited.len() < CITATIONS_MAX && !cited.iter().any(|one| is_same_place(one, &other)) {
            cited.push(other);
        }
    }
}

/// Adds labels, links and `meta` of another record to a body.
fn with_labels_of(mut body: RecordBody, other: &Record) -> RecordBody {
    body.kind = merged_kind(body.kind, other.kind);
    body.scope = union_capped(&body.scope, &other.scope);
    body.tags = union_capped(&body.tags, &other.tags);
    body.owner = body.owner.or_else(|| other.owner.clone());
    // The latest end counts, and it is explicit only if all are.
    body.ttl = body.ttl.max(other.ttl);
    body.is_ttl_explicit &= other.is_ttl_explicit;
    body.task = body.task.or(other.task);
    body.dialog = body.dialog.or(other.dialog);
    body.meta.add_missing(&other.meta);
    body
}

fn id_list(records: &[Record]) -> String {
    records.iter().map(|record| record.id.to_string()).collect::<Vec<_>>().join(", ")
}
