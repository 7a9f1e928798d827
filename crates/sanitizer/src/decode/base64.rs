//! Base64, in the standard alphabet and in that of URLs, with padding or without.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{Kind, Origin, View};
use crate::keyword_scan::KeywordScan;

/// Characters of the shortest run that is decoded: a secret takes eighteen bytes.
const SHORTEST: usize = 24;

/// Characters by which a run is judged before all of it is decoded.
const PROBE: usize = 64;

/// Each run of base64 that holds text.
pub(super) fn views<'r>(reading: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = reading.text;
    let long = reading.runs.iter().filter(|run| run.len() >= SHORTEST);
    long.filter_map(move |run| {
        let characters = &text[run.clone()];
        is_text(characters.get(..PROBE).unwrap_or(characters)).then_some(())?;
        let decoded = String::from_utf8(decode(characters)?).ok()?;
        let padding = text[run.end..].bytes().take(2).take_while(|byte| *byte == b'=').count();
        let whole = run.start..run.end + padding;
        (!has_control(&decoded)).then_some(View {
            text: decoded,
            origin: Origin::Whole(whole),
            kind: Kind::Decoded,
        })
    })
}

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn decode(characters: &str) -> Option<Vec<u8>> {
    // A remainder of one character is none of base64.
    let whole = &characters[..characters.len() - usize::from(characters.len() % 4 == 1)];
    STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole)).ok()
}

/// Whether the beginning of a run decodes to text. Most runs are names and paths, and fail here.
fn is_text(probe: &str) -> bool {
    let Some(bytes) = decode(probe) else { return false };
    let valid = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The probe may have been cut inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty() && !has_control(valid)
}

fn has_control(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_decoded() {
        assert_eq!(views(&KeywordScan::of("dG9rZW4gPSAiYWJjIiBldGM")).count(), 0);
        assert_eq!(views(&KeywordScan::of("dG9rZW4gPSAiYWJjIiBldGMu")).count(), 1);
        assert_eq!(views(&KeywordScan::of("getElementsByClassNameAndTagName")).count(), 0);
    }
}
