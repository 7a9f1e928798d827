//! A judgement carried out within the transaction.

use chrono::{DateTime, Utc};
use mc_domain::{
    CitationVerdict, DialogId, ProjectId, RecordId, RecordKind, RecordState, TaskId, Trust,
    Visibility,
};
use mc_sanitizer::Sanitized;
use mc_store::Tx;
use mc_store::citations::{self, Citation};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::records::{
    self, NewRecord, Record, RecordAccess, RecordBody, RecordSource, RecordUpdate,
};
use mc_store::vectors::{self, Model};
use serde_json::{Value, json};

use super::report::{Kept, Report};
use super::sanitize::SanitizedRequest;
use super::{Embedded, Prepared, SaveRequest};
use crate::Error;
use crate::distill::Distilled;
use crate::judge::{Judgment, Scores};
use crate::normalize::content_hash;
use crate::simhash::simhash;

/// A near duplicate's text replaces the record's own unless it is shorter than this share of it:
/// of two tellings the newer one counts, but not when it leaves things out.
const NEWER_LENGTH_MIN: f32 = 0.9;

/// Most scopes and most tags that a record gathers, as many as one save may bring.
const WORDS_MAX: usize = 64;
/// Most citations that a record gathers; the newest stay.
pub(crate) const CITATIONS_MAX: usize = 32;

/// What a record is linked to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub task: Option<TaskId>,
    pub dialog: Option<DialogId>,
}

/// The record that says the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactDuplicate {
    pub id: RecordId,
    pub exact: bool,
}

/// What was written.
pub(super) struct Applied {
    pub record: Record,
    pub citations: Vec<Citation>,
    pub report: Report,
    pub has_vector: bool,
}

/// A new record with all that search sees of it.
pub(super) struct New<'a> {
    id: RecordId,
    body: RecordBody,
    access: RecordAccess,
    amends_record_id: Option<RecordId>,
    origin: RecordSource,
    passage: &'a NewPassage,
    vector: Option<(&'a Model, &'a [f32])>,
}

impl<'a> New<'a> {
    /// For those that the save is for.
    pub(super) fn of(
        request: &SaveRequest,
        prepared: &'a Prepared,
        links: Links,
        scores: Scores,
    ) -> Self {
        let body = RecordBody {
            kind: request.kind,
            title: prepared.title.clone(),
            content: prepared.content.clone(),
            scope: prepared.distilled.scope.clone(),
            tags: prepared.distilled.tags.clone(),
            owner: prepared.clean.owner.clone(),
            ttl: prepared.ttl,
            is_ttl_explicit: request.ttl.is_some(),
            quality: quality(scores),
            meta: Value::Object(prepared.clean.meta.clone()),
            task: links.task,
            dialog: links.dialog,
            content_hash: prepared.content_hash.to_vec(),
            simhash: prepared.simhash,
        };
        Self {
            id: RecordId::generate(),
            body,
            access: RecordAccess {
                visibility: request.visibility,
                private_to: super::write::private_to(request),
                trust: prepared.trust,
            },
            amends_record_id: None,
            origin: origin(request, prepared),
            passage: &prepared.passage,
            vector: prepared.vector.as_ref().map(Embedded::of_model),
        }
    }

    /// The same before the reviewers, perhaps for a change of the record `amends`.
    fn proposed(self, amends: Option<RecordId>) -> Self {
        let standing = RecordAccess {
            visibility: Visibility::Proposed,
            private_to: None,
            trust: Trust::Untrusted,
        };
        Self { access: standing, amends_record_id: amends, ..self }
    }

    pub(super) fn id(&self) -> RecordId {
        self.id
    }

    fn row(&self) -> NewRecord<'_> {
        NewRecord {
            id: self.id,
            body: &self.body,
            access: self.access,
            amends_record_id: self.amends_record_id,
            origin: &self.origin,
            passage: self.passage,
            vector: self.vector,
        }
    }
}

/// Adds the records of saves that cite nothing and have no text behind them.
pub(super) async fn create_all<'a>(
    tx: &mut Tx,
    project: ProjectId,
    all: impl Iterator<Item = &'a New<'a>>,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<_> = all.map(New::row).collect();
    Ok(records::create_all(tx, project, &rows).await?)
}

