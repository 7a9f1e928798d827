//! Where a text has digits enough for a number of a person.

use std::ops::Range;

/// Bytes looked at together; a compiler counts their digits in a few instructions.
const CHUNK: usize = 16;

/// The shortest number has eight digits in 22 bytes at most, so one of the chunks that it touches
/// has this many.
const DENSE: u8 = 3;

/// Bytes around such a chunk that the number may reach to. Numbers have 19 digits at most, and codes
/// 34 letters and digits, in groups of four.
const MARGIN: usize = 48;

/// The parts of the text that have digits close together, with some text around them: sorted,
/// disjoint, cut at characters.
pub(super) fn dense(text: &str) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    for (index, chunk) in text.as_bytes().chunks(CHUNK).enumerate() {
        if chunk.iter().map(|byte| u8::from(byte.is_ascii_digit())).sum::<u8>() < DENSE {
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
    windows.retain(|window| has_streak(&text.as_bytes()[window.clone()]));
    windows
}

/// Digits of the shortest number or code, and bytes that may stand between two of them.
const STREAK: usize = 7;
const GAP: usize = 2;

/// Whether digits enough follow each other closely; in tables and dumps most don't.
fn has_streak(bytes: &[u8]) -> bool {
    let (mut digits, mut gap) = (0, 0);
    bytes.iter().any(|byte| {
        if byte.is_ascii_digit() {
            digits = if gap > GAP { 1 } else { digits + 1 };
            gap = 0;
        } else {
            gap += 1;
        }
        digits >= STREAK
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_lies_in_a_window_wherever_it_begins() {
        for before in 0..40 {
            let text = format!("{}+4. 93. 09. 01{}", "ä".repeat(before), " ".repeat(40));
            let at = text.find('+').expect("the number");
            let window = dense(&text).into_iter().next().expect("a window");
            assert!(window.start <= at && window.end >= at + 14, "{before}: {window:?}");
        }
        assert!(dense("x1 + y2 + z3 - w4 + v5 - u6 + t7 - s8").is_empty());
        assert!(dense("No number: v2 of utf-8, nor 3 of 4.").is_empty());
    }
}
