//! Encoded text that is wrapped into lines.

use std::ops::Range;

/// Returns the run and those on the next lines that continue it. All lines but the last have the
/// length of the first one, and consist of digits of the alphabet only, perhaps indented.
pub(super) fn wrapped(
    text: &str,
    first: Range<usize>,
    is_digit: fn(u8) -> bool,
) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let length = first.len();
    let mut lines = vec![first];
    while let Some(last) = lines.last().filter(|last| last.len() == length) {
        let Some(start) = next_line(bytes, last.end) else { break };
        let count = bytes[start..].iter().take(length + 1).take_while(|b| is_digit(**b)).count();
        let is_whole = bytes.get(start + count).is_none_or(|byte| b"\r\n=\"' ".contains(byte));
        if count == 0 || count > length || !is_whole {
            break;
        }
        lines.push(start..start + count);
    }
    lines
}

/// Returns the first character of the next line if the current one ends at `at`.
fn next_line(bytes: &[u8], at: usize) -> Option<usize> {
    const MAX_INDENT: usize = 40;
    let after_return = at + usize::from(bytes.get(at) == Some(&b'\r'));
    (bytes.get(after_return) == Some(&b'\n')).then_some(())?;
    let start = after_return + 1;
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    Some(start + bytes[start..].iter().take(MAX_INDENT).take_while(is_blank).count())
}
