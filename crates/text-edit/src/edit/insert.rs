//! Insertion of lines.

use crate::edit::{Edited, apply, pieces};
use crate::error::EditError;
use crate::file_text::Encoding;
use crate::line::with_lf;
use crate::view::View;

/// Inserts `text` after a line, 1-based; 0 is the start of the file. The edited file has at most
/// `max_bytes`.
///
/// The text gets the line ending of that line. It is always lines of its own, and the file ends
/// with a line ending if it did before.
///
/// Fails if the file does not have the line, the text is empty, or the place is inside of masked
/// text of several lines.
pub fn insert(
    view: &View<'_>,
    line: usize,
    text: &str,
    max_bytes: usize,
) -> Result<Edited, EditError> {
    let file = view.file();
    if file.encoding() == Encoding::Unknown8Bit {
        return Err(EditError::UnknownEncoding);
    }
    if text.is_empty() {
        return Err(EditError::Empty("insert_text"));
    }
    let lines = file.lines();
    if line > lines.len() {
        return Err(EditError::LineOutOfRange { line, line_count: lines.len() });
    }
    let mut new = with_lf(text);
    let before = line.checked_sub(1).map(|at| &lines[at]);
    let at = before.map_or(0, crate::line::Line::end);
    if before.is_some_and(|before| before.ending.is_none()) {
        let content = new.strip_suffix('\n').unwrap_or(&new);
        new = format!("\n{content}");
    } else if !lines.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    let ending = before.or(lines.first()).and_then(|line| line.ending);
    let ending = ending.unwrap_or_else(|| file.main_line_ending());
    let splice = pieces::splice(file.text(), at..at, &new, ending);
    apply(view, &[splice], max_bytes)
}
