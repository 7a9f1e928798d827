//! Random values after a word that does not name a secret: `acme 'q8Zr2...'`.
//!
//! Random values that mix upper-case letters, lower-case letters and digits are mostly keys.
//! Digests, identifiers and data have one case, come in blocks, or are parts of URLs.

use std::ops::Range;

use crate::assignment::Names;
use crate::keyword_scan::KeywordScan;
use crate::randomness;

/// Maximum length of a value, in characters.
const MAX_LENGTH: usize = 100;

/// Minimum evidence of a value, in total and per character; see [`randomness::evidence`].
const EVIDENCE: f32 = 16.0;
const EVIDENCE_PER_CHARACTER: f32 = 0.55;

/// Maximum distance of the word before the value, in bytes.
const CONTEXT_BYTES: usize = 64;

/// The confidence in such a value.
pub(crate) const CONFIDENCE: f32 = 0.5;

/// Returns the random values that follow a word.
pub(crate) fn values<'r>(
    scan: &'r KeywordScan<'_>,
    names: &'r Names,
) -> impl Iterator<Item = Range<usize>> + 'r {
    let text = scan.text;
    let is_secret = move |run: &&Range<usize>| {
        run.len() <= MAX_LENGTH
            && looks_random(&text[(*run).clone()])
            && is_terminated(text, run.end)
            && follows_word(text, run.start, names)
    };
    scan.runs.iter().filter(is_secret).cloned()
}

fn looks_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_mixed =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let need = EVIDENCE.max(EVIDENCE_PER_CHARACTER * value.len() as f32);
    is_mixed
        && !value.contains(['+', '/'])
        && randomness::evidence(value) >= need
        && !randomness::is_filler(value)
}

fn is_terminated(text: &str, end: usize) -> bool {
    let next = text[end..].chars().next();
    next.is_none_or(|next| next.is_whitespace() || "\"'`})]<>|,;".contains(next))
}

/// Whether a word precedes the value, with at most an operator, a quote and spaces between, outside
/// of a URL.
fn follows_word(text: &str, start: usize, names: &Names) -> bool {
    let near = &text[text.floor_char_boundary(start.saturating_sub(CONTEXT_BYTES))..start];
    let line = near.rsplit('\n').next().unwrap_or_default();
    let is_open = line.ends_with([' ', '\t', '"', '\'', '`', '{', '=']);
    let last = line.rsplit([' ', '\t']).next().unwrap_or_default();
    let before =
        line.trim_end_matches([' ', '\t', '"', '\'', '`', '{', '(', '=', ':', '>', '|', '-', '\\']);
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = &before[before.trim_end_matches(is_inner).len()..];
    let is_word = word.bytes().filter(u8::is_ascii_alphabetic).count() >= 2;
    is_open
        && is_word
        && !last.contains("://")
        && !names.denies(before)
        && !names.is_other(word)
        && !is_number_of_other(before, word, names)
}

/// Whether the word is that of a number, as in `order id`, and the one before it makes it the
/// number of something else.
fn is_number_of_other(before: &str, word: &str, names: &Names) -> bool {
    let is_number = ["id", "number", "no", "nr"].iter().any(|one| word.eq_ignore_ascii_case(one));
    let rest = before[..before.len() - word.len()].trim_end_matches(' ');
    let letters = rest.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    is_number && names.is_other(&rest[rest.len() - letters..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generated for this test.
    const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

    #[test]
    fn random_value_after_a_word_is_found() {
        let names = Names::default();
        for syntax in
            ["acme '@'", "acme @\n", "template := \"@\"", "<id>{acme @}</id>", "\"id\": \"@\""]
        {
            let text = syntax.replace('@', VALUE);
            let scan = KeywordScan::new(&text);
            let found: Vec<&str> = values(&scan, &names).map(|span| &text[span]).collect();
            assert_eq!(found, [VALUE], "{text}");
        }
    }

    #[test]
    fn identifiers_data_and_urls_are_not_found() {
        for text in [
            "* MBsGA1UECgwUQnV5cGFzcyBBUy05ODMxNjMzMjcxIDAeBgNVBAMMF0J1eXBhc3Mg",
            "see https://drive.example/open?id=q8Zr2Lm0Tx5vB7nKc3Wd9Yh4",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "struct Vec2WithSimd4Of16BytesEach",
            "sha512-9c0BMnG5tHsDWJ2qJl3xVkOWSo9BsLJBzqJ1n5kYyZ0Uo1D7r0N2bqJvWm8cRk1Hw==",
        ] {
            let scan = KeywordScan::new(text);
            assert_eq!(values(&scan, &Names::default()).count(), 0, "{text}");
        }
    }
}
