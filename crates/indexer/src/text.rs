//! Decoding of files, and their lines.

pub(crate) use mc_domain::shorten;

/// Share of invalid UTF-8 above which a file counts as binary. A legacy encoding of a non-Latin
/// alphabet may have a third of invalid bytes; random bytes have more.
const MAX_INVALID_SHARE: f64 = 0.4;
/// Share of control characters above which a file without NUL still counts as binary.
const MAX_CONTROL_SHARE: f64 = 0.02;

/// Decodes UTF-8, UTF-16 with a byte order mark, or a one-byte encoding; `None` if binary.
///
/// Line ends become LF. Invalid bytes are read as Latin-1 one by one, so that the valid rest is
/// unchanged and identifiers can be found.
pub fn decode(bytes: &[u8]) -> Option<String> {
    if let Some(text) = decode_utf16(bytes) {
        return Some(normalize(&text?));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    // Text has no NUL, and PostgreSQL cannot store it.
    if bytes.contains(&0) {
        return None;
    }
    let controls = bytes.iter().filter(|b| is_binary_control(**b)).count();
    if exceeds(controls, bytes.len(), MAX_CONTROL_SHARE) {
        return None;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(normalize(text));
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    let mut invalid = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().copied().map(char::from));
        invalid += chunk.invalid().len();
    }
    (!exceeds(invalid, bytes.len(), MAX_INVALID_SHARE)).then(|| normalize(&text))
}

/// Function that converts two bytes to a unit of UTF-16.
type Unit = fn([u8; 2]) -> u16;

/// Decodes UTF-16; `None` without its byte order mark, and `Some(None)` if invalid UTF-16 follows.
#[expect(clippy::option_option, reason = "three results, used once just above")]
fn decode_utf16(bytes: &[u8]) -> Option<Option<String>> {
    let (rest, unit): (&[u8], Unit) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => (rest, u16::from_be_bytes),
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks::<2>();
    let text: Result<String, _> =
        char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    Some(text.ok().filter(|text| odd.is_empty() && !text.contains('\0')))
}

fn is_binary_control(byte: u8) -> bool {
    matches!(byte, 1..=8 | 11 | 14..=26 | 28..=31 | 127)
}

fn exceeds(count: usize, total: usize, share: f64) -> bool {
    count as f64 > total as f64 * share
}

/// Replaces every line end (CRLF, CR) by LF.
pub fn normalize(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

/// Converts a number of lines or bytes to the type of its database column.
pub(crate) fn as_i32(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Lines of a normalized text. A final LF does not start another line, so line numbers are those of
/// an editor; an empty text has no lines.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    /// Byte offset of each line, then the offset past the last line and its (real or missing) LF.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines.
    pub fn of(text: &'a str) -> Self {
        if text.is_empty() {
            return Self { text, starts: vec![0] };
        }
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        starts.push(text.len() + 1);
        Self { text, starts }
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the line with this 0-based index, without its LF.
    pub fn get(&self, line: usize) -> &'a str {
        &self.text[self.starts[line]..self.starts[line + 1] - 1]
    }

    /// Returns the lines from `start` (0-based) to `end` (exclusive), without the last LF.
    pub fn span(&self, start: usize, end: usize) -> &'a str {
        if start >= end { "" } else { &self.text[self.starts[start]..self.starts[end] - 1] }
    }

    /// Returns the number of bytes of [`Lines::span`].
    pub fn span_len(&self, start: usize, end: usize) -> usize {
        if start >= end { 0 } else { self.starts[end] - 1 - self.starts[start] }
    }

    /// Returns whether the line has only white space.
    pub fn is_blank(&self, line: usize) -> bool {
        self.get(line).trim().is_empty()
    }

    /// Returns the number of white space characters at the start of the line.
    pub fn indent(&self, line: usize) -> usize {
        self.get(line).chars().take_while(|c| c.is_whitespace()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_those_of_an_editor() {
        let lines = |text| {
            let lines = Lines::of(text);
            (0..lines.count()).map(|i| lines.get(i).to_owned()).collect::<Vec<_>>()
        };
        assert!(lines("").is_empty());
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("a"), ["a"]);
        assert_eq!(lines("a\n"), ["a"]);
        assert_eq!(lines("a\n\n"), ["a", ""]);
        assert_eq!(lines("a\nb"), ["a", "b"]);
    }

    #[test]
    fn every_line_end_becomes_lf() {
        assert_eq!(decode(b"a\r\nb\rc\n"), Some("a\nb\nc\n".into()));
    }

    #[test]
    fn byte_order_marks_are_removed_and_utf_16_is_decoded() {
        assert_eq!(decode(b"\xEF\xBB\xBFa"), Some("a".into()));
        assert_eq!(decode(b"\xFF\xFEa\0\xE9\0"), Some("a\u{e9}".into()));
        assert_eq!(decode(b"\xFE\xFF\0a"), Some("a".into()));
        assert_eq!(decode(b"\xFF\xFE\0\xD8"), None, "half a surrogate pair");
    }

    #[test]
    fn invalid_bytes_are_read_as_latin_1() {
        let text = decode(b"x = 'caf\xE9' # \xC3\xA9t\xC3\xA9");
        assert_eq!(text.as_deref(), Some("x = 'caf\u{e9}' # \u{e9}t\u{e9}"));
    }

    #[test]
    fn files_with_nul_controls_or_invalid_bytes_are_binary() {
        assert_eq!(decode(b"ab\0cd"), None);
        assert_eq!(decode(&[1, 2, 3, b'a', b'b']), None);
        assert_eq!(decode(&[0xFA; 64]), None);
        assert!(decode(b"\x1b[31mred\x1b[0m").is_some(), "terminal colours are text");
    }
}
