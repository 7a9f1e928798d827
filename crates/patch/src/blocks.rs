//! Search/replace blocks, an edit format that models write reliably:
//!
//! ```text
//! src/cart.rs
//! <<<<<<< SEARCH
//! let delay = 5;
//! =======
//! let delay = 15;
//! >>>>>>> REPLACE
//! ```
//!
//! A block without lines to search creates the file.

use crate::diff::ParseError;
use crate::lines::{is_blank, split, with_unix_endings, without_ending};
use crate::path::is_allowed;
use crate::types::{FilePatch, Hunk, HunkLine, LineKind, Operation, Patch, Refusal};

/// Number of characters of a marker, at least and at most: models miscount.
const MARKER: (usize, usize) = (5, 9);
/// Maximum number of pairs of lines that are compared to find the unchanged ones of a block.
const PAIRS_MAX: usize = 4_000_000;
/// Words before a path.
const PATH_LABELS: [&str; 4] = ["file", "filename", "filepath", "path"];
/// Names of files without an extension.
const BARE_NAMES: [&str; 9] = [
    "CHANGELOG",
    "Dockerfile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "LICENSE",
    "Makefile",
    "README",
    "Rakefile",
];

/// Returns whether a text has search/replace blocks.
pub(crate) fn has_blocks(text: &[u8]) -> bool {
    split(text).iter().any(|line| marker(line, b'<', b"SEARCH").is_some())
}

/// Parses search/replace blocks. Other text is skipped. The path is in the last line with text
/// before a block: alone, in a span of code, after `File:`, or behind the start of a block of code.
/// Without a line with text in between, it is that of the block before.
pub fn parse_blocks(text: &[u8]) -> Result<Patch, ParseError> {
    let unix = with_unix_endings(text);
    let lines = split(&unix);
    let mut parsed = Patch::default();
    let mut path: Option<String> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let error = |message: &str| ParseError { line: at + 1, message: message.to_owned() };
        let Some(length) = marker(line, b'<', b"SEARCH") else {
            if marker(line, b'>', b"REPLACE").is_some() {
                return Err(error("there is no `<<<<<<< SEARCH` above `>>>>>>> REPLACE`"));
            }
            let found = named_path(line);
            let is_silent = is_blank(line) || line.trim_ascii_start().starts_with(b"```");
            path = found.or_else(|| path.filter(|_| is_silent));
            at += 1;
            continue;
        };
        let path =
            path.clone().ok_or_else(|| error("write the path in the line above the block"))?;
        let block = &lines[at + 1..];
        let is_end = |line: &&[u8]| marker(line, b'>', b"REPLACE") == Some(length);
        let end = block.iter().position(is_end);
        let end = end.ok_or_else(|| error("the block has no line `>>>>>>> REPLACE`"))?;
        let block = &block[..end];
        if block.iter().any(|line| marker(line, b'<', b"SEARCH").is_some()) {
            return Err(error("the block has no line `>>>>>>> REPLACE` before the next one"));
        }
        let is_middle = |line: &&[u8]| marker(line, b'=', b"") == Some(length);
        let middle = block.iter().position(is_middle);
        let middle = middle.ok_or_else(|| error("the block has no line `=======`"))?;
        if block[middle + 1..].iter().any(is_middle) {
            return Err(error(
                "the block has several lines `=======`; use a unified diff, or longer markers",
            ));
        }
        add(&mut parsed, path, &block[..middle], &block[middle + 1..]);
        at += end + 2;
    }
    parsed.files.retain(|file| file.operation == Operation::Create || !file.hunks.is_empty());
    if parsed.files.is_empty() {
        let message = "there is no block `<<<<<<< SEARCH` that changes something".to_owned();
        return Err(ParseError { line: 1, message });
    }
    Ok(parsed)
}

