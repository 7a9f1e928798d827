//! Notes about the parts of a request that a save did not take over as they were.

use mc_contract::operations::save::ContradictedRecord;
use mc_domain::DocId;
use mc_store::records::Record;

use super::{CONTENT_MAX_CHARS, Prepared, SaveRequest};
use crate::judge::Contradiction;
use crate::text::cut;

/// Longest text of a contradicted record in the outcome, in characters.
const SHOWN_MAX_CHARS: usize = 600;

/// Reports a known record that the saved note seems to contradict.
pub(super) fn contradicted(found: &Contradiction) -> ContradictedRecord {
    let id = found.id;
    ContradictedRecord {
        id,
        text: cut(&found.content, SHOWN_MAX_CHARS),
        difference: found.difference.to_string(),
        hint: format!(
            "both are kept; if yours replaces it, save yours again with \"supersedes\": \"{id}\""
        ),
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
            "the record is linked to \"{to}\" now and no longer to \"{from}\": a record belongs to \
             one issue"
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
