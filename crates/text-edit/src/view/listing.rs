//! Lines of a view, with line numbers.

use crate::error::EditError;
use crate::limits::Limits;
use crate::view::View;

/// Width of a line number.
const NUMBER_WIDTH: usize = 6;

/// Lines of a file as a model sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The lines, each with its number and a tab before it and `\n` after it. The continuation of a
    /// line after a form feed or the like has no number.
    pub text: String,
    /// The first line, 1-based; 0 if there is none.
    pub first_line: usize,
    /// The last line, 1-based; 0 if there is none.
    pub last_line: usize,
    /// Number of lines of the file.
    pub line_count: usize,
    /// Numbers of the lines that were cut, since they exceed [`Limits::max_line_bytes`].
    pub cut_lines: Vec<usize>,
    /// The next line, if the requested ones exceed [`Limits::max_bytes`].
    pub next_line: Option<usize>,
    /// Number of placeholders of masked text in the file.
    pub masked_count: usize,
    /// Whether the file ends with a line ending.
    pub ends_with_line_ending: bool,
}

impl View<'_> {
    /// Returns the lines of `range`, 1-based and inclusive; its end may be -1 for the last line.
    /// Without a range, returns all lines.
    ///
    /// Fails if the range is not in the file. The limits cut lines and end the listing. A character
    /// or a placeholder is never split.
    pub fn listing(&self, range: Option<(i64, i64)>, limits: Limits) -> Result<Listing, EditError> {
        let line_count = self.shown_lines().len();
        let (first, last) = match range {
            Some((first, last)) => self.checked_range(first, last)?,
            None => (usize::from(line_count > 0), line_count),
        };
        let mut listing = Listing {
            text: String::new(),
            first_line: first,
            last_line: last,
            line_count,
            cut_lines: Vec::new(),
            next_line: None,
            masked_count: self.masks().len(),
            ends_with_line_ending: self.file().ends_with_line_ending(),
        };
        for number in first.max(1)..=last {
            let (line, is_cut) = self.listed_line(number, limits.max_line_bytes);
            // The first line is always there, or a caller could not continue.
            if listing.text.len() + line.len() > limits.max_bytes && number > first {
                listing.next_line = Some(number);
                listing.last_line = number - 1;
                break;
            }
            listing.text.push_str(&line);
            if is_cut {
                listing.cut_lines.push(number);
            }
        }
        Ok(listing)
    }

    /// Returns the lines from `first` to `last`, widened by `context` lines and limited to the
    /// lines of the file.
    pub(crate) fn lines_around(
        &self,
        first: usize,
        last: usize,
        context: usize,
        limits: Limits,
    ) -> String {
        let line_count = self.shown_lines().len();
        let first = first.saturating_sub(context).max(1);
        let last = last.saturating_add(context).min(line_count);
        let range = |line: usize| i64::try_from(line).unwrap_or(i64::MAX);
        let listing = self.listing(Some((range(first), range(last))), limits);
        listing.map(|listing| listing.text).unwrap_or_default()
    }

    fn checked_range(&self, first: i64, last: i64) -> Result<(usize, usize), EditError> {
        let line_count = self.shown_lines().len();
        let out_of_range = || EditError::LinesOutOfRange { first, last, line_count };
        let from = usize::try_from(first).map_err(|_| out_of_range())?;
        let to = match last {
            -1 => line_count,
            _ => usize::try_from(last).map_err(|_| out_of_range())?,
        };
        let is_valid = from >= 1 && from <= to && to <= line_count;
        is_valid.then_some((from, to)).ok_or_else(out_of_range)
    }

    /// Returns a line with its number, of which at most `max` bytes are shown, and whether it was
    /// cut.
    fn listed_line(&self, number: usize, max: usize) -> (String, bool) {
        let line = &self.shown_lines()[number - 1];
        let (shown, is_cut) = self.cut_shown(line, max);
        let mut listed = String::with_capacity(NUMBER_WIDTH + shown.len() + 2);
        for (at, part) in shown.split('\n').enumerate() {
            let number = if at == 0 { number.to_string() } else { String::new() };
            let end = if at == 0 { "" } else { "\n" };
            listed.push_str(&format!("{end}{number:>NUMBER_WIDTH$}\t{part}"));
        }
        if is_cut {
            let (shown, length) = (shown.len(), line.len());
            listed.push_str(&format!("… [cut: {shown} of {length} bytes are shown]"));
        }
        listed.push('\n');
        (listed, is_cut)
    }
}
