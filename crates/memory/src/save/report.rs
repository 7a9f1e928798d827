//! Notes about the parts of a request that a save did not take over as they were.

use mc_domain::{DocId, RecordId};
use mc_store::records::Record;

use super::{CONTENT_MAX_CHARS, Prepared, SaveRequest};
use crate::judge::Contradiction;
use crate::text::cut;

/// Longest text of a contradicted record in the outcome, in characters.
const SHOWN_MAX_CHARS: usize = 600;

/// Where the text of a save is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The record holds all of it.
    Whole,
    /// The record holds a statement of it, and the document behind it the whole text.
    Document,
    /// The duplicate kept its own text.
    Existing,
    /// It is not in memory: the save was quarantined or rejected.
    Nothing,
}

impl Kept {
    /// Returns the value of the field `kept`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Document => "document",
            Self::Existing => "existing",
            Self::Nothing => "nothing",
        }
    }
}

/// A known record that the saved note seems to contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradicted {
    /// The record.
    pub id: RecordId,
    /// Its content, or the beginning of it.
    pub text: String,
    /// How the two differ.
    pub difference: String,
}

impl From<Contradiction> for Contradicted {
    fn from(found: Contradiction) -> Self {
        Self {
            id: found.id,
            text: cut(&found.content, SHOWN_MAX_CHARS),
            difference: found.difference.to_string(),
        }
    }
}

/// Notes how many scopes, tags or citations exceeded the limit of a record, if any did.
pub(super) fn left_out(count: usize, items: &str, max: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} {items} left out: a record has at most {max}"))
}

/// Notes from which issue the save moves a known record to another, if it does.
pub(super) fn moved(known: &Record, request: &SaveRequest) -> Option<String> {
    let (from, to) = (known.task_external_id.as_ref()?, request.task_external_id.as_ref()?);
    (from != to).then(|| {
        format!(
            "the record is linked to {to} now and no longer to {from}: a record belongs to one \
             issue"
        )
    })
}

/// Returns notes about parts of the request that were not taken over, whatever was decided.
pub(super) fn request_notes(
    request: &SaveRequest,
    prepared: &Prepared,
    document: Option<DocId>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(whole), Some(_)) = (&prepared.long_text, document) {
        notes.push(format!(
            "the text has {} characters with its steps, and a record at most \
                {CONTENT_MAX_CHARS}: it holds a statement of it, the document all",
            whole.length
        ));
    }
    if prepared.source.is_empty() && !request.source.is_empty() {
        notes.push("`source` left out: it reads like an instruction to a model".to_owned());
    }
    notes
}
