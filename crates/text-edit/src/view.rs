//! The text of a file as a model sees it.

mod listing;
pub(crate) mod mask;
pub(crate) mod neutral;
#[cfg(test)]
mod tests;

use std::ops::Range;

use mc_sanitizer::Finding;

use crate::file_text::FileText;
use crate::limits::cut;
use crate::mapped_text::{Kind, MappedText};
use crate::view::mask::Mask;

pub use listing::Listing;

/// How a part of the shown text relates to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// The file has the same characters.
    Verbatim,
    /// The file has other characters, such as CRLF or a special token. They can be edited.
    Converted,
    /// The file has a secret or personal data, which can't be edited.
    Masked,
}

/// The bytes of the file for a part of the shown text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The bytes of [`FileText::bytes`].
    pub bytes: Range<usize>,
    /// How they relate to the shown text.
    pub kind: SpanKind,
}

/// The text of a file as a model sees it: findings are replaced by placeholders as the sanitizer
/// does it, and the result is neutralized by [`mc_prompt_guard::neutralize`].
///
/// The lines are those of the file. A form feed or another line break of Unicode is shown as `\n`
/// but does not start a line with a number.
#[derive(Debug, Clone)]
pub struct View<'f> {
    file: &'f FileText,
    masks: Vec<Mask>,
    /// The text with placeholders, before it is neutralized.
    masked: MappedText,
    mapped: MappedText,
    /// The bytes of the shown text for each line, without its line ending.
    lines: Vec<Range<usize>>,
}

impl<'f> View<'f> {
    /// Creates a view of `file` with the findings of [`mc_sanitizer::Sanitizer::mask`] in
    /// [`FileText::text`], in any order.
    pub fn new(file: &'f FileText, findings: &[Finding]) -> Self {
        Self::with_masks(file, mask::masks(file.text(), findings))
    }

    /// Creates a view with masks that are in order and do not overlap.
    pub(crate) fn with_masks(file: &'f FileText, masks: Vec<Mask>) -> Self {
        let masked = mask::masked(file.text(), &masks);
        let Some(mapped) = neutral::neutral(&masked) else {
            // The characters can't be matched to the file, so none may be edited.
            let whole = mask::whole(file.text());
            let masked = mask::masked(file.text(), &whole);
            return Self::with_texts(file, whole, masked.clone(), masked);
        };
        Self::with_texts(file, masks, masked, mapped)
    }

    /// Returns the shown text.
    pub fn shown(&self) -> &str {
        &self.mapped.shown
    }

    /// Returns the bytes of the file for a range of the shown text, in bytes; `None` if the range
    /// is not in the shown text or an end is inside of a character.
    ///
    /// Characters that are not shown belong to the range only between shown characters of it. A
    /// range that begins or ends inside of a placeholder has all bytes of the masked text.
    pub fn map(&self, shown: Range<usize>) -> Option<Mapped> {
        self.mapped.shown.get(shown.clone())?;
        let text = self.mapped.text_range(&shown, false);
        let bytes = self.file.byte_offset(text.start)..self.file.byte_offset(text.end);
        let kind = match self.mapped.kind(&shown) {
            _ if self.mask_in(&text).is_some() => SpanKind::Masked,
            Kind::Masked => SpanKind::Masked,
            Kind::Converted => SpanKind::Converted,
            Kind::Verbatim => SpanKind::Verbatim,
        };
        Some(Mapped { bytes, kind })
    }

    /// Returns whether the view has masked text.
    pub fn has_masked_text(&self) -> bool {
        !self.masks.is_empty()
    }

    /// Returns the file. Not public: that of an edit may be written only after
    /// [`Edited::check_masking`](crate::Edited::check_masking).
    pub(crate) fn file(&self) -> &'f FileText {
        self.file
    }

    /// Returns the masks.
    pub(crate) fn masks(&self) -> &[Mask] {
        &self.masks
    }

    /// Returns the first mask that an edit of this range of the text would change.
    pub(crate) fn mask_in(&self, text: &Range<usize>) -> Option<&Mask> {
        let first = self.masks.partition_point(|mask| mask.text.end <= text.start);
        self.masks[first..].first().filter(|mask| {
            let is_inside = text.is_empty() && mask.text.start < text.start;
            let overlaps = !text.is_empty() && mask.text.start < text.end;
            is_inside || overlaps
        })
    }

    /// Returns the text with placeholders, before it is neutralized.
    pub(crate) fn masked_text(&self) -> &MappedText {
        &self.masked
    }

    /// Returns the shown text with its mapping.
    pub(crate) fn mapped(&self) -> &MappedText {
        &self.mapped
    }

    /// Returns the bytes of the shown text for a range of the text.
    pub(crate) fn shown_range(&self, text: &Range<usize>) -> Range<usize> {
        let start = self.mapped.shown_offset(text.start);
        start..self.mapped.shown_offset(text.end).max(start)
    }

    /// Returns the start of a range of the shown text, of at most `max` bytes, and whether it was
    /// cut. A character or a placeholder is never split.
    pub(crate) fn cut_shown(&self, range: &Range<usize>, max: usize) -> (&str, bool) {
        let shown = &self.shown()[range.clone()];
        if shown.len() <= max {
            return (shown, false);
        }
        let mut end = cut(shown, max).len();
        let last = self.mapped.segment_at((range.start + end).saturating_sub(1));
        if let Some(segment) = self.mapped.segments.get(last) {
            let splits = segment.shown.end > range.start + end;
            let kind = self.map(segment.shown.clone()).map(|mapped| mapped.kind);
            if splits && kind == Some(SpanKind::Masked) {
                end = segment.shown.start.saturating_sub(range.start);
            }
        }
        (&shown[..end], true)
    }

    /// Returns the shown lines, without line endings.
    pub(crate) fn shown_lines(&self) -> &[Range<usize>] {
        &self.lines
    }

    /// Returns the 1-based number of the line of a position in the text.
    pub(crate) fn line_number(&self, text: usize) -> usize {
        self.file.line_at(text) + 1
    }

    fn with_texts(
        file: &'f FileText,
        masks: Vec<Mask>,
        masked: MappedText,
        mapped: MappedText,
    ) -> Self {
        let shown_line = |at: usize, line: &Range<usize>| {
            let start = mapped.shown_offset(line.start);
            let next = file.lines().get(at + 1).map(|next| next.text.start);
            let end = next.map_or(mapped.shown.len(), |next| mapped.shown_offset(next));
            let has_ending = next.is_some() || file.ends_with_line_ending();
            let end = end.max(start);
            let ends_in_lf = has_ending && mapped.shown[start..end].ends_with('\n');
            start..end - usize::from(ends_in_lf)
        };
        let lines = file.lines().iter().enumerate();
        let lines = lines.map(|(at, line)| shown_line(at, &line.text)).collect();
        Self { file, masks, masked, mapped, lines }
    }
}
