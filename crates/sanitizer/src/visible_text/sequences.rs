//! Sequences that terminals execute instead of showing them: colors, titles, links.

use super::escapes::escape;

/// Maximum length of the parameters, in bytes.
const MAX_PARAMETERS: usize = 64;

/// Maximum length of a title or link, in bytes.
const MAX_STRING: usize = 1024;

/// Returns the end of the sequence that `introducer` begins, which ends at `at`: an escape
/// character or one of the C1 controls. The introducer and the terminator may be written as
/// escapes.
pub(super) fn end(bytes: &[u8], introducer: char, at: usize) -> Option<usize> {
    match (introducer, bytes.get(at)?) {
        _ if begins_string(introducer, bytes, at) => string(bytes, string_start(introducer, at)),
        ('\u{9b}', _) => control(bytes, at),
        ('\u{1b}', b'[') => control(bytes, at + 1),
        // Selects a character set.
        ('\u{1b}', b'(' | b')' | b'*' | b'+') => {
            bytes.get(at + 1).filter(|byte| byte.is_ascii_alphanumeric()).map(|_| at + 2)
        }
        _ => None,
    }
}

/// Whether `introducer`, which ends at `at`, begins a string, such as a title or a link.
pub(super) fn begins_string(introducer: char, bytes: &[u8], at: usize) -> bool {
    match introducer {
        '\u{1b}' => matches!(bytes.get(at), Some(b']' | b'P' | b'X' | b'^' | b'_')),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => true,
        _ => false,
    }
}

/// Returns the start of the string after `introducer`, which ends at `at`.
pub(super) fn string_start(introducer: char, at: usize) -> usize {
    if introducer == '\u{1b}' { at + 1 } else { at }
}

/// Returns the end of a change of color at `at` that has lost its escape character, as in copied
/// logs: `[31m`.
pub(super) fn bare(bytes: &[u8], at: usize) -> Option<usize> {
    let is_parameter = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
    let count = bytes[at + 1..].iter().take(16).take_while(is_parameter).count();
    let end = at + 1 + count;
    // `[1m]` is an index.
    let follows_m = bytes.get(end) == Some(&b'm') && bytes.get(end + 1) != Some(&b']');
    (count > 0 && follows_m).then_some(end + 1)
}

fn control(bytes: &[u8], at: usize) -> Option<usize> {
    let is_parameter = |byte: &&u8| matches!(byte, b' '..=b'?');
    let end = at + bytes[at..].iter().take(MAX_PARAMETERS).take_while(is_parameter).count();
    bytes.get(end).filter(|last| matches!(last, b'@'..=b'~')).map(|_| end + 1)
}

/// Returns the end of a string, which a bell, `ESC \` or the C1 string terminator ends on the same
/// line. No other sequence is inside it.
fn string(bytes: &[u8], at: usize) -> Option<usize> {
    let last = bytes.len().min(at + MAX_STRING);
    let mut at = at;
    while at < last {
        let (c, end) = match bytes[at] {
            b'\\' => escape(bytes, at).unwrap_or(('\\', at + 1)),
            // The first byte of a C1 control; the second one is its code.
            0xc2 => (char::from(*bytes.get(at + 1)?), at + 2),
            byte if byte.is_ascii() => (char::from(byte), at + 1),
            _ => (char::REPLACEMENT_CHARACTER, at + 1),
        };
        match c {
            '\u{7}' | '\u{9c}' => return Some(end),
            '\u{1b}' => {
                let backslashes = if bytes[at] == b'\\' { 2 } else { 1 };
                let found = bytes[end..].iter().take(backslashes).take_while(|b| **b == b'\\');
                return Some(end + found.count()).filter(|closed| *closed > end);
            }
            '\n' | '\u{90}'..='\u{9f}' => return None,
            _ => at = end,
        }
    }
    None
}
