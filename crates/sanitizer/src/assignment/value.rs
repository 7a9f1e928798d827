//! The extent of a value, and its parts that may be the secret.

use std::ops::Range;

use super::cursor::{Cursor, is_quote};
use super::operator::{Kind, Operator};
use crate::byte_set::ByteSet;

/// A value or a part of one.
#[derive(Debug)]
pub(super) struct Candidate {
    pub span: Range<usize>,
    pub is_quoted: bool,
    /// Whether it is one word of a longer value.
    pub is_part: bool,
    /// Whether only punctuation follows on the line, in the literal, or before the next parameter.
    pub ends_line: bool,
}

impl Candidate {
    /// Ends the password of a URL before the `@` and the host. The password may contain an `@` as
    /// well, or, if it is not encoded, a slash.
    pub(super) fn end_before_host(&mut self, text: &str) {
        let value = &text[self.span.clone()];
        let authority = value.split(['/', '?', '#']).next().unwrap_or_default();
        let end = authority.rfind('@').or_else(|| value.find('@'));
        if let Some(length) = end.filter(|length| *length > 0) {
            self.span.end = self.span.start + length;
        }
    }
}

/// Maximum length of a value, in bytes.
const MAX_BYTES: usize = 2048;

/// Returns the possible secrets in the value after the operator.
pub(super) fn candidates(text: &str, operator: &Operator) -> Vec<Candidate> {
    let start = operator.value_start;
    let region = quoted(text, start).or_else(|| match operator.kind {
        Kind::Element => Some(element(text, start)),
        _ => None,
    });
    let end = region.as_ref().map_or(start, |(span, _)| span.end);
    let mut candidates = match region {
        None => unquoted(text, start),
        Some((span, is_quoted)) => in_region(text, span, is_quoted),
    };
    candidates.extend(fallback(text, end));
    candidates
}

fn in_region(text: &str, span: Range<usize>, is_quoted: bool) -> Vec<Candidate> {
    let whole = &text[span.clone()];
    if !whole.is_empty() && !whole.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return vec![Candidate { span, is_quoted, is_part: false, ends_line: false }];
    }
    parts(text, span, is_quoted)
}

/// Returns the literal that an expression falls back to: `env.API_KEY || "..."`.
fn fallback(text: &str, start: usize) -> Option<Candidate> {
    /// Maximum length of the expression, in bytes.
    const EXPRESSION_BYTES: usize = 128;
    const OPERATORS: [&str; 6] = ["||", "??", "?:", " or ", "_or(", "| default"];
    let near = &text[start..text.floor_char_boundary((start + EXPRESSION_BYTES).min(text.len()))];
    let line = near.split('\n').next().unwrap_or_default();
    let after = |operator: &&str| line.find(*operator).map(|at| at + operator.len());
    let at = OPERATORS.iter().filter_map(after).min()?;
    let blanks = line[at..].bytes().take_while(|byte| *byte == b' ').count();
    let (span, is_quoted) = quoted(text, start + at + blanks)?;
    let is_word = !span.is_empty() && !text[span.clone()].contains(char::is_whitespace);
    is_word.then_some(Candidate { span, is_quoted, is_part: false, ends_line: false })
}

/// Whether a string literal begins at `at`.
pub(super) fn opens_quote(text: &str, at: usize) -> bool {
    let mut cursor = Cursor::new(text, at);
    cursor.skip(3, |byte| byte == b'\\');
    cursor.peek().is_some_and(is_quote)
}

/// Returns the content of the string literal at `at`.
fn quoted(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let mut cursor = Cursor::new(text, at);
    let prefix = cursor.skip(2, |byte| b"rbfuRBFU@$#".contains(&byte));
    let backslashes = cursor.skip(3, |byte| byte == b'\\');
    let quote = cursor.peek().filter(|byte| is_quote(*byte))?;
    if prefix > 0 && backslashes > 0 {
        return None;
    }
    cursor.skip(3, |byte| byte == quote);
    let start = cursor.at;
    let is_content = |byte| byte != quote && byte != b'\n';
    cursor.skip(MAX_BYTES, is_content);
    // Without backslashes before its own quotes, the literal may contain escaped quotes.
    let is_escaped_quote = |cursor: &Cursor<'_>| {
        cursor.peek() == Some(quote)
            && cursor.previous() == Some(b'\\')
            && cursor.at < start + MAX_BYTES
    };
    while backslashes == 0 && is_escaped_quote(&cursor) {
        cursor.at += 1;
        cursor.skip(MAX_BYTES, is_content);
    }
    // A literal of maximum length may end inside a character.
    let content = text[start..text.floor_char_boundary(cursor.at)].trim_end_matches('\\');
    Some((start..start + content.len(), true))
}

fn element(text: &str, at: usize) -> (Range<usize>, bool) {
    let mut cursor = Cursor::new(text, at);
    cursor.skip(512, |byte| !matches!(byte, b'<' | b'>'));
    (at..text.floor_char_boundary(cursor.at), false)
}

/// Returns the words of a value.
fn parts(text: &str, span: Range<usize>, is_quoted: bool) -> Vec<Candidate> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '"' | '\'' | ',' | ';');
    let words = text[span.clone()].split(is_between).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let is_part = words.len() > 1;
    let candidate = |word: &&str| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        Candidate { span: start..start + word.len(), is_quoted, is_part, ends_line: false }
    };
    words.iter().map(candidate).collect()
}

/// Returns a value without quotes, which ends at white space or punctuation.
fn unquoted(text: &str, at: usize) -> Vec<Candidate> {
    static VALUE: ByteSet = ByteSet::alphanumeric_and(b"+/_.~!@#%^*?$-");
    let mut cursor = Cursor::new(text, at);
    let is_value = |byte: u8| VALUE.contains(byte);
    cursor.skip(MAX_BYTES, is_value);
    // The padding of base64, or an equals sign inside a token.
    if cursor.skip(2, |byte| byte == b'=') > 0 {
        cursor.skip(128, is_value);
    }
    let whole = &text[at..cursor.at];
    let value = whole.trim_end_matches('.');
    let is_cut_short = whole.ends_with("...");
    // A call, an index or a path is an expression.
    let is_expression = cursor.peek().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'(' | b'[' | b'{' | b':')
    });
    if value.is_empty() || is_cut_short || is_expression {
        return Vec::new();
    }
    cursor.skip(4, |byte| matches!(byte, b',' | b';' | b' ' | b'\t' | b'\r'));
    let ends = |byte| matches!(byte, b'\n' | b'&' | b'"' | b'\'' | b'\\');
    let ends_line = cursor.peek().is_none_or(ends);
    let is_part = false;
    vec![Candidate { span: at..at + value.len(), is_quoted: false, is_part, ends_line }]
}
