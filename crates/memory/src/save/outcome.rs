//! The outcome of a save: the decision, its reasons, and the record as it is afterwards.

use std::fmt;
use std::time::Duration;

use mc_contract::operations::save::{ContradictedRecord, Kept, UnknownCitation};
use mc_domain::{DocId, QuarantineItemId, RecordId};
use mc_store::citations::Citation;
use mc_store::records::Record;

use super::apply::Applied;
use super::prepare::Prepared;
use super::report;
use super::request::SaveRequest;
use super::write::Written;
use crate::content_filter::{ContentFilter, MaskedCount};
use crate::judge::{Reject, Scores};

/// Decision about a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A new record.
    Created(RecordId),
    /// An existing record was updated.
    Merged(RecordId),
    /// A new record, or the duplicate, replaced others.
    Superseded {
        /// The live record.
        by: RecordId,
        /// Ids of the superseded records.
        replaced: Vec<RecordId>,
    },
    /// A proposal is open for review by a member of the team.
    Proposed(RecordId),
    /// A team record says the same; nothing was changed.
    Duplicate(RecordId),
    /// The text is in quarantine.
    Quarantined(QuarantineItemId),
    /// The note says too little; nothing was saved.
    Rejected(Reject),
    /// The policy forbids the text; nothing was saved.
    Forbidden,
}

impl Decision {
    /// Returns the record that holds the note, if it was kept.
    pub fn record(&self) -> Option<RecordId> {
        match self {
            Self::Created(id)
            | Self::Merged(id)
            | Self::Proposed(id)
            | Self::Duplicate(id)
            | Self::Superseded { by: id, .. } => Some(*id),
            Self::Quarantined(_) | Self::Rejected(_) | Self::Forbidden => None,
        }
    }

    /// Returns the records that the note replaced.
    pub fn replaced(&self) -> &[RecordId] {
        match self {
            Self::Superseded { replaced, .. } => replaced,
            _ => &[],
        }
    }

    /// Returns the category of the reason why nothing was saved.
    pub fn rejection_reason(&self) -> Option<&'static str> {
        match self {
            Self::Rejected(reject) => Some(reject.as_str()),
            Self::Quarantined(_) | Self::Forbidden => Some("policy"),
            _ => None,
        }
    }

    /// Returns the value of the field `outcome`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Merged(_) => "merged",
            Self::Superseded { .. } => "superseded",
            Self::Proposed(_) => "proposed",
            Self::Duplicate(_) => "duplicate",
            Self::Quarantined(_) => "quarantined",
            Self::Rejected(_) | Self::Forbidden => "rejected",
        }
    }
}

/// The decision in words: `merged into <id>`.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created(id) => write!(f, "created {id}"),
            Self::Merged(id) => write!(f, "merged into {id}"),
            Self::Superseded { by, replaced } => {
                let replaced: Vec<_> = replaced.iter().map(ToString::to_string).collect();
                write!(f, "{by} superseded {}", replaced.join(", "))
            }
            Self::Proposed(id) => write!(f, "proposed {id}"),
            Self::Duplicate(id) => write!(f, "duplicate of {id}"),
            Self::Quarantined(id) => write!(f, "quarantined as {id}"),
            Self::Rejected(_) | Self::Forbidden => f.write_str("rejected"),
        }
    }
}

/// The result of a save, for the response.
#[derive(Debug, Clone)]
pub struct SaveOutcome {
    /// How the note was stored.
    pub decision: Decision,
    /// The decision in words: `merged into <id>`.
    pub message: String,
    /// The reason of the decision.
    pub reason: String,
    /// The judge's scores.
    pub scores: Scores,
    /// Findings that were masked before anything was stored.
    pub redactions: Vec<MaskedCount>,
    /// Families of prompt injection that the text resembles; it may be harmless.
    pub injection_flags: Vec<&'static str>,
    /// Citations of the record with their verdicts.
    pub citations: Vec<Citation>,
    /// Citations left out, as no indexed repository has their place.
    pub unknown_citations: Vec<UnknownCitation>,
    /// Where the text is now.
    pub kept: Kept,
    /// The document behind the record with the whole text, if the record is too short for it.
    pub document: Option<DocId>,
    /// Parts of the text that are stored nowhere: greetings, thanks, hidden comments.
    pub left_out: Vec<String>,
    /// Other parts of the request that were not taken over, and why; for people.
    pub notes: Vec<String>,
    /// The known record that the note seems to contradict without replacing it.
    pub contradicts: Option<ContradictedRecord>,
    /// The record as it is now; `None` if the note was not kept.
    pub record: Option<Record>,
    /// Why semantic search cannot find the record yet; the vector follows from the queue.
    pub vector_pending_reason: Option<&'static str>,
    /// Time for which the save might still wait for a model.
    pub model_wait_left: Duration,
}

impl SaveOutcome {
    pub(super) fn of_written(
        request: &SaveRequest,
        written: Written,
        prepared: Prepared,
        filter: &ContentFilter,
    ) -> Self {
        let Applied { record, citations, kept, document, mut notes, has_vector } = written.applied;
        notes.extend(report::request_notes(request, &prepared, document));
        Self {
            scores: written.scores,
            citations,
            unknown_citations: prepared.unknown_citations,
            kept,
            document,
            left_out: prepared.left_out,
            notes,
            contradicts: written.contradicts.as_ref().map(report::contradicted),
            record: Some(record),
            vector_pending_reason: prepared.vector.err().filter(|_| !has_vector),
            ..not_kept(written.decision, written.reason, filter)
        }
    }
}

/// Reports a note that was rejected or quarantined.
pub(super) fn not_kept(decision: Decision, reason: String, filter: &ContentFilter) -> SaveOutcome {
    SaveOutcome {
        message: decision.to_string(),
        decision,
        reason,
        scores: Scores::default(),
        redactions: filter.masked(),
        injection_flags: filter.flags(),
        citations: Vec::new(),
        unknown_citations: Vec::new(),
        kept: Kept::Nothing,
        document: None,
        left_out: Vec::new(),
        notes: Vec::new(),
        contradicts: None,
        record: None,
        vector_pending_reason: None,
        model_wait_left: Duration::ZERO,
    }
}
