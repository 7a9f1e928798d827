//! Whole files.

use crate::edit::{Edited, Splice, apply, pieces};
use crate::error::{EditError, NotText};
use crate::file_text::{Encoding, FileText};
use crate::limits::MAX_FILE_BYTES;
use crate::line::with_lf;
use crate::view::View;

/// Returns a new file of at most `max_bytes`, in UTF-8 with the line endings of `content`.
pub fn create(content: &str, max_bytes: usize) -> Result<Edited, EditError> {
    let empty = FileText::decode(b"")?;
    let splice = Splice { text: 0..0, new: content.to_owned() };
    let splices = if content.is_empty() { vec![] } else { vec![splice] };
    apply(&View::new(&empty, &[]), &splices, max_bytes)
}

/// Replaces the text of a file by `content`, of at most `max_bytes`.
///
/// The encoding stays the same. Equal lines keep their bytes; others get the most frequent line
/// ending of the file. `content` decides whether the file ends with a line ending.
///
/// Fails if the view has masked text, which would be lost.
pub fn write(view: &View<'_>, content: &str, max_bytes: usize) -> Result<Edited, EditError> {
    let file = view.file();
    if file.encoding() == Encoding::Unknown8Bit {
        return Err(EditError::UnknownEncoding);
    }
    if let Some(mask) = view.masks().first() {
        return Err(EditError::MaskedFile {
            line: view.line_number(mask.text.start),
            class: mask.class.as_str(),
            category: mask.category,
        });
    }
    if content.len() > MAX_FILE_BYTES {
        let (bytes, max) = (content.len(), MAX_FILE_BYTES);
        return Err(NotText::TooLarge { bytes, max }.into());
    }
    let content = with_lf(content);
    if content == view.shown() {
        return Err(EditError::NoChange);
    }
    let whole = 0..view.shown().len();
    let shown = view.mapped().text_range(&whole, false);
    let mut splices =
        pieces::splices(view, view.mapped(), whole, &content, file.main_line_ending())?;
    // Characters before and after the shown ones do not stay without them.
    if let Some(first) = splices.first_mut().filter(|first| first.text.start == shown.start) {
        first.text.start = 0;
    }
    if let Some(last) = splices.last_mut().filter(|last| last.text.end == shown.end) {
        last.text.end = file.text().len();
    }
    apply(view, &splices, max_bytes)
}
