//! Occurrences of a text in a view.

use std::ops::Range;

use crate::mapped_text::{Kind, MappedText};
use crate::view::View;

/// An occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// The bytes of the form in which the text was found.
    pub shown: Range<usize>,
    /// The bytes of the text of the file.
    pub text: Range<usize>,
}

/// Returns the occurrences of `needle`, including overlapping ones, in text order.
pub(super) fn find(mapped: &MappedText, needle: &str) -> Vec<Match> {
    let starts = occurrences(mapped.shown.as_bytes(), needle.as_bytes());
    let matches = starts.into_iter().map(|start| {
        let shown = start..start + needle.len();
        let text = mapped.text_range(&shown, false);
        Match { shown, text }
    });
    matches.collect()
}

/// Returns the characters of the file with `\n` as the only line ending and placeholders for masked
/// text. A model may send these instead of the shown ones.
///
/// Masked text is not in it: otherwise a model could try values until one is found.
pub(super) fn own_characters(view: &View<'_>) -> MappedText {
    let masked = view.masked_text();
    let mut mapped = MappedText::default();
    for segment in &masked.segments {
        let shown = &masked.shown[segment.shown.clone()];
        let mut start = 0;
        while let Some(at) = shown[start..].find('\r') {
            let at = start + at;
            let length = if shown[at..].starts_with("\r\n") { 2 } else { 1 };
            push(&mut mapped, shown, start..at, segment.text.clone(), segment.kind);
            let text = part(&(at..at + length), &segment.text, segment.kind);
            mapped.push("\n", text, segment.kind.max(Kind::Converted));
            start = at + length;
        }
        push(&mut mapped, shown, start..shown.len(), segment.text.clone(), segment.kind);
    }
    mapped
}

fn push(mapped: &mut MappedText, shown: &str, range: Range<usize>, text: Range<usize>, kind: Kind) {
    if !range.is_empty() {
        mapped.push(&shown[range.clone()], part(&range, &text, kind), kind);
    }
}

/// Returns the bytes of the text for a part of a segment.
fn part(range: &Range<usize>, text: &Range<usize>, kind: Kind) -> Range<usize> {
    match kind {
        Kind::Verbatim => text.start + range.start..text.start + range.end,
        Kind::Converted | Kind::Masked => text.clone(),
    }
}

/// Returns the starts of `needle` in `text`, in time linear in both (Knuth, Morris and Pratt).
/// A search from each match on would be quadratic in a text such as `aaaa`.
fn occurrences(text: &[u8], needle: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let borders = borders(needle);
    let mut matched = 0;
    for (at, byte) in text.iter().enumerate() {
        while matched > 0 && needle[matched] != *byte {
            matched = borders[matched - 1];
        }
        if needle.get(matched) == Some(byte) {
            matched += 1;
        }
        if matched == needle.len() && matched > 0 {
            starts.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    starts
}

/// Returns for each prefix of `needle` the length of its longest proper prefix that ends it.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; needle.len()];
    let mut length = 0;
    for at in 1..needle.len() {
        while length > 0 && needle[length] != needle[at] {
            length = borders[length - 1];
        }
        if needle[length] == needle[at] {
            length += 1;
        }
        borders[at] = length;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_occurrences_are_found() {
        for (text, needle, expected) in [
            ("aaaa", "aa", &[0, 1, 2][..]),
            ("abababa", "aba", &[0, 2, 4]),
            ("aabaaabaaab", "aabaaab", &[0, 4]),
            ("abc", "abcd", &[]),
            ("abc", "", &[]),
            ("", "a", &[]),
            ("äöä", "ä", &[0, 4]),
        ] {
            assert_eq!(occurrences(text.as_bytes(), needle.as_bytes()), expected, "{needle}");
        }
    }
}
