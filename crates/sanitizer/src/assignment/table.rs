//! Columns of tables whose header names a secret: CSV, TSV and Markdown.

use std::ops::Range;

use super::name::{Name, Names, Strength};
use super::{AssignedSecret, Requirements, judge};
use crate::byte_set::ByteSet;
use crate::keyword_scan::KeywordScan;

/// Maximum length of a row, in bytes.
const MAX_ROW: usize = 4096;

/// Maximum length of a header's cell, in bytes: longer ones are sentences.
const MAX_NAME: usize = 40;

/// Maximum length of a header, in bytes.
const MAX_HEADER: usize = 512;

/// Returns the secrets below headers that name a secret.
pub(crate) fn secrets_in_columns(scan: &KeywordScan<'_>, names: &Names) -> Vec<AssignedSecret> {
    let mut found = Vec::new();
    // The rows of a table are not headers of another one.
    let mut done = 0;
    for (word, _) in &scan.words {
        if word.start < done || !ends_cell(scan.text.as_bytes(), word.end) {
            continue;
        }
        let Some(header) = line_around(scan.text, word.start) else { continue };
        done = header.end;
        let Some(table) = Table::with_header(scan.text, header) else { continue };
        let columns = table.columns(scan, names);
        if !columns.is_empty() {
            done = table.read(&columns, names, &mut found);
        }
    }
    found
}

/// Whether only the rest of a name is between `at` and the end of a cell. After most names in code,
/// there is another sign.
fn ends_cell(bytes: &[u8], at: usize) -> bool {
    static NAME: ByteSet = ByteSet::alphanumeric_and(b" _-.()\"'`*").and_non_ascii();
    let length = bytes[at..].iter().take(MAX_NAME).take_while(|b| NAME.contains(**b)).count();
    bytes.get(at + length).is_none_or(|byte| b",;|\t\r\n".contains(byte))
}

/// Returns the line at `at`, unless it is too long for a header.
fn line_around(text: &str, at: usize) -> Option<Range<usize>> {
    let near = text.floor_char_boundary(at.saturating_sub(MAX_HEADER));
    let start = match text[near..at].rfind('\n') {
        Some(line_break) => near + line_break + 1,
        None if near == 0 => 0,
        None => return None,
    };
    line_at(text, start).filter(|line| line.len() <= MAX_HEADER)
}

/// A table with its header, which has at least two cells.
struct Table<'t> {
    text: &'t str,
    header: Range<usize>,
    cells: Vec<Range<usize>>,
    separator: u8,
}

impl<'t> Table<'t> {
    /// Returns the table with this header, if its cells are names.
    fn with_header(text: &'t str, header: Range<usize>) -> Option<Self> {
        let line = &text.as_bytes()[header.clone()];
        // Lines of code have other signs, too.
        line.iter().all(|byte| is_of_header(*byte)).then_some(())?;
        let separator = [b'|', b'\t', b';', b','].into_iter().find(|sign| line.contains(sign))?;
        let cells = cells(text, &header, separator);
        let is_name = |cell: &Range<usize>| {
            let name = &text[cell.clone()];
            let is_part = |c: char| c.is_alphanumeric() || " _-.()".contains(c);
            (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_part)
        };
        let is_header = cells.len() >= 2 && cells.iter().all(is_name);
        is_header.then_some(Self { text, header, cells, separator })
    }

    /// Returns the columns whose names are those of secrets.
    fn columns(&self, scan: &KeywordScan<'_>, names: &Names) -> Vec<(usize, Strength)> {
        let next = scan.words.partition_point(|(word, _)| word.end <= self.header.start);
        let here = scan.words[next..].iter().take_while(|(word, _)| word.end <= self.header.end);
        here.filter_map(|(word, strength)| self.column(word, *strength, names)).collect()
    }

    fn column(
        &self,
        word: &Range<usize>,
        strength: Strength,
        names: &Names,
    ) -> Option<(usize, Strength)> {
        let contains = |cell: &Range<usize>| cell.start <= word.start && word.end <= cell.end;
        let at = self.cells.iter().position(contains)?;
        let strength = Name::around(self.text, word.clone())?.strength(strength, names)?;
        (strength != Strength::Weak).then_some((at, strength))
    }

    /// Adds the secrets of the columns, and returns the end of the table.
    fn read(
        &self,
        columns: &[(usize, Strength)],
        names: &Names,
        found: &mut Vec<AssignedSecret>,
    ) -> usize {
        let mut end = self.header.end;
        while let Some(row) = line_at(self.text, next_line(self.text, end)) {
            let cells = cells(self.text, &row, self.separator);
            if cells.len() != self.cells.len() {
                break;
            }
            found.extend(columns.iter().filter_map(|(at, strength)| {
                let span = cells[*at].clone();
                let human_chosen_length = (*strength == Strength::HumanChosen).then_some(6);
                let required = Requirements { evidence: 5.0, length: 8, human_chosen_length };
                let (confidence, human_chosen) = judge(&self.text[span.clone()], &required, names)?;
                Some(AssignedSecret { span, confidence, human_chosen })
            }));
            end = row.end;
        }
        end
    }
}

fn is_of_header(byte: u8) -> bool {
    static HEADER: ByteSet = ByteSet::alphanumeric_and(b" \t_-.(),;|\"'`*").and_non_ascii();
    HEADER.contains(byte)
}

/// Returns the start of the line after the one that ends at `end`, before its line break.
fn next_line(text: &str, end: usize) -> usize {
    let line_break = text.as_bytes()[end..].iter().take_while(|byte| **byte == b'\r').count();
    end + line_break + 1
}

/// Returns the line that begins at `start`, unless it is too long for a row.
fn line_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
    let near = &rest[..rest.floor_char_boundary(MAX_ROW)];
    let end = near.find('\n').or((near.len() == rest.len()).then_some(rest.len()))?;
    Some(start..start + near[..end].trim_end_matches('\r').len())
}

/// Returns the cells of a row, without spaces, quotes and marks of code around them.
fn cells(text: &str, row: &Range<usize>, separator: u8) -> Vec<Range<usize>> {
    let row = if separator == b'|' { trimmed(text, row.clone(), "| \t") } else { row.clone() };
    let mut cells = Vec::new();
    let (mut start, mut is_quoted) = (row.start, false);
    for (at, byte) in text.as_bytes()[row.clone()].iter().enumerate() {
        let at = row.start + at;
        match byte {
            b'"' if separator != b'|' => is_quoted = !is_quoted,
            byte if *byte == separator && !is_quoted => {
                cells.push(trimmed(text, start..at, " \t\"'`*"));
                start = at + 1;
            }
            _ => {}
        }
    }
    cells.push(trimmed(text, start..row.end, " \t\"'`*"));
    cells
}

fn trimmed(text: &str, span: Range<usize>, outer: &str) -> Range<usize> {
    let is_outer = |c: char| outer.contains(c);
    let whole = &text[span.clone()];
    let start = span.start + (whole.len() - whole.trim_start_matches(is_outer).len());
    start..start + whole.trim_matches(is_outer).len()
}