/// Adds a block to the changes of its file.
fn add(parsed: &mut Patch, path: String, search: &[&[u8]], replace: &[&[u8]]) {
    let is_new = search.iter().all(|line| is_blank(line));
    let search = if is_new { &[] } else { search };
    let hunk = Hunk { lines: hunk_lines(search, replace), ..Hunk::default() };
    // Lines that are only repeated need no change.
    let hunks = if hunk.has_changes() { vec![hunk] } else { Vec::new() };
    if let Some(file) = parsed.files.iter_mut().find(|file| file.path == path && !is_new) {
        file.hunks.extend(hunks);
        return;
    }
    let refusal = (!is_allowed(&path)).then_some(Refusal::Path);
    let operation = if is_new { Operation::Create } else { Operation::Modify };
    parsed.files.push(FilePatch {
        operation,
        path,
        source: None,
        is_executable: false,
        hunks,
        refusal,
    });
}

/// Returns the number of characters of a marker, which is followed by this word only.
fn marker(line: &[u8], sign: u8, word: &[u8]) -> Option<usize> {
    let line = line.trim_ascii_end();
    let count = line.iter().take_while(|byte| **byte == sign).count();
    let is_marker =
        (MARKER.0..=MARKER.1).contains(&count) && line[count..].trim_ascii_start() == word;
    is_marker.then_some(count)
}

/// Returns the path that a line names.
fn named_path(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(without_ending(line)).ok()?.trim();
    if let Some(info) = line.strip_prefix("```") {
        // As in ```` ```rust src/a.rs ```` and ```` ```rust:src/a.rs ````.
        let mut words = info.split([' ', ':']).rev();
        return words.find(|word| is_path(word)).map(str::to_owned);
    }
    let spans: Vec<&str> = line.split('`').collect();
    if let [_, path, _] = spans[..] {
        return (!path.is_empty()).then(|| path.to_owned());
    }
    let decoration = |c: char| c == ' ' || matches!(c, '*' | '#' | '"' | '-');
    let text = line.trim_matches(decoration).trim_end_matches(':').trim_matches(decoration);
    let labelled = text.split_once(':').filter(|(label, _)| {
        PATH_LABELS.contains(&label.trim_matches(decoration).to_lowercase().as_str())
    });
    match labelled {
        Some((_, path)) => Some(path.trim_matches(decoration).to_owned()),
        None => is_path(text).then(|| text.to_owned()),
    }
    .filter(|path| !path.is_empty())
}

/// Returns whether a text without a label looks like a path.
fn is_path(text: &str) -> bool {
    let has_inner_dot = text.trim_end_matches('.').contains('.');
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    is_word && (text.contains('/') || has_inner_dot || BARE_NAMES.contains(&text))
}

/// Returns the lines of a hunk that replaces lines by others: the longest common part is unchanged.
fn hunk_lines(old: &[&[u8]], new: &[&[u8]]) -> Vec<HunkLine> {
    let line = |kind, text: &&[u8]| HunkLine { kind, text: text.to_vec() };
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let pairs = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = pairs.take_while(|(a, b)| a == b).count();
    let mut lines: Vec<_> = old[..start].iter().map(|text| line(LineKind::Context, text)).collect();
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let (mut i, mut j) = (0, 0);
    for (next_i, next_j) in common(a, b).into_iter().chain([(a.len(), b.len())]) {
        lines.extend(a[i..next_i].iter().map(|text| line(LineKind::Removed, text)));
        lines.extend(b[j..next_j].iter().map(|text| line(LineKind::Added, text)));
        lines.extend(a.get(next_i).map(|text| line(LineKind::Context, text)));
        (i, j) = ((next_i + 1).min(a.len()), (next_j + 1).min(b.len()));
    }
    let last = &old[old.len() - end..];
    lines.extend(last.iter().map(|text| line(LineKind::Context, text)));
    lines
}

/// Returns the pairs of a longest common subsequence, ascending; none if the lines are too many.
fn common(a: &[&[u8]], b: &[&[u8]]) -> Vec<(usize, usize)> {
    let columns = b.len() + 1;
    if (a.len() + 1).saturating_mul(columns) > PAIRS_MAX {
        return Vec::new();
    }
    // Length of the longest one from each pair on.
    let mut lengths = vec![0_u32; (a.len() + 1) * columns];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * columns + j] = if a[i] == b[j] {
                lengths[(i + 1) * columns + j + 1] + 1
            } else {
                lengths[(i + 1) * columns + j].max(lengths[i * columns + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * columns + j] >= lengths[i * columns + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
