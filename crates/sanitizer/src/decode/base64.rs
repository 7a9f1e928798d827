//! Base64 in the standard or the URL alphabet, with or without padding.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::wrapped_runs::wrapped;
use super::{Origin, View, ViewKind};
use crate::keyword_scan::KeywordScan;
use crate::runs::is_base64;

/// Minimum length of a decoded run, in characters: a secret has at least eighteen bytes.
const MIN_LENGTH: usize = 24;

/// Characters of a run that are decoded first, to skip runs that are not text.
const PROBE: usize = 64;

/// Returns a view of each base64 run that decodes to text, and one of each text that is wrapped
/// into several lines.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let long = scan.runs.iter().filter(|run| run.len() >= MIN_LENGTH);
    let mut done = 0;
    long.flat_map(move |run| {
        let characters = &text[run.clone()];
        if !encodes_text(characters.get(..PROBE).unwrap_or(characters)) {
            return [None, None];
        }
        // Lines of whole groups only.
        let is_wrapped = run.start >= done && run.len().is_multiple_of(4);
        let lines = if is_wrapped { wrapped(text, run.clone(), is_base64) } else { Vec::new() };
        done = lines.last().map_or(done, |last| last.end);
        let joined = (lines.len() > 1).then(|| view(text, &lines)).flatten();
        [joined, view(text, std::slice::from_ref(run))]
    })
    .flatten()
}

fn view(text: &str, lines: &[Range<usize>]) -> Option<View> {
    let characters: String = lines.iter().map(|line| &text[line.clone()]).collect();
    let decoded = String::from_utf8(decode(&characters)?).ok()?;
    let (start, end) = (lines.first()?.start, lines.last()?.end);
    let padding = text[end..].bytes().take(2).take_while(|byte| *byte == b'=').count();
    (!has_control(&decoded)).then_some(View {
        text: decoded,
        origin: Origin::Range(start..end + padding),
        kind: ViewKind::Decoded,
    })
}

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn decode(characters: &str) -> Option<Vec<u8>> {
    // Base64 has no remainder of one character.
    let whole = &characters[..characters.len() - usize::from(characters.len() % 4 == 1)];
    STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole)).ok()
}

/// Whether a run, or its start, decodes to text. Most runs are names and paths, which do not.
pub(crate) fn encodes_text(run: &str) -> bool {
    let Some(bytes) = decode(run) else { return false };
    let valid = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The start of a run may end inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty() && !has_control(valid)
}

fn has_control(text: &str) -> bool {
    // The NULs of UTF-16 belong to text, too.
    text.bytes().any(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t' | 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_decoded() {
        assert_eq!(views(&KeywordScan::new("dG9rZW4gPSAiYWJjIiBldGM")).count(), 0);
        assert_eq!(views(&KeywordScan::new("dG9rZW4gPSAiYWJjIiBldGMu")).count(), 1);
        assert_eq!(views(&KeywordScan::new("getElementsByClassNameAndTagName")).count(), 0);
    }
}
