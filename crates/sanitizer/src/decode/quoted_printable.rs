//! Quoted-printable, as in mail: `=3D`, and lines that end in `=` and continue on the next one.

use std::ops::Range;

use super::View;
use super::regions::{end_of, regions};
use crate::keyword_scan::KeywordScan;

/// Minimum length of a line that is continued, in bytes: mail wraps at 76. Shorter lines of code
/// may end in an equals sign.
const MIN_CONTINUED_LINE: usize = 60;

/// Encoded bytes in a row that are no coincidence.
const MIN_ENCODED: usize = 3;

/// The possible beginnings of encoded bytes, of which letters and digits have these, and of
/// continued lines.
pub(crate) const QUOTED_SIGNS: &[&str] = &["=3d", "=4", "=5", "=6", "=7", "=\n", "=\r\n"];

/// Returns a view of each region with encoded bytes or continued lines.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let signs = scan.quoted.iter().copied();
    let changes = signs.filter(|at| is_encoded(text.as_bytes(), *at));
    regions(text, changes).map(|region| decoded(text, region))
}

fn is_encoded(bytes: &[u8], at: usize) -> bool {
    if bytes[at..].starts_with(b"=3D") || line_break(bytes, at).is_some() {
        return true;
    }
    (0..MIN_ENCODED).all(|index| byte_at(bytes, at + 3 * index).is_some())
}

fn decoded(text: &str, region: Range<usize>) -> View {
    let bytes = text.as_bytes();
    let (mut decoded, mut origins) = (Vec::new(), Vec::new());
    let (mut at, mut end) = (region.start, region.end);
    while at < end {
        if let Some(next) = line_break(bytes, at) {
            // The line after the region's last one, once: more would be read again and again.
            if end == region.end && next >= end {
                end = end_of(text, next);
            }
            at = next;
            continue;
        }
        let (byte, length) = byte_at(bytes, at).map_or((bytes[at], 1), |byte| (byte, 3));
        decoded.push(byte);
        origins.push(at..at + length);
        at += length;
    }
    View::of_bytes_lossy(&decoded, &origins)
}

/// Returns the end of the line break that the sign at `at` removes.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    (bytes.get(at) == Some(&b'=')).then_some(())?;
    let end = match bytes.get(at + 1..)? {
        [b'\n', ..] => at + 2,
        [b'\r', b'\n', ..] => at + 3,
        _ => return None,
    };
    let line = bytes[..at].iter().rev().take(MIN_CONTINUED_LINE).take_while(|b| **b != b'\n');
    let is_token = at.checked_sub(1).is_some_and(|before| {
        bytes[before].is_ascii_alphanumeric() || b"_-.+/".contains(&bytes[before])
    });
    (is_token && line.count() == MIN_CONTINUED_LINE).then_some(end)
}

/// Decodes the byte at `at`.
fn byte_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| {
        let byte = bytes.get(at).filter(|byte| !byte.is_ascii_lowercase())?;
        char::from(*byte).to_digit(16)
    };
    (bytes.get(at) == Some(&b'=')).then_some(())?;
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    #[test]
    fn bytes_and_continued_lines_are_decoded() {
        let long = "x".repeat(70);
        let text = format!("{long}=\r\ny=3Dz\nnext");
        let scan = Rules::standard().scan_keywords(&text);
        let views: Vec<View> = views(&scan).collect();
        assert!(views.iter().any(|view| view.text.starts_with(&format!("{long}y=z"))));
        let mail = Rules::standard().scan_keywords("=D0=B6=3D");
        assert_eq!(super::views(&mail).next().expect("one region").text, "ж=");
        let code = Rules::standard().scan_keywords("let a =\n b==1; c=40; d=3d");
        assert_eq!(super::views(&code).count(), 0);
    }
}
