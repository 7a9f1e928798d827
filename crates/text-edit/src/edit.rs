//! Edits of a view.

mod check;
mod closest;
mod diff;
mod insert;
mod matches;
mod pieces;
mod ranges;
mod replace;
#[cfg(test)]
mod tests;
mod whole;

use std::fmt;
use std::ops::Range;

use mc_sanitizer::Finding;
use sha2::{Digest, Sha256};

use crate::error::EditError;
use crate::file_text::{Encoding, FileText};
use crate::limits::{Limits, MAX_FILE_BYTES};
use crate::view::View;
use crate::view::mask::{self, Mask};

pub use insert::insert;
pub use ranges::{RangeEdit, replace_ranges};
pub use replace::str_replace;
pub use whole::{create, write};

/// Lines around a change in its snippet.
const SNIPPET_CONTEXT: usize = 3;
/// Limits of a snippet.
const SNIPPET_LIMITS: Limits = Limits { max_line_bytes: 400, max_bytes: 8 * 1024 };

/// An edited file. [`Edited::check_masking`] gives its bytes.
#[derive(Clone)]
pub struct Edited {
    file: FileText,
    masks: Vec<Mask>,
    /// Unified diff of the text as a model sees it; cut at [`crate::MAX_DIFF_BYTES`].
    pub diff: String,
    /// The changed lines of the new file and three lines around them, with line numbers.
    pub snippet: String,
    /// The first changed line of the new file, 1-based. After a removal, the line before it.
    pub first_line: usize,
    /// The last changed line of the new file, 1-based.
    pub last_line: usize,
    /// Number of added lines. A changed line counts as added and removed.
    pub added_lines: usize,
    /// Number of removed lines.
    pub removed_lines: usize,
    /// Number of characters that were removed with the text and that the model was not shown.
    pub removed_hidden_chars: usize,
    /// SHA-256 of the bytes before the edit. Not for a model: with it, masked text can be guessed.
    pub sha256_before: [u8; 32],
    /// SHA-256 of the bytes after the edit. Not for a model either.
    pub sha256_after: [u8; 32],
}

impl Edited {
    /// Returns the edited text, in which the sanitizer finds what [`Edited::check_masking`] needs.
    pub fn text(&self) -> &str {
        self.file.text()
    }

    /// Returns the edited file as a model sees it. Text that was masked before is masked.
    pub fn view(&self) -> View<'_> {
        View::with_masks(&self.file, self.masks.clone())
    }

    /// Checks that all text that was masked before the edit is masked by `findings`, those of the
    /// sanitizer in [`Edited::text`]. Only a checked edit has bytes to write.
    ///
    /// Without the check, a model could rename `password` to `color` and read the value afterwards.
    pub fn check_masking(self, findings: &[Finding]) -> Result<CheckedEdit, EditError> {
        let masks = mask::masks(self.file.text(), findings);
        match self.masks.iter().find(|mask| !is_covered(&masks, &mask.text)) {
            None => Ok(CheckedEdit { edited: self }),
            Some(mask) => Err(EditError::Unmasks {
                line: self.file.line_at(mask.text.start) + 1,
                class: mask.class.as_str(),
                category: mask.category,
            }),
        }
    }
}

impl fmt::Debug for Edited {
    /// Without the text and its hashes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edited")
            .field("first_line", &self.first_line)
            .field("last_line", &self.last_line)
            .field("added_lines", &self.added_lines)
            .field("removed_lines", &self.removed_lines)
            .finish_non_exhaustive()
    }
}

/// An edited file that may be written: what was masked before is still masked.
#[derive(Debug, Clone)]
pub struct CheckedEdit {
    edited: Edited,
}

impl CheckedEdit {
    /// Returns the new bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.edited.file.bytes()
    }

    /// Returns the edited file.
    pub fn file(&self) -> &FileText {
        &self.edited.file
    }

    /// Returns the edit, with its diff and its counts.
    pub fn edited(&self) -> &Edited {
        &self.edited
    }
}

/// A replacement of a range of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    /// The bytes of the text.
    pub text: Range<usize>,
    /// The new text, with the line endings of the file.
    pub new: String,
}

/// Applies splices, which are in order and do not overlap. Bytes outside of them stay the same.
pub(crate) fn apply(
    view: &View<'_>,
    splices: &[Splice],
    max_bytes: usize,
) -> Result<Edited, EditError> {
    check::before(view, splices)?;
    let file = edited_file(view.file(), splices, max_bytes)?;
    let new_ranges = new_ranges(splices);
    let masks = shifted_masks(view.masks(), splices, &new_ranges);
    let after = View::with_masks(&file, masks.clone());
    check::after(&after, &new_ranges)?;
    let removed_hidden_chars = splices.iter().map(|splice| hidden_chars(view, splice)).sum();
    let (first_line, last_line) = changed_lines(&after, &new_ranges);
    let diff = diff::unified(view, &after);
    let snippet = after.lines_around(first_line, last_line, SNIPPET_CONTEXT, SNIPPET_LIMITS);
    Ok(Edited {
        diff: diff.text,
        added_lines: diff.added,
        removed_lines: diff.removed,
        snippet,
        first_line,
        last_line,
        removed_hidden_chars,
        sha256_before: Sha256::digest(view.file().bytes()).into(),
        sha256_after: Sha256::digest(file.bytes()).into(),
        masks,
        file,
    })
}

