//! The result of the single pass over a text that finds its keywords.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::assignment::Strength;
use crate::runs::runs;

/// A text and the places in it that need a closer check.
#[derive(Debug)]
pub(crate) struct KeywordScan<'t> {
    pub text: &'t str,
    /// By rank of a format, the parts of the text in which its regex is tried: sorted, disjoint.
    pub windows: BTreeMap<usize, Vec<Range<usize>>>,
    /// Words in names of secrets.
    pub words: Vec<(Range<usize>, Strength)>,
    /// Offsets where string literals or lines may be concatenated.
    pub joins: Vec<usize>,
    /// Offsets of possible character references of HTML.
    pub references: Vec<usize>,
    /// Offsets of possible bytes and line breaks in quoted-printable.
    pub quoted: Vec<usize>,
    /// Offsets of the marks of here-documents.
    pub documents: Vec<usize>,
    /// Ranks of formats, with the text from a keyword to the end of its line, if the token may
    /// continue on the next line.
    pub wraps: Vec<(usize, Range<usize>)>,
    /// Long runs of letters and digits.
    pub runs: Vec<Range<usize>>,
}

impl<'t> KeywordScan<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            windows: BTreeMap::new(),
            words: Vec::new(),
            joins: Vec::new(),
            references: Vec::new(),
            quoted: Vec::new(),
            documents: Vec::new(),
            wraps: Vec::new(),
            runs: runs(text).collect(),
        }
    }

    /// Adds a window for a format and merges it with those that it touches. Keywords of different
    /// lengths are reported by their ends, so a window may begin before the last one.
    pub(crate) fn add_window(&mut self, rank: usize, mut next: Range<usize>) {
        let windows = self.windows.entry(rank).or_default();
        while let Some(last) = windows.pop_if(|last| next.start <= last.end) {
            next = next.start.min(last.start)..next.end.max(last.end);
        }
        windows.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_windows_are_merged() {
        let mut scan = KeywordScan::new("");
        for window in [0..4, 3..9, 5..7, 12..14, 20..22, 11..23] {
            scan.add_window(7, window);
        }
        assert_eq!(scan.windows[&7], [0..9, 11..23]);
    }
}
