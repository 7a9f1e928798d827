//! Tokens wrapped at the end of a line.

use std::ops::Range;

use super::concatenated::concatenate;
use crate::byte_set::ByteSet;
use crate::keyword_scan::KeywordScan;
use crate::rules::Rules;
use crate::scan::{self, Ranked};

/// Returns the secrets that begin with a keyword on one line and end on another.
pub(super) fn secrets<'r>(
    rules: &'r Rules,
    scan: &'r KeywordScan<'_>,
) -> impl Iterator<Item = Ranked> + 'r {
    let text = scan.text;
    scan.wraps.iter().flat_map(move |(rank, line)| {
        let rule = &rules.formats[*rank];
        let start = text.floor_char_boundary(line.start.saturating_sub(rule.max_bytes_before));
        // A token that is complete on its line does not continue on the next one.
        if rule.regex.is_match(&text[start..line.end]) {
            return Vec::new();
        }
        let (breaks, end) = line_breaks(text, line.end);
        // The lines after the token may be words, with which it would be too long.
        let counts = (1..=breaks.len()).rev();
        let mut found =
            counts.map(|count| joined(rules, *rank, text, start..end, &breaks[..count]));
        found.find(|found| !found.is_empty()).unwrap_or_default()
    })
}

/// Returns the secrets of a format that are split by the line breaks.
fn joined(
    rules: &Rules,
    rank: usize,
    text: &str,
    part: Range<usize>,
    breaks: &[Range<usize>],
) -> Vec<Ranked> {
    let view = concatenate(text, part, breaks);
    let window = 0..view.text.len();
    let found = scan::of_format(rules, rank, &view.text, &[window]).into_iter();
    found.filter(|ranked| view.accepts(ranked)).map(|ranked| view.map_back(ranked)).collect()
}

/// Maximum number of further lines of a wrapped token.
const MAX_LINES: usize = 4;

/// Maximum length of a line at which a token is wrapped, in bytes.
const MAX_LINE_BYTES: usize = 128;

/// Returns the end of the line if token characters follow `start` until there: the token may
/// continue on the next line.
pub(crate) fn end_of_wrapped_line(text: &str, start: usize) -> Option<usize> {
    let end = start + token_length(&text.as_bytes()[start..]);
    matches!(text.as_bytes().get(end), Some(b'\n' | b'\r')).then_some(end)
}

fn token_length(bytes: &[u8]) -> usize {
    static TOKEN: ByteSet = ByteSet::alphanumeric_and(b"_-.=+/");
    bytes.iter().take(MAX_LINE_BYTES).take_while(|byte| TOKEN.contains(**byte)).count()
}

/// Returns the line breaks after `at` that may be inside a token, and the end of the token.
fn line_breaks(text: &str, at: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
    let (mut chain, mut at) = (Vec::new(), at);
    for _ in 0..MAX_LINES {
        let blank = bytes[at..].iter().take(MAX_LINE_BYTES).take_while(is_blank).count();
        let length = token_length(&bytes[at + blank..]);
        if length == 0 {
            break;
        }
        chain.push(at..at + blank);
        at += blank + length;
        if !matches!(bytes.get(at), Some(b'\n' | b'\r')) {
            break;
        }
    }
    (chain, at)
}
