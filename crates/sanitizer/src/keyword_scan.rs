//! What one pass over a text tells about it, for all that look closer.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::assignment::Strength;
use crate::runs::runs;

/// A text, and the places in it that are worth a closer look.
#[derive(Debug)]
pub(crate) struct KeywordScan<'t> {
    pub text: &'t str,
    /// For each format in question, by rank, the parts of the text it is to be tried on: sorted,
    /// disjoint.
    pub windows: BTreeMap<usize, Vec<Range<usize>>>,
    /// The words that name secrets.
    pub words: Vec<(Range<usize>, Strength)>,
    /// Where pieces of one text may be put together.
    pub joints: Vec<usize>,
    /// For formats, by rank, what begins with a keyword and lasts until the end of its line.
    pub wraps: Vec<(usize, Range<usize>)>,
    /// Long runs of letters and digits.
    pub runs: Vec<Range<usize>>,
}

impl<'t> KeywordScan<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            text,
            windows: BTreeMap::new(),
            words: Vec::new(),
            joints: Vec::new(),
            wraps: Vec::new(),
            runs: runs(text).collect(),
        }
    }

    /// Adds a window for a format, joined with the one before where they touch. Keywords of several
    /// lengths come in the order of their ends, so a window may begin before the last one.
    pub(crate) fn open_window(&mut self, rank: usize, next: Range<usize>) {
        let windows = self.windows.entry(rank).or_default();
        let mut next = next;
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
    fn windows_that_touch_become_one() {
        let mut reading = KeywordScan::of("");
        for window in [0..4, 3..9, 5..7, 12..14, 20..22, 11..23] {
            reading.open_window(7, window);
        }
        assert_eq!(reading.windows[&7], [0..9, 11..23]);
    }
}
