//! Where a value ends, and what in it may be the secret.

use super::cursor::{Cursor, is_quote};
use super::operator::{Kind, Link};
use std::ops::Range;

/// A value, or a part of one.
#[derive(Debug)]
pub(super) struct Candidate {
    pub span: Range<usize>,
    pub is_quoted: bool,
    /// It is one word of a longer value.
    pub is_part: bool,
    /// Nothing but punctuation follows on the line.
    pub ends_line: bool,
}

/// Bytes of the longest value.
const LONGEST: usize = 2048;

/// What may be a secret in the value that the link leads to.
pub(super) fn candidates(text: &str, link: &Link) -> Vec<Candidate> {
    let region = quoted(text, link.at).or_else(|| match link.kind {
        Kind::Element => Some(element(text, link.at)),
        _ => None,
    });
    let Some((span, is_quoted)) = region else { return unquoted(text, link.at) };
    let whole = &text[span.clone()];
    let is_one = !whole.is_empty() && !whole.bytes().any(|byte| byte.is_ascii_whitespace());
    if is_one {
        return vec![Candidate { span, is_quoted, is_part: false, ends_line: false }];
    }
    parts(text, span, is_quoted)
}

/// Whether a string literal begins at `at`.
pub(super) fn opens_quote(text: &str, at: usize) -> bool {
    let mut here = Cursor::new(text, at);
    here.skip(3, |byte| byte == b'\\');
    here.peek().is_some_and(is_quote)
}

/// The content of the string literal at `at`.
fn quoted(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let mut here = Cursor::new(text, at);
    let prefix = here.skip(2, |byte| b"rbfuRBFU@$#".contains(&byte));
    let backslashes = here.skip(3, |byte| byte == b'\\');
    let quote = here.peek().filter(|byte| is_quote(*byte))?;
    if prefix > 0 && backslashes > 0 {
        return None;
    }
    here.skip(3, |byte| byte == quote);
    let start = here.at;
    let is_content = |byte| byte != quote && byte != b'\n';
    here.skip(LONGEST, is_content);
    // In a literal of its own, a backslash keeps the quote behind it inside.
    let is_kept = |here: &Cursor<'_>| {
        here.peek() == Some(quote) && here.previous() == Some(b'\\') && here.at < start + LONGEST
    };
    while backslashes == 0 && is_kept(&here) {
        here.at += 1;
        here.skip(LONGEST, is_content);
    }
    let content = text[start..floor(text, here.at)].trim_end_matches('\\');
    Some((start..start + content.len(), true))
}

fn element(text: &str, at: usize) -> (Range<usize>, bool) {
    let mut here = Cursor::new(text, at);
    here.skip(512, |byte| !matches!(byte, b'<' | b'>'));
    (at..floor(text, here.at), false)
}

/// The words of a value that has several.
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

/// A value without quotes: up to white space or a sign that ends one.
fn unquoted(text: &str, at: usize) -> Vec<Candidate> {
    let mut here = Cursor::new(text, at);
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_.~!@#%^*?$-".contains(&byte);
    here.skip(LONGEST, is_value);
    // The padding of base64, or a sign that issuers have in their tokens.
    if here.skip(2, |byte| byte == b'=') > 0 {
        here.skip(128, is_value);
    }
    let whole = &text[at..here.at];
    let value = whole.trim_end_matches('.');
    let is_cut_short = whole.ends_with("...");
    // A call, an index, a path: an expression.
    let goes_on = here.peek().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'(' | b'[' | b'{' | b':')
    });
    if value.is_empty() || is_cut_short || goes_on {
        return Vec::new();
    }
    here.skip(4, |byte| matches!(byte, b',' | b';' | b' ' | b'\t' | b'\r'));
    let ends_line = here.peek().is_none_or(|byte| byte == b'\n' || byte == b'&');
    let is_part = false;
    vec![Candidate { span: at..at + value.len(), is_quoted: false, is_part, ends_line }]
}

/// A region that was cut at its longest may end inside a character.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
