//! Writing new records, and taking replaced ones out of search, within the save's transaction.

use chrono::{DateTime, Utc};
use mc_contract::operations::save::Kept;
use mc_domain::{DialogId, DocId, RecordId, RecordMeta, RecordState, TaskId, Trust, Visibility};
use mc_sanitizer::Sanitized;
use mc_store::Tx;
use mc_store::citations::{self, Citation};
use mc_store::passages::NewPassage;
use mc_store::records::{self, NewRecord, Record, RecordAccess, RecordBody, RecordSource};
use mc_store::vectors::Model;
use serde_json::{Value, json};

use super::{Prepared, SaveRequest};
use crate::Error;
use crate::judge::Scores;

/// A note to write, with its links.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub request: &'a SaveRequest,
    pub prepared: &'a Prepared,
    pub task: Option<TaskId>,
    pub dialog: Option<DialogId>,
}

/// The record as it is after a save.
pub(crate) struct Applied {
    pub record: Record,
    pub citations: Vec<Citation>,
    pub kept: Kept,
    /// The document behind the record, if the text is longer than a record.
    pub document: Option<DocId>,
    /// Parts of the request that were not taken over.
    pub notes: Vec<String>,
    pub has_vector: bool,
}

impl Applied {
    /// Returns a record without citations and document.
    pub(super) fn of(record: Record, kept: Kept, has_vector: bool) -> Self {
        let (citations, notes) = (Vec::new(), Vec::new());
        Self { record, citations, kept, document: None, notes, has_vector }
    }
}

/// A new record with its passage and vector.
pub(super) struct RecordDraft<'a> {
    pub(super) id: RecordId,
    body: RecordBody,
    access: RecordAccess,
    amends_record_id: Option<RecordId>,
    origin: RecordSource,
    passage: &'a NewPassage,
    vector: Option<(&'a Model, &'a [f32])>,
}

impl<'a> RecordDraft<'a> {
    /// Drafts the record that the request asks for.
    pub(super) fn of(incoming: Incoming<'a>, scores: Scores) -> Self {
        let Incoming { request, prepared, task, dialog } = incoming;
        Self {
            id: RecordId::generate(),
            body: RecordBody { quality: quality(scores), task, dialog, ..prepared.body.clone() },
            access: RecordAccess {
                visibility: request.visibility,
                private_to: super::write::private_to(request),
                trust: prepared.trust,
            },
            amends_record_id: None,
            origin: origin(incoming),
            passage: &prepared.passage,
            vector: prepared.vector(),
        }
    }

    /// Turns the draft into a proposal, which may amend the record `amends`.
    pub(super) fn proposed(mut self, amends: Option<RecordId>, ttl: DateTime<Utc>) -> Self {
        self.access = RecordAccess {
            visibility: Visibility::Proposed,
            private_to: None,
            trust: Trust::Untrusted,
        };
        self.amends_record_id = amends;
        self.body.ttl = ttl;
        self
    }

    pub(super) fn row(&self) -> NewRecord<'_> {
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

/// Inserts the record with passage, vector, citations and document.
pub(super) async fn insert(
    tx: &mut Tx,
    incoming: Incoming<'_>,
    draft: RecordDraft<'_>,
) -> Result<Applied, Error> {
    let Incoming { request, prepared, .. } = incoming;
    let mut record = records::create(tx, request.project, draft.row()).await?;
    if !prepared.citations.is_empty() {
        citations::add(tx, request.project, record.id, &prepared.citations).await?;
        if let [(_, true)] = citations::derive_states(tx, &[record.id]).await?[..] {
            record.state = RecordState::Stale;
        }
    }
    let document = write_long_text(tx, incoming, &record).await?;
    let kept = if document.is_some() { Kept::Document } else { Kept::Whole };
    let citations = prepared.citations.clone();
    let applied = Applied::of(record, kept, draft.vector.is_some());
    Ok(Applied { citations, document, ..applied })
}

/// Writes the document behind a record that holds only a statement of a long text.
pub(super) async fn write_long_text(
    tx: &mut Tx,
    incoming: Incoming<'_>,
    record: &Record,
) -> Result<Option<DocId>, Error> {
    let Incoming { request, prepared, .. } = incoming;
    let Some(text) = &prepared.long_text else { return Ok(None) };
    Ok(Some(text.write(tx, record.project, record.id, request, prepared.trust).await?))
}

/// Returns the contributions of the note: the user who saved it, and its source.
pub(super) fn origin(incoming: Incoming<'_>) -> RecordSource {
    let source = incoming.prepared.source.clone();
    RecordSource { saved_by: incoming.request.saved_by, source }
}

/// Builds the passage of a record.
pub(crate) fn passage_of(body: &RecordBody, citations: &[Citation]) -> NewPassage {
    NewPassage {
        record_kind: Some(body.kind),
        title: body.title.clone(),
        location: location(&body.meta, citations),
        symbols: cited_symbols(citations),
        scope: body.scope.clone(),
        tags: body.tags.clone(),
        author: Sanitized::stored(body.owner.clone().unwrap_or_default()),
        // Search finds a worked example by its steps.
        context: Sanitized::stored(body.meta.steps.join("\n")),
        text: body.content.clone(),
        ..NewPassage::default()
    }
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
