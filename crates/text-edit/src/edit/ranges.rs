//! Replacement of several ranges of the shown text.

use std::ops::Range;

use crate::edit::{Edited, apply, pieces};
use crate::error::EditError;
use crate::file_text::Encoding;
use crate::line::with_lf;
use crate::view::View;

/// A range of the shown text, and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeEdit {
    /// The bytes of [`View::shown`]; empty to insert.
    pub shown: Range<usize>,
    /// The new text, as a model would be shown it.
    pub new: String,
}

/// Replaces ranges of the shown text, which are in order and do not touch. The edited file has at
/// most `max_bytes`.
///
/// Line endings and the bytes of text that stays the same are as in
/// [`str_replace`](crate::str_replace). Without any range, the file stays as it is.
///
/// Fails if a changed part is masked, or if the new text has a placeholder or the shown form of
/// other characters.
pub fn replace_ranges(
    view: &View<'_>,
    edits: &[RangeEdit],
    max_bytes: usize,
) -> Result<Edited, EditError> {
    if view.file().encoding() == Encoding::Unknown8Bit && !edits.is_empty() {
        return Err(EditError::UnknownEncoding);
    }
    let mut splices = Vec::new();
    for edit in edits {
        let text = view.mapped().text_range(&edit.shown, false);
        let ending = pieces::ending_at(view, text);
        let new = with_lf(&edit.new);
        splices.extend(pieces::splices(view, view.mapped(), edit.shown.clone(), &new, ending)?);
    }
    apply(view, &splices, max_bytes)
}
