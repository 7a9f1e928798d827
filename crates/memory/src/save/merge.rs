//! Merging a note into the record that it duplicates.

use chrono::{DateTime, Utc};
use mc_contract::operations::save::Kept;
use mc_domain::{RecordId, RecordKind, Trust};
use mc_sanitizer::Sanitized;
use mc_store::Tx;
use mc_store::citations::{self, Citation};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Record, RecordBody, RecordUpdate};
use mc_store::vectors;
use serde_json::Value;

use super::Prepared;
use super::apply::{Applied, Incoming, origin, passage_of, quality, write_long_text};
use super::report::{left_out, moved};
use crate::Error;
use crate::citations::has_changed;
use crate::judge::{Action, Judgment, MergeBasis, Scores, mergeable};
use crate::normalize::content_hash;
use crate::simhash::simhash;
use crate::text::as_f32;

/// A near duplicate's text replaces the record's own unless it is shorter than this share of it:
/// the newer wording counts, but not if it leaves details out.
const NEWER_LENGTH_MIN: f32 = 0.9;

/// Most scopes and most tags that a record collects, as many as one save may have.
const LABELS_MAX: usize = 64;
/// Most citations that a record collects; the newest stay.
pub(crate) const CITATIONS_MAX: usize = 32;

/// Updates the duplicate: unites tags, scope, meta and citations, extends its TTL, and keeps its
/// previous version in its history.
pub(super) async fn merge(
    tx: &mut Tx,
    incoming: Incoming<'_>,
    into: RecordId,
    judgment: &Judgment,
) -> Result<Applied, Error> {
    let Incoming { request, prepared, .. } = incoming;
    let old = records::find_in(tx, into).await?.ok_or(Error::UnknownRecord(into))?;
    let mut notes = Vec::from_iter(moved(&old, request));
    let body = merged_body(&old, incoming, judgment, &mut notes);
    let keeps_text = body.content.as_str() == old.content;
    let trust = merged_trust(&old, &body, prepared.trust);
    let known = citations::of_record_in(tx, old.id).await?;
    let (citations, gone) = united_citations(known, &prepared.citations);
    notes.extend(left_out(gone, "of the oldest citations", CITATIONS_MAX));
    let change = RecordUpdate {
        body: &body,
        citations: (!prepared.citations.is_empty()).then_some(citations.as_slice()),
        trust,
        origins: &[origin(incoming)],
        reason: &judgment.reason,
        changed_by: Some(request.principal.as_str()),
    };
    records::update(tx, &old, &change).await?;
    let has_vector = index(tx, &old, &body, prepared, &citations).await?;
    citations::derive_states(tx, &[old.id]).await?;
    let document = write_long_text(tx, incoming, &old).await?;
    let kept = match document {
        Some(_) => Kept::Document,
        None if keeps_text => Kept::Existing,
        None => Kept::Whole,
    };
    let record = records::find_in(tx, old.id).await?.ok_or(Error::UnknownRecord(old.id))?;
    Ok(Applied { record, citations, kept, document, notes, has_vector })
}

/// Returns the body of a merged record, and notes labels beyond the limit.
fn merged_body(
    old: &Record,
    incoming: Incoming<'_>,
    judgment: &Judgment,
    notes: &mut Vec<String>,
) -> RecordBody {
    let Incoming { request, prepared, task, dialog } = incoming;
    let exact = matches!(judgment.action, Action::Merge { basis: MergeBasis::Hash, .. });
    let new = &prepared.body;
    let (title, content) = merged_text(old, new, exact, request.title.is_some());
    let scope = union_reported(&old.scope, &new.scope, "scopes", notes);
    let tags = union_reported(&old.tags, &new.tags, "tags", notes);
    let (ttl, is_ttl_explicit) = merged_ttl(old, new);
    // A long text is recognized by the hash of all of it, which only `prepared` has.
    let is_ours = prepared.long_text.is_some() && content == new.content;
    let content_hash =
        if is_ours || exact { new.content_hash.clone() } else { content_hash(content.as_str()) };
    let mut meta = new.meta.clone();
    meta.add_missing(&old.meta);
    RecordBody {
        kind: merged_kind(old.kind, request.kind),
        content_hash,
        simhash: simhash(content.as_str()),
        title,
        content,
        scope,
        tags,
        owner: new.owner.clone().or_else(|| old.owner.clone()),
        ttl,
        is_ttl_explicit,
        quality: merged_quality(&old.quality, judgment.scores),
        meta,
        task,
        dialog,
    }
}

