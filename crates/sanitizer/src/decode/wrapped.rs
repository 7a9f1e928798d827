//! Tokens wrapped at the end of a line.

use std::ops::Range;

use super::concatenated::put_together;
use crate::keyword_scan::KeywordScan;
use crate::rules::Rules;
use crate::scan::{self, Ranked};

/// The secrets that begin with a keyword on one line and end on another.
pub(super) fn secrets<'r>(
    rules: &'r Rules,
    reading: &'r KeywordScan<'_>,
) -> impl Iterator<Item = Ranked> + 'r {
    let text = reading.text;
    reading.wraps.iter().flat_map(move |(rank, line)| {
        let rule = &rules.formats[*rank];
        let start = text.floor_char_boundary(line.start.saturating_sub(rule.before));
        // What is whole on its line needs no more of the next one.
        if rule.pattern.is_match(&text[start..line.end]) {
            return Vec::new();
        }
        let (breaks, end) = breaks(text, line.end);
        let view = put_together(text, start..end, &breaks);
        let window = 0..view.text.len();
        let found = scan::of_format(rules, *rank, &view.text, &[window]).into_iter();
        found.filter(|ranked| view.shows(ranked)).map(|ranked| view.undone(ranked)).collect()
    })
}

/// Lines over which a token is wrapped at most, and bytes of each.
const MOST_LINES: usize = 4;
const LONGEST_LINE: usize = 128;

/// The line breaks from `at` on that may be inside a token, and where that may end.
fn breaks(text: &str, at: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.=+/".contains(*byte);
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
    let (mut chain, mut at) = (Vec::new(), at);
    for _ in 0..MOST_LINES {
        let blank = bytes[at..].iter().take(LONGEST_LINE).take_while(is_blank).count();
        let behind = &bytes[at + blank..];
        let length = behind.iter().take(LONGEST_LINE).take_while(is_token).count();
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
