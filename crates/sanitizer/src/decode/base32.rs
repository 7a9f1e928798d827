//! Base32 with the alphabet of RFC 4648, in one case, in one run or wrapped into lines.

use std::ops::Range;

use super::wrapped_runs::wrapped;
use super::{Origin, View, ViewKind};
use crate::keyword_scan::KeywordScan;

/// Minimum length of an encoded text, in characters: a secret has at least eighteen bytes.
const MIN_LENGTH: usize = 29;

/// Characters of a run that are decoded first, to skip runs that are not text.
const PROBE: usize = 16;

/// Returns a view of each base32 run that decodes to text, and one of each text that is wrapped
/// into several lines.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let mut done = 0;
    let views = scan.runs.iter().flat_map(move |run| {
        let characters = &text.as_bytes()[run.clone()];
        let is_digit = alphabet(characters);
        let has_digits = |characters: &[u8]| characters.iter().all(|byte| is_digit(*byte));
        let probe = &characters[..PROBE];
        // Most runs are names and paths, which have other characters.
        let is_first_text = has_digits(probe) && decode(probe).is_some_and(|bytes| is_text(&bytes));
        if !is_first_text || !has_digits(characters) {
            return [None, None];
        }
        // A line need not consist of whole groups: `base32` has lines of 76 characters.
        let is_first = run.start >= done;
        let lines = if is_first { wrapped(text, run.clone(), is_digit) } else { Vec::new() };
        done = lines.last().map_or(done, |last| last.end);
        let joined = (lines.len() > 1).then(|| view(text, &lines)).flatten();
        [joined, view(text, std::slice::from_ref(run))]
    });
    views.flatten()
}

fn view(text: &str, lines: &[Range<usize>]) -> Option<View> {
    let characters: String = lines.iter().map(|line| &text[line.clone()]).collect();
    let is_long = characters.len() >= MIN_LENGTH;
    let bytes = decode(characters.as_bytes()).filter(|bytes| is_long && is_text(bytes))?;
    let (start, end) = (lines.first()?.start, lines.last()?.end);
    let padding = text[end..].bytes().take(6).take_while(|byte| *byte == b'=').count();
    Some(View {
        text: String::from_utf8(bytes).ok()?,
        origin: Origin::Range(start..end + padding),
        kind: ViewKind::Decoded,
    })
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t'))
}

/// Returns the digits of one case: that of the first letter.
fn alphabet(characters: &[u8]) -> fn(u8) -> bool {
    let first = characters.iter().find(|byte| byte.is_ascii_alphabetic());
    if first.is_some_and(u8::is_ascii_lowercase) {
        |byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')
    } else {
        |byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')
    }
}

/// Decodes characters of one case. The bits after the last whole byte are dropped.
fn decode(characters: &[u8]) -> Option<Vec<u8>> {
    let is_digit = alphabet(characters);
    let digit = |byte: u8| match byte.to_ascii_uppercase() {
        upper @ b'A'..=b'Z' => upper - b'A',
        number => number - b'2' + 26,
    };
    let mut bytes = Vec::with_capacity(characters.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for character in characters {
        is_digit(*character).then_some(())?;
        bits = (bits << 5 | u32::from(digit(*character))) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_in_either_case() {
        // token = "abcdefgh12"
        let encoded = "ORXWWZLOEA6SAITBMJRWIZLGM5UDCMRC";
        for run in [encoded.to_owned(), encoded.to_lowercase()] {
            let text = format!("x {run}==== y");
            let view = views(&KeywordScan::new(&text)).next().map(|view| view.text);
            assert_eq!(view.as_deref(), Some("token = \"abcdefgh12\""));
        }
        // The first digit of Cyrillic text has no case.
        let cyrillic = "2C5NBO6RR3IYOIB5EARGCYTDMRSWMZ3IGEZCE";
        for run in [cyrillic.to_owned(), cyrillic.to_lowercase()] {
            let view = views(&KeywordScan::new(&run)).next().map(|view| view.text);
            assert_eq!(view.as_deref(), Some("ключ = \"abcdefgh12\""));
        }
        let names = "THIS_IS_A_LONG_CONSTANT_NAME_OF_CODE and getelementsbyclassnameandtagname";
        assert_eq!(views(&KeywordScan::new(names)).count(), 0);
    }
}