/// Writes passage and vector of a changed record; returns whether it has its vector already.
async fn index(
    tx: &mut Tx,
    record: &Record,
    body: &RecordBody,
    prepared: &Prepared,
    citations: &[Citation],
) -> Result<bool, Error> {
    let passage = passage_of(body, citations);
    // A record that had expired has no passage, so this may create one.
    let (source, private_to) = (PassageSource::Record(record.id), record.access.private_to);
    let passage_id =
        passages::put_only_for(tx, record.project, source, &passage, private_to).await?;
    let text_hash = vectors::text_hash(&passage);
    // The vector embeds the incoming text, so it fits only a record that took that text over.
    let is_same_text = text_hash == vectors::text_hash(&prepared.passage);
    match prepared.vector() {
        Some((model, vector)) if is_same_text => {
            vectors::put(tx, model, passage_id, &text_hash, vector).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Returns the trust of a merged record: if nothing changed, the higher of both, so a confirmation
/// stays; else that of the saver, but no confirmation.
fn merged_trust(old: &Record, body: &RecordBody, new: Trust) -> Trust {
    let is_the_same = old.content == body.content.as_str()
        && old.title == body.title.as_str()
        && (old.kind, &old.scope, &old.tags, &old.meta)
            == (body.kind, &body.scope, &body.tags, &body.meta);
    if is_the_same { old.access.trust.max(new) } else { new.min(Trust::Team) }
}

/// Decides when a merged record ends, and whether that end was named: by this save, or by an
/// earlier one whose end is still to come.
fn merged_ttl(old: &Record, new: &RecordBody) -> (DateTime<Utc>, bool) {
    if new.is_ttl_explicit {
        return (new.ttl, true);
    }
    let stays = old.is_ttl_explicit && old.ttl > Utc::now();
    (if stays { old.ttl } else { old.ttl.max(new.ttl) }, stays)
}

/// Returns title and content of a merged record, both from one text: the newer one, unless it is an
/// exact duplicate or leaves details out. A title named by a caller is kept.
fn merged_text(
    old: &Record,
    new: &RecordBody,
    exact: bool,
    titled: bool,
) -> (Sanitized, Sanitized) {
    let length = |text: &str| as_f32(text.chars().count());
    let says_less = length(new.content.as_str()) < NEWER_LENGTH_MIN * length(&old.content);
    let keep_old = exact || says_less;
    let content =
        if keep_old { Sanitized::stored(old.content.clone()) } else { new.content.clone() };
    let title = if titled || (!keep_old && was_derived(old)) {
        new.title.clone()
    } else {
        Sanitized::stored(old.title.clone())
    };
    (title, content)
}

/// Whether the record's title was derived from its content.
fn was_derived(record: &Record) -> bool {
    record.title.is_empty() || record.content.contains(record.title.trim_end_matches('…'))
}

/// Returns the kind of a merged record: a fact saved again as another statement takes that kind.
pub(crate) fn merged_kind(old: RecordKind, new: RecordKind) -> RecordKind {
    if old == RecordKind::Fact && mergeable(old, new) { new } else { old }
}

/// Unites labels like [`union_capped`] and notes how many exceeded the limit.
fn union_reported(
    old: &[String],
    new: &[String],
    labels: &str,
    notes: &mut Vec<String>,
) -> Vec<String> {
    let all = union_capped(old, new);
    let has = |word: &&String| all.iter().any(|have| have.to_lowercase() == word.to_lowercase());
    notes.extend(left_out(new.len() - new.iter().filter(has).count(), labels, LABELS_MAX));
    all
}

/// Unites two lists without duplicates, up to [`LABELS_MAX`], the old items first.
pub(crate) fn union_capped(old: &[String], new: &[String]) -> Vec<String> {
    let mut all = old.to_vec();
    for item in new {
        if all.len() < LABELS_MAX
            && !all.iter().any(|have| have.to_lowercase() == item.to_lowercase())
        {
            all.push(item.clone());
        }
    }
    all
}

/// Unites citations. A new one takes the position of an old one of the same place; other drifted or
/// orphaned ones go. Also returns how many exceeded [`CITATIONS_MAX`].
fn united_citations(old: Vec<Citation>, new: &[Citation]) -> (Vec<Citation>, usize) {
    let is_named = |one: &Citation| new.iter().any(|other| is_same_place(one, other));
    let mut left = new.to_vec();
    let mut all = Vec::with_capacity(old.len() + left.len());
    for one in old {
        match left.iter().position(|other| is_same_place(&one, other)) {
            Some(at) => all.push(left.remove(at)),
            None if has_changed(one.verdict) || is_named(&one) => {}
            None => all.push(one),
        }
    }
    all.append(&mut left);
    // The oldest go first, except places that this save names.
    let before = all.len();
    let mut excess = before.saturating_sub(CITATIONS_MAX);
    all.retain(|one| {
        let goes = excess > 0 && !is_named(one);
        excess -= usize::from(goes);
        !goes
    });
    let gone = before - all.len();
    (all, gone)
}

/// Whether two citations name the same place in the code.
pub(crate) fn is_same_place(one: &Citation, other: &Citation) -> bool {
    one.file_path == other.file_path
        && one.symbol == other.symbol
        && (one.symbol.is_some() || one.lines == other.lines)
}

/// Merges the quality: novelty and dup stay those of the first save, usefulness may grow.
fn merged_quality(old: &Value, scores: Scores) -> Value {
    let mut merged = old.as_object().cloned().unwrap_or_default();
    let known = merged.get("usefulness").and_then(Value::as_f64).unwrap_or(0.0);
    let new = quality(scores);
    if merged.is_empty() {
        return new;
    }
    if new["usefulness"].as_f64().is_some_and(|usefulness| usefulness > known) {
        merged.insert("usefulness".to_owned(), new["usefulness"].clone());
    }
    Value::Object(merged)
}
