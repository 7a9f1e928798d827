//! Encodings of files.

use crate::error::NotText;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
/// Length of an escaped byte, such as `\xE9`.
const ESCAPED_BYTES: usize = 4;

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// UTF-8 without a byte order mark.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16, little endian, with a byte order mark.
    Utf16Le,
    /// UTF-16, big endian, with a byte order mark.
    Utf16Be,
    /// Neither UTF-8 nor UTF-16: perhaps Windows-1252, Latin-1 or another of many. Such a file can
    /// be viewed. It can't be edited, since a wrong guess would write wrong characters.
    Unknown8Bit,
}

impl Encoding {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16-le",
            Self::Utf16Be => "utf-16-be",
            Self::Unknown8Bit => "unknown-8bit",
        }
    }

    /// Returns the length of the byte order mark.
    pub(crate) fn mark_len(self) -> usize {
        match self {
            Self::Utf8 | Self::Unknown8Bit => 0,
            Self::Utf8Bom => UTF8_BOM.len(),
            Self::Utf16Le | Self::Utf16Be => 2,
        }
    }

    /// Returns the number of bytes of `text` without a byte order mark.
    pub(crate) fn encoded_len(self, text: &str) -> usize {
        match self {
            Self::Utf16Le | Self::Utf16Be => 2 * text.encode_utf16().count(),
            Self::Utf8 | Self::Utf8Bom | Self::Unknown8Bit => text.len(),
        }
    }

    /// Encodes `text` without a byte order mark.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Utf8 | Self::Utf8Bom | Self::Unknown8Bit => text.as_bytes().to_vec(),
        }
    }
}

/// Decodes a file.
pub(super) fn decode(bytes: &[u8]) -> Result<(Encoding, String), NotText> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Ok((Encoding::Utf16Le, decode_utf16(rest, u16::from_le_bytes)?)),
        [0xFE, 0xFF, rest @ ..] => Ok((Encoding::Utf16Be, decode_utf16(rest, u16::from_be_bytes)?)),
        _ if bytes.contains(&0) => Err(NotText::Nul),
        _ => Ok(decode_utf8(bytes)),
    }
}

/// Returns the position in `bytes` of a position in their text with escapes.
pub(super) fn offset_of_escaped(bytes: &[u8], text_offset: usize) -> usize {
    let (mut original, mut escaped) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if text_offset <= escaped + valid {
            return original + (text_offset - escaped);
        }
        original += valid;
        escaped += valid;
        let invalid = chunk.invalid().len();
        if text_offset < escaped + invalid * ESCAPED_BYTES {
            return original + (text_offset - escaped) / ESCAPED_BYTES;
        }
        original += invalid;
        escaped += invalid * ESCAPED_BYTES;
    }
    original
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let text: Result<String, _> =
        char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    match text {
        Ok(text) if text.contains('\0') => Err(NotText::Nul),
        Ok(text) if odd.is_empty() => Ok(text),
        _ => Err(NotText::InvalidUtf16),
    }
}

fn decode_utf8(bytes: &[u8]) -> (Encoding, String) {
    let (encoding, rest) = match bytes.strip_prefix(UTF8_BOM) {
        Some(rest) => (Encoding::Utf8Bom, rest),
        None => (Encoding::Utf8, bytes),
    };
    match std::str::from_utf8(rest) {
        Ok(text) => (encoding, text.to_owned()),
        Err(_) => (Encoding::Unknown8Bit, escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    text
}