/// Adds the record with passage, vector and citations.
pub(super) async fn create(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    links: Links,
    scores: Scores,
) -> Result<Applied, Error> {
    add(tx, request, prepared, New::of(request, prepared, links, scores)).await
}

/// Adds a proposal, perhaps for a change of the record `amends`.
pub(super) async fn propose(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    links: Links,
    amends: Option<RecordId>,
    scores: Scores,
) -> Result<Applied, Error> {
    let new = New::of(request, prepared, links, scores).proposed(amends);
    add(tx, request, prepared, new).await
}

async fn add(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    new: New<'_>,
) -> Result<Applied, Error> {
    let mut record = records::create(tx, request.project, new.row()).await?;
    if !prepared.citations.is_empty() {
        citations::add(tx, request.project, record.id, &prepared.citations).await?;
        if let [(_, true)] = citations::derive_states(tx, &[record.id]).await?[..] {
            record.state = RecordState::Stale;
        }
    }
    let mut report = Report { kept: Kept::Whole, ..Report::default() };
    keep_whole(tx, request, prepared, &record, &mut report).await?;
    let citations = prepared.citations.clone();
    Ok(Applied { record, citations, report, has_vector: new.vector.is_some() })
}

/// Puts the whole text behind the record, where that holds but a statement of it.
async fn keep_whole(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    record: &Record,
    report: &mut Report,
) -> Result<(), Error> {
    if let Some(whole) = &prepared.whole {
        let (project, trust) = (record.project, prepared.trust);
        report.document = Some(whole.write(tx, project, record.id, request, trust).await?);
        report.kept = Kept::Document;
    }
    Ok(())
}

/// Brings the twin up to date: unites tags, scope, meta and citations, extends its life, moves it
/// to the front by its age, and keeps what it was before in its history.
pub(super) async fn merge(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    links: Links,
    twin: ExactDuplicate,
    judgement: &Judgment,
) -> Result<Applied, Error> {
    let old = records::find_in(tx, twin.id).await?.ok_or(Error::UnknownRecord(twin.id))?;
    let (title, content) = merged_text(&old, prepared, twin.exact, request.title.is_some());
    let mut report = Report { kept: Kept::Whole, ..Report::default() };
    if content.as_str() == old.content {
        report.kept = Kept::Existing;
    }
    report.moved(&old, request);
    let scope = gathered(&old.scope, &prepared.distilled.scope, "scopes", &mut report);
    let tags = gathered(&old.tags, &prepared.distilled.tags, "tags", &mut report);
    let (ttl, is_ttl_explicit) = merged_end(&old, request, prepared);
    // Of a text that stands whole in a document, all is what the same is known by.
    let is_ours = prepared.whole.is_some() && content == prepared.content;
    let hash =
        if is_ours || twin.exact { prepared.content_hash } else { content_hash(content.as_str()) };
    let body = RecordBody {
        kind: merged_kind(old.kind, request.kind),
        content_hash: hash.to_vec(),
        simhash: simhash(content.as_str()),
        title,
        content,
        scope,
        tags,
        owner: prepared.clean.owner.clone().or_else(|| old.owner.clone()),
        ttl,
        is_ttl_explicit,
        quality: merged_quality(&old.quality, judgement.scores),
        meta: merged_meta(&old.meta, prepared),
        task: links.task,
        dialog: links.dialog,
    };
    let trust = merged_trust(&old, &body, prepared.trust);
    let known = citations::of_record_in(tx, old.id).await?;
    let (citations, gone) = united_citations(known, &prepared.citations);
    report.left_out(gone, "of the oldest citations", CITATIONS_MAX);
    let change = RecordUpdate {
        body: &body,
        citations: (!prepared.citations.is_empty()).then_some(citations.as_slice()),
        trust,
        origins: &[origin(request, prepared)],
        reason: &judgement.reason,
        changed_by: Some(request.principal.as_str()),
    };
    records::update(tx, &old, &change).await?;
    let has_vector = index(tx, &old, &body, prepared, &citations).await?;
    citations::derive_states(tx, &[old.id]).await?;
    keep_whole(tx, request, prepared, &old, &mut report).await?;
    let record = records::find_in(tx, old.id).await?.ok_or(Error::UnknownRecord(old.id))?;
    Ok(Applied { record, citations, report, has_vector })
}

