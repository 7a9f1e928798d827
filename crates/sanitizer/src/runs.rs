//! Long runs of letters and digits, which encoded text and random values consist of.

use std::ops::Range;

use crate::byte_set::ByteSet;

/// Minimum length of a run, in characters.
const MIN_LENGTH: usize = 20;

/// Returns the runs of at least [`MIN_LENGTH`] base64 characters, in the standard or the URL
/// alphabet, without padding.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    runs_of(text.as_bytes(), MIN_LENGTH, is_base64)
}

/// Bytes at the end of a window that are tested first, without a branch for each.
const PROBE: usize = 8;

/// Returns the runs of at least `min` bytes that are `inside`; `min` is at least [`PROBE`]. A run
/// covers one byte of every `min`, so most bytes of a text are skipped.
pub(crate) fn runs_of<'t>(
    bytes: &'t [u8],
    min: usize,
    inside: impl Fn(u8) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> + 't {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + min <= bytes.len() {
            let window = &bytes[at..at + min];
            let (before, probe) = window.split_last_chunk::<PROBE>()?;
            if probe.iter().map(|byte| usize::from(inside(*byte))).sum::<usize>() < PROBE {
                // No run begins before the probe or with it.
                at += before.len() + 1;
                continue;
            }
            let Some(outside) = window.iter().rposition(|byte| !inside(*byte)) else {
                let start = at;
                at += bytes[at..].iter().take_while(|byte| inside(**byte)).count();
                return Some(start..at);
            };
            at += outside + 1;
        }
        None
    })
}

pub(crate) fn is_base64(byte: u8) -> bool {
    static DIGITS: ByteSet = ByteSet::alphanumeric_and(b"+/-_");
    DIGITS.contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_complete_at_every_offset() {
        let run = "abcdefghijklmnopqrstuvwxyz0123";
        for before in 0..60 {
            for run in (MIN_LENGTH..=run.len()).map(|length| &run[..length]) {
                for text in [format!("{}{run}== rest", ". ".repeat(before)), run.to_owned()] {
                    let found: Vec<&str> = runs(&text).map(|run| &text[run]).collect();
                    assert_eq!(found, [run], "{before}");
                }
            }
        }
        assert_eq!(runs("abcdefghijklmnopqrs tuvwxyz").count(), 0);
    }
}
