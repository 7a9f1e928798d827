//! Drawn values that stand beside a word without a name that says "secret": `acme 'q8Zr2...'`.
//!
//! Such values are mostly keys where upper-case letters, lower-case letters and digits are mixed;
//! digests, identifiers and data have one case, come in blocks, or lie in addresses.

use std::ops::Range;

use crate::assignment::Names;
use crate::keyword_scan::KeywordScan;
use crate::randomness;

/// Characters of the longest value.
const LONGEST: usize = 100;

/// Evidence that a value must show, as [`shape::evidence`] measures it, and for each character.
const EVIDENCE: f32 = 16.0;
const EVIDENCE_EACH: f32 = 0.55;

/// Bytes before the value in which the word must stand.
const NEAR: usize = 64;

/// How likely such a value is a secret.
pub(crate) const CONFIDENCE: f32 = 0.5;

/// The drawn values that stand beside a word.
pub(crate) fn values<'r>(
    reading: &'r KeywordScan<'_>,
    names: &'r Names,
) -> impl Iterator<Item = Range<usize>> + 'r {
    let text = reading.text;
    let is_secret = move |run: &&Range<usize>| {
        run.len() <= LONGEST
            && is_drawn(&text[(*run).clone()])
            && ends(text, run.end)
            && follows_word(text, run.start, names)
    };
    reading.runs.iter().filter(is_secret).cloned()
}

fn is_drawn(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_mixed =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let need = EVIDENCE.max(EVIDENCE_EACH * value.len() as f32);
    is_mixed
        && !value.contains(['+', '/'])
        && randomness::evidence(value) >= need
        && !randomness::is_filler(value)
}

fn ends(text: &str, end: usize) -> bool {
    let next = text[end..].chars().next();
    next.is_none_or(|next| next.is_whitespace() || "\"'`})]<>|,;".contains(next))
}

/// Whether a word stands before the value, with at most a sign, a quote and spaces between, outside
/// of an address.
fn follows_word(text: &str, start: usize, names: &Names) -> bool {
    let near = &text[text.floor_char_boundary(start.saturating_sub(NEAR))..start];
    let line = near.rsplit('\n').next().unwrap_or_default();
    let is_open = line.ends_with([' ', '\t', '"', '\'', '`', '{', '=']);
    let last = line.rsplit([' ', '\t']).next().unwrap_or_default();
    let before =
        line.trim_end_matches([' ', '\t', '"', '\'', '`', '{', '(', '=', ':', '>', '|', '-', '\\']);
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = &before[before.trim_end_matches(is_inner).len()..];
    let is_word = word.bytes().filter(u8::is_ascii_alphabetic).count() >= 2;
    is_open && is_word && !last.contains("://") && !names.denies(before) && !names.is_other(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drawn for this test.
    const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

    #[test]
    fn a_drawn_value_beside_a_word_is_found() {
        let names = Names::default();
        for syntax in
            ["acme '@'", "acme @\n", "template := \"@\"", "<id>{acme @}</id>", "\"id\": \"@\""]
        {
            let text = syntax.replace('@', VALUE);
            let reading = KeywordScan::of(&text);
            let found: Vec<&str> = values(&reading, &names).map(|span| &text[span]).collect();
            assert_eq!(found, [VALUE], "{text}");
        }
    }

    #[test]
    fn identifiers_data_and_addresses_are_not() {
        for text in [
            "* MBsGA1UECgwUQnV5cGFzcyBBUy05ODMxNjMzMjcxIDAeBgNVBAMMF0J1eXBhc3Mg",
            "see https://drive.example/open?id=q8Zr2Lm0Tx5vB7nKc3Wd9Yh4",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "struct Vec2WithSimd4Of16BytesEach",
            "sha512-9c0BMnG5tHsDWJ2qJl3xVkOWSo9BsLJBzqJ1n5kYyZ0Uo1D7r0N2bqJvWm8cRk1Hw==",
        ] {
            let reading = KeywordScan::of(text);
            assert_eq!(values(&reading, &Names::default()).count(), 0, "{text}");
        }
    }
}