fn edited_file(
    file: &FileText,
    splices: &[Splice],
    max_bytes: usize,
) -> Result<FileText, EditError> {
    let (old, encoding) = (file.bytes(), file.encoding());
    if encoding == Encoding::Unknown8Bit {
        return Err(EditError::UnknownEncoding);
    }
    let mut bytes = Vec::with_capacity(old.len());
    let mut text = String::with_capacity(file.text().len());
    bytes.extend_from_slice(&old[..encoding.mark_len()]);
    let (mut kept_bytes, mut kept_text) = (encoding.mark_len(), 0);
    for splice in splices {
        let kept = &file.text()[kept_text..splice.text.start];
        let start = kept_bytes + encoding.encoded_len(kept);
        bytes.extend_from_slice(&old[kept_bytes..start]);
        bytes.extend(encoding.encode(&splice.new));
        kept_bytes = start + encoding.encoded_len(&file.text()[splice.text.clone()]);
        text.push_str(kept);
        text.push_str(&splice.new);
        kept_text = splice.text.end;
    }
    bytes.extend_from_slice(&old[kept_bytes..]);
    text.push_str(&file.text()[kept_text..]);
    // A new file may be empty.
    if bytes == old && !splices.is_empty() {
        return Err(EditError::NoChange);
    }
    let max = max_bytes.min(MAX_FILE_BYTES);
    if bytes.len() > max {
        return Err(EditError::TooLarge { bytes: bytes.len(), max });
    }
    // NUL, or a byte order mark at the start, would make the file another one.
    let edited = FileText::decode(&bytes).map_err(|_| EditError::UnstorableText)?;
    let is_as_requested = edited.encoding() == encoding && edited.text() == text;
    is_as_requested.then_some(edited).ok_or(EditError::UnstorableText)
}

/// Returns the bytes of the new texts in the edited text.
fn new_ranges(splices: &[Splice]) -> Vec<Range<usize>> {
    let (mut old, mut new) = (0, 0);
    let mut ranges = Vec::with_capacity(splices.len());
    for splice in splices {
        let start = new + (splice.text.start - old);
        new = start + splice.new.len();
        old = splice.text.end;
        ranges.push(start..new);
    }
    ranges
}

/// Returns the masks at their positions in the edited text. No splice touches a mask.
fn shifted_masks(masks: &[Mask], splices: &[Splice], ranges: &[Range<usize>]) -> Vec<Mask> {
    let shifted = masks.iter().map(|mask| {
        let before = splices.partition_point(|splice| splice.text.end <= mask.text.start);
        let (old, new) = match before.checked_sub(1) {
            Some(last) => (splices[last].text.end, ranges[last].end),
            None => (0, 0),
        };
        let start = new + (mask.text.start - old);
        Mask { text: start..start + mask.text.len(), ..mask.clone() }
    });
    shifted.collect()
}

/// Returns the number of replaced characters that are not shown.
fn hidden_chars(view: &View<'_>, splice: &Splice) -> usize {
    let replaced = &splice.text;
    let segments = &view.mapped().segments;
    let first = segments.partition_point(|segment| segment.text.end <= replaced.start);
    segments[first..]
        .iter()
        .take_while(|segment| segment.text.start < replaced.end)
        .filter(|segment| segment.shown.is_empty())
        .map(|segment| view.file().text()[segment.text.clone()].chars().count())
        .sum()
}

/// Returns the first and the last changed line, 1-based; (0, 0) in an empty file.
fn changed_lines(after: &View<'_>, ranges: &[Range<usize>]) -> (usize, usize) {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return (0, 0) };
    if after.file().line_count() == 0 {
        return (0, 0);
    }
    let first_line = after.line_number(first.start);
    // The line ending at the end of a change does not belong to the next line.
    let last_line = after.line_number(last.end.saturating_sub(1).max(last.start));
    (first_line, last_line.max(first_line))
}

/// Whether masks, which are in order, cover all of a range.
fn is_covered(masks: &[Mask], text: &Range<usize>) -> bool {
    let first = masks.partition_point(|mask| mask.text.end <= text.start);
    let mut covered_to = text.start;
    for mask in &masks[first..] {
        if mask.text.start > covered_to || covered_to >= text.end {
            break;
        }
        covered_to = mask.text.end;
    }
    covered_to >= text.end
}
