//! Base32 with the alphabet of RFC 4648, in one case.

use super::{Origin, View, ViewKind};
use crate::keyword_scan::KeywordScan;

/// Minimum length of a run, in characters: a secret has at least eighteen bytes.
const MIN_LENGTH: usize = 29;

/// Characters of a run that are decoded first, to skip runs that are not text.
const PROBE: usize = 16;

/// Returns a view of each base32 run that decodes to text.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let long = scan.runs.iter().filter(|run| run.len() >= MIN_LENGTH);
    long.filter_map(move |run| {
        let characters = &text.as_bytes()[run.clone()];
        let is_first_text = decode(&characters[..PROBE]).is_some_and(|bytes| is_text(&bytes));
        is_first_text.then_some(())?;
        let bytes = decode(characters).filter(|bytes| is_text(bytes))?;
        let padding = text[run.end..].bytes().take(6).take_while(|byte| *byte == b'=').count();
        Some(View {
            text: String::from_utf8(bytes).ok()?,
            origin: Origin::Range(run.start..run.end + padding),
            kind: ViewKind::Decoded,
        })
    })
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t'))
}

/// Decodes characters of one case. The bits after the last whole byte are dropped.
fn decode(characters: &[u8]) -> Option<Vec<u8>> {
    let is_lower = characters.first()?.is_ascii_lowercase();
    let digit = |byte: &u8| match byte {
        b'A'..=b'Z' if !is_lower => Some(byte - b'A'),
        b'a'..=b'z' if is_lower => Some(byte - b'a'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(characters.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for character in characters {
        bits = (bits << 5 | u32::from(digit(character)?)) & 0xfff;
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
        let names = "THIS_IS_A_LONG_CONSTANT_NAME_OF_CODE and getelementsbyclassnameandtagname";
        assert_eq!(views(&KeywordScan::new(names)).count(), 0);
    }
}
