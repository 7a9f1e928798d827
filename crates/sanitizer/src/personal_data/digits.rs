//! The parts of a text with enough digits for a number of a person.

use std::ops::Range;

/// Size of a chunk, in bytes: the compiler vectorizes the counting of its digits.
const CHUNK: usize = 16;

/// Minimum number of digits of a dense chunk. The number with the fewest digits has four in a row,
/// so one of the chunks that it touches is dense.
const DENSE: u8 = 2;

/// Bytes around a dense chunk that a number may extend to. Numbers have at most 19 digits, codes at
/// most 34 letters and digits in groups of four.
const MARGIN: usize = 48;

/// Returns the parts of the text around dense chunks: sorted, disjoint, cut at character
/// boundaries.
pub(super) fn dense_windows(text: &str) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    let (chunks, rest) = text.as_bytes().as_chunks::<CHUNK>();
    let dense = chunks.iter().map(|chunk| digits(chunk) >= DENSE);
    for (index, is_dense) in dense.chain([digits(rest) >= DENSE]).enumerate() {
        if !is_dense {
            continue;
        }
        let at = index * CHUNK;
        let start = text.floor_char_boundary(at.saturating_sub(MARGIN));
        let end = text.ceil_char_boundary((at + CHUNK + MARGIN).min(text.len()));
        match windows.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => windows.push(start..end),
        }
    }
    windows.retain(|window| has_digit_run(&text.as_bytes()[window.clone()]));
    windows
}

/// Returns the number of digits of a chunk.
fn digits(chunk: &[u8]) -> u8 {
    chunk.iter().map(|byte| u8::from(byte.is_ascii_digit())).sum()
}

/// Fewest digits of a number or code, and maximum bytes between two of them.
const MIN_DIGITS: usize = 4;
const MAX_GAP: usize = 3;

/// Whether the bytes contain [`MIN_DIGITS`] digits with small gaps. In tables and dumps, most parts
/// do not.
fn has_digit_run(bytes: &[u8]) -> bool {
    let (mut digits, mut gap) = (0, 0);
    bytes.iter().any(|byte| {
        if byte.is_ascii_digit() {
            digits = if gap > MAX_GAP { 1 } else { digits + 1 };
            gap = 0;
        } else {
            gap += 1;
        }
        digits >= MIN_DIGITS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_in_one_window_at_every_offset() {
        for before in 0..40 {
            let text = format!("{}+4. 93. 09. 01{}", "ä".repeat(before), " ".repeat(40));
            let at = text.find('+').expect("the number");
            let window = dense_windows(&text).into_iter().next().expect("a window");
            assert!(window.start <= at && window.end >= at + 14, "{before}: {window:?}");
        }
        assert!(dense_windows("x1 + y2 + z3 - w4 + v5 - u6 + t7 - s8").is_empty());
        assert!(dense_windows("No number: v2 of utf-8, nor 3 of 4.").is_empty());
    }
}
