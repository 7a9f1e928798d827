//! Long runs of letters and digits: what encoded text and drawn values are made of.

use std::ops::Range;

/// Characters of the shortest run.
const SHORTEST: usize = 20;

/// The runs of [`SHORTEST`] characters and more of base64, in the standard alphabet or that of URLs,
/// without padding. A run that long covers one of every so many bytes, so most of the text need not
/// be looked at.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + SHORTEST <= bytes.len() {
            let window = &bytes[at..at + SHORTEST];
            let Some(outside) = window.iter().rposition(|byte| !is_inside(*byte)) else {
                let start = at;
                at += bytes[at..].iter().take_while(|byte| is_inside(**byte)).count();
                return Some(start..at);
            };
            at += outside + 1;
        }
        None
    })
}

fn is_inside(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_whole_wherever_they_stand() {
        let run = "abcdefghijklmnopqrstuvwxyz0123";
        for before in 0..60 {
            let text = format!("{}{run}== rest", ". ".repeat(before));
            let found: Vec<&str> = runs(&text).map(|run| &text[run]).collect();
            assert_eq!(found, [run], "{before}");
        }
        assert_eq!(runs("abcdefghijklmnopqrs tuvwxyz").count(), 0);
    }
}
