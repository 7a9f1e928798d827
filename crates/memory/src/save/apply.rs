//! Writing new records, and taking replaced ones out of search, within the save's transaction.

use chrono::{DateTime, Utc};
use mc_domain::{
    DialogId, DocId, ProjectId, RecordId, RecordKind, RecordMeta, RecordState, TaskId, Trust,
    Visibility,
};
use mc_sanitizer::Sanitized;
use mc_store::Tx;
use mc_store::citations::{self, Citation};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::records::{self, NewRecord, Record, RecordAccess, RecordBody, RecordSource};
use mc_store::vectors::Model;
use serde_json::{Value, json};

use super::report::{Kept, Report};
use super::sanitize::SanitizedRequest;
use super::{Prepared, SaveRequest};
use crate::Error;
use crate::distill::Distilled;
use crate::judge::Scores;

/// What a record is linked to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub task: Option<TaskId>,
    pub dialog: Option<DialogId>,
}

/// The record that a note duplicates.
#[derive(Debug, Clone, Copy)]
pub(super) struct DuplicateRecord {
    pub id: RecordId,
    /// Whether the two have the same content hash.
    pub exact: bool,
}

/// The record as it was written, with its report.
pub(super) struct Applied {
    pub record: Record,
    pub citations: Vec<Citation>,
    pub report: Report,
    pub has_vector: bool,
}

/// A new record with its passage and vector.
pub(super) struct RecordDraft<'a> {
    id: RecordId,
    body: RecordBody,
    access: RecordAccess,
    amends_record_id: Option<RecordId>,
    origin: RecordSource,
    passage: &'a NewPassage,
    vector: Option<(&'a Model, &'a [f32])>,
}

impl<'a> RecordDraft<'a> {
    /// Drafts the record that the request asks for.
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
            meta: prepared.clean.meta.clone(),
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
            vector: prepared.vector(),
        }
    }

    /// Turns the draft into a proposal, which may amend the record `amends`.
    fn proposed(mut self, amends: Option<RecordId>, ttl: DateTime<Utc>) -> Self {
        self.access = RecordAccess {
            visibility: Visibility::Proposed,
            private_to: None,
            trust: Trust::Untrusted,
        };
        self.amends_record_id = amends;
        self.body.ttl = ttl;
        self
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

/// Inserts the records of saves that have neither citations nor a document.
pub(super) async fn create_all<'a>(
    tx: &mut Tx,
    project: ProjectId,
    all: impl Iterator<Item = &'a RecordDraft<'a>>,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<_> = all.map(RecordDraft::row).collect();
    Ok(records::create_all(tx, project, &rows).await?)
}

/// Inserts the record with passage, vector, citations and document.
pub(super) async fn create(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    links: Links,
    scores: Scores,
) -> Result<Applied, Error> {
    insert(tx, request, prepared, RecordDraft::of(request, prepared, links, scores)).await
}

/// Inserts a proposal, which may amend the record `amends`.
pub(super) async fn propose(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    links: Links,
    amends: Option<RecordId>,
    ttl: DateTime<Utc>,
    scores: Scores,
) -> Result<Applied, Error> {
    let draft = RecordDraft::of(request, prepared, links, scores).proposed(amends, ttl);
    insert(tx, request, prepared, draft).await
}

async fn insert(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    draft: RecordDraft<'_>,
) -> Result<Applied, Error> {
    let mut record = records::create(tx, request.project, draft.row()).await?;
    if !prepared.citations.is_empty() {
        citations::add(tx, request.project, record.id, &prepared.citations).await?;
        if let [(_, true)] = citations::derive_states(tx, &[record.id]).await?[..] {
            record.state = RecordState::Stale;
        }
    }
    let document = write_long_text(tx, request, prepared, &record).await?;
    let kept = if document.is_some() { Kept::Document } else { Kept::Whole };
    let report = Report { kept, document, notes: Vec::new() };
    let citations = prepared.citations.clone();
    Ok(Applied { record, citations, report, has_vector: draft.vector.is_some() })
}

/// Writes the document behind a record that holds only a statement of a long text.
pub(super) async fn write_long_text(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
    record: &Record,
) -> Result<Option<DocId>, Error> {
    let Some(text) = &prepared.long_text else { return Ok(None) };
    Ok(Some(text.write(tx, record.project, record.id, request, prepared.trust).await?))
}

/// Marks a record as replaced by another and removes it from search. Row and history stay.
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

/// Returns who saved the note and what it was taken from.
pub(super) fn origin(request: &SaveRequest, prepared: &Prepared) -> RecordSource {
    RecordSource { saved_by: request.saved_by, source: prepared.clean.source.clone() }
}

/// Builds the passage of a new record.
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
        location: location(&clean.meta, citations),
        symbols: cited_symbols(citations),
        scope: distilled.scope.clone(),
        tags: distilled.tags.clone(),
        language: String::new(),
        author: Sanitized::stored(clean.owner.clone().unwrap_or_default()),
        context: steps(&clean.meta),
        text: content.clone(),
        lines: None,
    }
}

/// Builds the passage of a changed record.
pub(crate) fn passage_of(body: &RecordBody, citations: &[Citation]) -> NewPassage {
    NewPassage {
        record_kind: Some(body.kind),
        title: body.title.clone(),
        location: location(&body.meta, citations),
        symbols: cited_symbols(citations),
        scope: body.scope.clone(),
        tags: body.tags.clone(),
        language: String::new(),
        author: Sanitized::stored(body.owner.clone().unwrap_or_default()),
        context: steps(&body.meta),
        text: body.content.clone(),
        lines: None,
    }
}

/// Joins the steps of a worked example, which search finds it by.
fn steps(meta: &RecordMeta) -> Sanitized {
    Sanitized::stored(meta.steps.join("\n"))
}

/// Returns the record's URL, else the first file that it cites.
fn location(meta: &RecordMeta, citations: &[Citation]) -> Sanitized {
    let file = || citations.first().map(|citation| citation.file_path.clone());
    // Fields of a sanitized request, or of a stored record.
    Sanitized::stored(meta.url.clone().or_else(file).unwrap_or_default())
}

fn cited_symbols(citations: &[Citation]) -> Vec<String> {
    let mut symbols: Vec<String> = citations.iter().filter_map(|c| c.symbol.clone()).collect();
    symbols.sort();
    symbols.dedup();
    symbols
}

/// Returns the scores as a record stores them, with three decimals.
pub(super) fn quality(scores: Scores) -> Value {
    let round = |score: f32| (f64::from(score) * 1_000.0).round() / 1_000.0;
    json!({
        "novelty": round(scores.novelty),
        "dup": round(scores.dup),
        "usefulness": round(scores.usefulness),
    })
}
