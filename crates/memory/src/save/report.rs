//! What a save says of a request that was not taken as it came: nothing of it goes without a word.

use mc_domain::{DocId, RecordId};
use mc_store::records::Record;

use super::{CONTENT_MAX_CHARS, Prepared, SaveRequest};
use crate::judge::Contradiction;
use crate::text::cut;

/// Characters of a contradicted record that the answer shows.
const SHOWN_MAX_CHARS: usize = 600;

/// What became of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept {
    /// The record says all of it.
    Whole,
    /// The record holds a statement of it, a document behind the record all of it.
    Document,
    /// The record that says the same kept its own text.
    Existing,
    /// It is not in memory: it waits in quarantine, or was rejected.
    #[default]
    Nothing,
}

impl Kept {
    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Document => "document",
            Self::Existing => "existing",
            Self::Nothing => "nothing",
        }
    }
}

/// A known record that what was saved seems to contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradicted {
    /// The record.
    pub id: RecordId,
    /// What it says, or the beginning of that.
    pub text: String,
    /// What sets the two apart.
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

/// What writing a note has to say.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub kept: Kept,
    pub document: Option<DocId>,
    pub notes: Vec<String>,
}

impl Report {
    /// Says how many of what a record could not gather, if any.
    pub fn left_out(&mut self, count: usize, what: &str, max: usize) {
        if count > 0 {
            self.notes.push(format!("{count} {what} left out: a record has at most {max}"));
        }
    }

    /// Says from which issue the save takes a record that is known, if it does.
    pub fn moved(&mut self, known: &Record, request: &SaveRequest) {
        let (from, to) = (&known.task_external_id, &request.task_external_id);
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.notes.push(format!(
                "the record is linked to {to} now and no longer to {from}: a record belongs to one issue"
            ));
        }
    }
}

/// What of a request was not taken as it came, whatever was decided about it.
pub(super) fn of_request(
    request: &SaveRequest,
    prepared: &Prepared,
    document: Option<DocId>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(whole), Some(_)) = (&prepared.whole, document) {
        notes.push(format!(
            "the text has {} characters with its steps, and a record at most {CONTENT_MAX_CHARS}: it holds a statement of it, the document all",
            whole.length
        ));
    }
    if prepared.clean.source.is_empty() && !request.source.is_empty() {
        notes.push("`source` left out: it reads like an instruction to a model".to_owned());
    }
    notes
}
