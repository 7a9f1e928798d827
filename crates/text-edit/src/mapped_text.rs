//! A form of a text, of which each part maps to bytes of the text.

use std::ops::Range;

/// How a part of the shown text relates to the text of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The same characters.
    Verbatim,
    /// Other characters, or none.
    Converted,
    /// A placeholder, or a line break in masked text.
    Masked,
}

/// A part of the shown text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The bytes of the shown text; empty for characters that are not shown.
    pub shown: Range<usize>,
    /// The bytes of the text.
    pub text: Range<usize>,
    /// How they relate.
    pub kind: Kind,
}

/// A form of a text. Its segments are in the order of the text, and cover the shown text and the
/// text without gaps and overlaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MappedText {
    /// The shown text.
    pub shown: String,
    /// The parts.
    pub segments: Vec<Segment>,
}

impl MappedText {
    /// Appends a part. A part that continues the last one is added to it, and so is a part of the
    /// same masked text, of which a terminal sequence before it may have hidden the beginning.
    pub fn push(&mut self, shown: &str, text: Range<usize>, kind: Kind) {
        let start = self.shown.len();
        self.shown.push_str(shown);
        let end = self.shown.len();
        if let Some(last) = self.segments.last_mut() {
            let overlaps = text.start < last.text.end || text == last.text;
            let is_same_mask = kind == Kind::Masked && last.kind == kind && overlaps;
            let continues = kind == Kind::Verbatim && last.kind == kind;
            if is_same_mask || continues {
                last.shown.end = end;
                last.text.end = last.text.end.max(text.end);
                return;
            }
        }
        self.segments.push(Segment { shown: start..end, text, kind });
    }

    /// Appends characters that are not shown.
    pub fn push_hidden(&mut self, text: Range<usize>, kind: Kind) {
        self.push("", text, kind.max(Kind::Converted));
    }

    /// Appends characters for which the last shown character stands, too.
    pub fn extend_last(&mut self, text: Range<usize>, kind: Kind) {
        let last_char = self.shown.chars().next_back().map_or(0, char::len_utf8);
        let Some(last) = self.segments.last_mut() else { return self.push_hidden(text, kind) };
        if last.kind == Kind::Verbatim && last.shown.len() > last_char {
            let (shown, start) = (last.shown.end - last_char, last.text.end - last_char);
            let split = shown..last.shown.end;
            last.shown.end = shown;
            last.text.end = start;
            self.segments.push(Segment { shown: split, text: start..start, kind });
        }
        if let Some(last) = self.segments.last_mut() {
            last.text.end = last.text.end.max(text.end);
            last.kind = last.kind.max(kind).max(Kind::Converted);
        }
    }

    /// Returns the index of the segment with the shown character at `shown`.
    pub fn segment_at(&self, shown: usize) -> usize {
        self.segments.partition_point(|segment| segment.shown.end <= shown)
    }

    /// Returns the segments that a range of the shown text touches.
    pub fn touched(&self, shown: &Range<usize>) -> &[Segment] {
        let first = self.segment_at(shown.start);
        let rest = &self.segments[first..];
        &rest[..rest.partition_point(|segment| segment.shown.start < shown.end)]
    }

    /// Returns the bytes of the text for a range of the shown text. Characters that are not shown
    /// belong to it only between shown characters of it.
    ///
    /// An empty range is the position before the character at its start, or with `after` the
    /// position after the character before it. They differ if characters between are not shown.
    pub fn text_range(&self, shown: &Range<usize>, after: bool) -> Range<usize> {
        if !shown.is_empty() {
            return self.text_start(shown.start)..self.text_end(shown.end);
        }
        let at = if after { self.text_end(shown.start) } else { self.text_start(shown.start) };
        at..at
    }

    /// Returns the kind of a range of the shown text: that of its part which differs most.
    pub fn kind(&self, shown: &Range<usize>) -> Kind {
        let kinds = self.touched(shown).iter().map(|segment| segment.kind);
        kinds.max().unwrap_or(Kind::Verbatim)
    }

    /// Returns the position in the shown text of a position in the text; the next one if it is in
    /// the middle of a converted part.
    pub fn shown_offset(&self, text: usize) -> usize {
        let at = self.segments.partition_point(|segment| segment.text.end <= text);
        match self.segments.get(at) {
            None => self.shown.len(),
            Some(segment) if segment.kind == Kind::Verbatim => {
                segment.shown.start + (text - segment.text.start)
            }
            Some(segment) if segment.text.start == text => segment.shown.start,
            Some(segment) => segment.shown.end,
        }
    }

    fn text_start(&self, shown: usize) -> usize {
        match self.segments.get(self.segment_at(shown)) {
            None => self.segments.last().map_or(0, |last| last.text.end),
            Some(segment) if segment.kind == Kind::Verbatim => {
                segment.text.start + (shown - segment.shown.start)
            }
            Some(segment) => segment.text.start,
        }
    }

    fn text_end(&self, shown: usize) -> usize {
        let at = self.segments.partition_point(|segment| segment.shown.end < shown);
        match self.segments.get(at) {
            // Nothing is shown before.
            _ if shown == 0 => 0,
            None => self.segments.last().map_or(0, |last| last.text.end),
            Some(segment) if segment.kind == Kind::Verbatim => {
                segment.text.start + (shown - segment.shown.start)
            }
            Some(segment) => segment.text.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text `abc<hidden>d\r\n` of 10 bytes, where the hidden character has 3 and `\r\n` is
    /// shown as `\n`.
    fn mapped() -> MappedText {
        let mut mapped = MappedText::default();
        mapped.push("ab", 0..2, Kind::Verbatim);
        mapped.push("c", 2..3, Kind::Verbatim);
        mapped.push_hidden(3..6, Kind::Converted);
        mapped.push("d", 6..7, Kind::Verbatim);
        mapped.push("\n", 7..9, Kind::Converted);
        mapped
    }

    #[test]
    fn hidden_characters_belong_to_a_range_only_inside_of_it() {
        let mapped = mapped();
        assert_eq!((mapped.shown.as_str(), mapped.segments.len()), ("abcd\n", 4));
        for (shown, text) in [(0..3, 0..3), (3..4, 6..7), (2..4, 2..7), (4..5, 7..9), (0..5, 0..9)]
        {
            assert_eq!(mapped.text_range(&shown, false), text, "{shown:?}");
        }
        assert_eq!(mapped.text_range(&(3..3), false), 6..6);
        assert_eq!(mapped.text_range(&(3..3), true), 3..3);
        assert_eq!(mapped.text_range(&(5..5), false), 9..9);
        assert_eq!(mapped.text_range(&(0..0), true), 0..0);
    }

    #[test]
    fn kind_of_a_range_is_the_strongest_of_its_parts() {
        let mapped = mapped();
        assert_eq!(mapped.kind(&(0..3)), Kind::Verbatim);
        assert_eq!(mapped.kind(&(2..4)), Kind::Converted, "a hidden character is between");
        assert_eq!(mapped.kind(&(3..5)), Kind::Converted);
    }

    #[test]
    fn positions_of_the_text_are_shown() {
        let mapped = mapped();
        let shown = [0, 2, 3, 4, 6, 7, 8, 9].map(|text| mapped.shown_offset(text));
        assert_eq!(shown, [0, 2, 3, 3, 3, 4, 5, 5]);
    }
}
