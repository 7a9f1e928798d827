//! Hexadecimal digits, in one run or wrapped into lines.

use std::ops::Range;

use super::View;
use super::wrapped_runs::wrapped;
use crate::keyword_scan::KeywordScan;

/// Minimum number of digits: a secret has at least eighteen bytes.
const MIN_DIGITS: usize = 36;

/// Bytes that are decoded first, to skip digests.
const PROBE: usize = 8;

/// Returns a view of each run of digits that decodes to text.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let mut done = 0;
    let runs = scan.runs.iter().flat_map(move |run| digits(text, run.clone()));
    runs.filter_map(move |run| {
        if run.start < done || !begins_text(&text.as_bytes()[run.clone()]) {
            return None;
        }
        let lines = wrapped(text, run, |byte| byte.is_ascii_hexdigit());
        done = lines.last()?.end;
        decoded(text, &lines)
    })
}

/// Returns the sequences of digits in a run, without `0x`.
fn digits(text: &str, run: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let parts = text[run].split(|c: char| !c.is_ascii_hexdigit());
    parts.filter(|part| part.len() >= 20).map(|part| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        start..start + part.len()
    })
}

fn begins_text(digits: &[u8]) -> bool {
    let pairs = digits.chunks_exact(2).take(PROBE);
    pairs.map(byte_of).all(|byte| byte.is_some_and(is_text))
}

fn is_text(byte: u8) -> bool {
    // The NULs of UTF-16 belong to text, too.
    !byte.is_ascii_control() || matches!(byte, 0 | b'\t' | b'\n' | b'\r' | 0x1b)
}

fn decoded(text: &str, lines: &[Range<usize>]) -> Option<View> {
    let places: Vec<usize> = lines.iter().cloned().flatten().collect();
    if places.len() < MIN_DIGITS {
        return None;
    }
    let pairs = places.chunks_exact(2);
    let origins = pairs.clone().map(|pair| pair[0]..pair[1] + 1).collect();
    let bytes = text.as_bytes();
    let decoded: Option<Vec<u8>> =
        pairs.map(|pair| byte_of(&[bytes[pair[0]], bytes[pair[1]]])).collect();
    let decoded = decoded.filter(|bytes| bytes.iter().all(|byte| is_text(*byte)))?;
    View::of_bytes(decoded, origins)
}

/// Returns the byte of two digits.
pub(super) fn byte_of(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_and_digests_are_not() {
        let encoded: String = "token = 'ж' of acme".bytes().map(|b| format!("{b:02x}")).collect();
        for frame in ["@", "0x@", "x-@, y"] {
            let text = frame.replace('@', &encoded);
            let scan = KeywordScan::new(&text);
            let view = views(&scan).next().expect("text");
            assert_eq!(view.text, "token = 'ж' of acme");
            assert_eq!(&text[view.origin(&(0..2))], "746f", "{frame}");
        }
        let (head, tail) = encoded.split_at(24);
        let lines = format!("a:\n{head}\n{tail}\nb");
        assert_eq!(views(&KeywordScan::new(&lines)).count(), 1);
        let digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        assert_eq!(views(&KeywordScan::new(digest)).count(), 0);
    }
}
