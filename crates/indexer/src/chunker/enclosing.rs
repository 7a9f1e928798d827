//! Definitions around and inside the chunks of a file.

use super::outline::Defined;

/// Definitions of a file, for chunks in the order of the file.
#[derive(Debug)]
pub(super) struct Enclosing<'a> {
    /// By position: an outline is built from the top.
    defined: &'a [Defined],
    /// Index of the first definition that is not in `open` yet.
    next: usize,
    /// Row for which `open` was last filled.
    row: usize,
    /// Definitions on that row, outer ones first.
    open: Vec<&'a Defined>,
}

impl<'a> Enclosing<'a> {
    pub fn new(defined: &'a [Defined]) -> Self {
        Self { defined, next: 0, row: 0, open: Vec::new() }
    }

    /// Returns the definitions that start on a row of `start..end`.
    pub fn starting_in(&self, start: usize, end: usize) -> &'a [Defined] {
        let first = self.defined.partition_point(|defined| defined.start < start);
        let last = self.defined.partition_point(|defined| defined.start < end);
        &self.defined[first..last]
    }

    /// Returns the innermost definition that contains the rows `start..=end`. `start` is not less
    /// than in the call before, so that no call looks at all definitions.
    pub fn innermost(&mut self, start: usize, end: usize) -> Option<&'a Defined> {
        if start > self.row {
            self.open.retain(|defined| defined.end >= start);
            self.row = start;
        }
        while let Some(defined) = self.defined.get(self.next).filter(|next| next.start <= start) {
            if defined.end >= start {
                self.open.push(defined);
            }
            self.next += 1;
        }
        self.open.iter().rev().find(|defined| defined.end >= end).copied()
    }
}