/// Takes a replaced record out of the search; its row and history stay.
pub(super) async fn supersede(
    tx: &mut Tx,
    project: ProjectId,
    replaced: RecordId,
    by: RecordId,
) -> Result<(), Error> {
    if !records::supersede(tx, project, replaced, by).await? {
        return Err(Error::UnknownRecord(replaced));
    }
    Ok(passages::remove(tx, PassageSource::Record(replaced)).await?)
}

/// Passage and vector of a record that was changed; answers whether it has its vector already.
async fn index(
    tx: &mut Tx,
    record: &Record,
    body: &RecordBody,
    prepared: &Prepared,
    citations: &[Citation],
) -> Result<bool, Error> {
    let passage = passage_of(body, citations);
    // It may have none: one that had expired was taken out of the search.
    let (source, private_to) = (PassageSource::Record(record.id), record.access.private_to);
    let passage_id =
        passages::put_only_for(tx, record.project, source, &passage, private_to).await?;
    let text_hash = vectors::text_hash(&passage);
    // The vector was made of the note as it came in; a record that kept its own text has its own.
    let is_same_text = text_hash == vectors::text_hash(&prepared.passage);
    match &prepared.vector {
        Some(embedded) if is_same_text => {
            let (model, vector) = embedded.of_model();
            vectors::put(tx, model, passage_id, &text_hash, vector).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Who vouches for a merged record: a person who said that it holds, as long as it says the same; for a
/// new text whoever saved that, for an old one who is trusted more.
fn merged_trust(old: &Record, body: &RecordBody, new: Trust) -> Trust {
    let is_the_same = old.content == body.content.as_str()
        && old.title == body.title.as_str()
        && (old.kind, &old.scope, &old.tags, &old.meta)
            == (body.kind, &body.scope, &body.tags, &body.meta);
    if is_the_same { old.access.trust.max(new) } else { new.min(Trust::Team) }
}

/// Where what is saved comes from.
pub(super) fn origin(request: &SaveRequest, prepared: &Prepared) -> RecordSource {
    RecordSource { saved_by: request.saved_by, source: prepared.clean.source.clone() }
}

/// What search will see of a new record.
pub(super) fn passage(
    kind: RecordKind,
    title: &Sanitized,
    content: &Sanitized,
    clean: &SanitizedRequest,
    distilled: &Distilled,
    citations: &[Citation],
) -> NewPassage {
    NewPassage {
        record_kind: Some(kind),
        title: title.clone(),
        location: place(clean.url.as_deref(), citations),
        symbols: cited_symbols(citations),
        scope: distilled.scope.clone(),
        tags: distilled.tags.clone(),
        language: String::new(),
        author: Sanitized::stored(clean.owner.clone().unwrap_or_default()),
        context: steps(clean.meta.get("steps")),
        text: content.clone(),
        lines: None,
    }
}

/// What search will see of a record that was changed.
pub(crate) fn passage_of(body: &RecordBody, citations: &[Citation]) -> NewPassage {
    NewPassage {
        record_kind: Some(body.kind),
        title: body.title.clone(),
        location: place(body.meta.get("url").and_then(Value::as_str), citations),
        symbols: cited_symbols(citations),
        scope: body.scope.clone(),
        tags: body.tags.clone(),
        language: String::new(),
        author: Sanitized::stored(body.owner.clone().unwrap_or_default()),
        context: steps(body.meta.get("steps")),
        text: body.content.clone(),
        lines: None,
    }
}

/// The steps of a worked example, which it is found by.
fn steps(steps: Option<&Value>) -> Sanitized {
    let steps = steps.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    Sanitized::stored(steps.collect::<Vec<_>>().join("\n"))
}

/// Where a record leads: its address, else the first file that it cites.
fn place(url: Option<&str>, citations: &[Citation]) -> Sanitized {
    let file = || citations.first().map(|citation| citation.file_path.clone());
    // Fields of a sanitized request, or of a stored record.
    Sanitized::stored(url.map(str::to_owned).or_else(file).unwrap_or_default())
}

fn cited_symbols(citations: &[Citation]) -> Vec<String> {
    let mut symbols: Vec<String> = citations.iter().filter_map(|c| c.symbol.clone()).collect();
    symbols.sort();
    symbols.dedup();
    symbols
}

/// When a merged record ends, and whether that was named: by this save, or by an earlier one whose
/// end is still to come.
fn merged_end(old: &Record, request: &SaveRequest, new: &Prepared) -> (DateTime<Utc>, bool) {
    if request.ttl.is_some() {
        return (new.ttl, true);
    }
    let stays = old.is_ttl_explicit && old.ttl > Utc::now();
    (if stays { old.ttl } else { old.ttl.max(new.ttl) }, stays)
}

/// Title and content of a merged record, both from one telling: the newer one, unless it is the
/// same or leaves things out. A title that a person gave is kept.
fn merged_text(old: &Record, new: &Prepared, exact: bool, titled: bool) -> (Sanitized, Sanitized) {
    let length = |text: &str| f32::from(u16::try_from(text.chars().count()).unwrap_or(u16::MAX));
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

/// Whether the record's title was taken from its content.
fn was_derived(record: &Record) -> bool {
    record.title.is_empty() || record.content.contains(record.title.trim_end_matches('…'))
}

/// A fact that is saved again as a rule or a warning becomes one; nothing becomes a mere fact.
pub(crate) fn merged_kind(old: RecordKind, new: RecordKind) -> RecordKind {
    let is_statement = |kind| !matches!(kind, RecordKind::Fewshot | RecordKind::AdrLink);
    if old == RecordKind::Fact && is_statement(new) { new } else { old }
}

/// [`united`], with a word about what there was no room for.
fn gathered(old: &[String], new: &[String], what: &str, report: &mut Report) -> Vec<String> {
    let all = united(old, new);
    let has = |word: &&String| all.iter().any(|have| have.to_lowercase() == word.to_lowercase());
    report.left_out(new.len() - new.iter().filter(has).count(), what, WORDS_MAX);
    all
}

/// At most [`WORDS_MAX`] of both, the old ones first.
pub(crate) fn united(old: &[String], new: &[String]) -> Vec<String> {
    let mut all = old.to_vec();
    for item in new {
        if all.len() < WORDS_MAX
            && !all.iter().any(|have| have.to_lowercase() == item.to_lowercase())
        {
            all.push(item.clone());
        }
    }
    all
}

/// The old citations with the new ones, each of which stands where an old one named the same place.
/// Whoever says where it stands now settles what had drifted. Answers how many there was no room for, too.
fn united_citations(old: Vec<Citation>, new: &[Citation]) -> (Vec<Citation>, usize) {
    let is_bad = |one: &Citation| {
        matches!(one.verdict, CitationVerdict::Drifted | CitationVerdict::Orphaned)
    };
    let is_named = |one: &Citation| new.iter().any(|other| is_same_place(one, other));
    let mut left = new.to_vec();
    let mut all = Vec::with_capacity(old.len() + left.len());
    for one in old {
        match left.iter().position(|other| is_same_place(&one, other)) {
            Some(at) => all.push(left.remove(at)),
            None if is_bad(&one) || is_named(&one) => {}
            None => all.push(one),
        }
    }
    all.append(&mut left);
    // The first go, but for what is named just now.
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

/// Whether two citations name the same place.
pub(crate) fn is_same_place(one: &Citation, other: &Citation) -> bool {
    one.file_path == other.file_path
        && one.symbol == other.symbol
        && (one.symbol.is_some() || one.lines == other.lines)
}

fn merged_meta(old: &Value, prepared: &Prepared) -> Value {
    let mut meta = old.as_object().cloned().unwrap_or_default();
    meta.extend(prepared.clean.meta.clone());
    Value::Object(meta)
}

fn quality(scores: Scores) -> Value {
    let round = |score: f32| (f64::from(score) * 1_000.0).round() / 1_000.0;
    json!({
        "novelty": round(scores.novelty),
        "dup": round(scores.dup),
        "usefulness": round(scores.usefulness),
    })
}

/// A merged record was as new as it was when it came; only what it is good for may grow.
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
