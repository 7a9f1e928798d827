//! Shortening of text to a token budget.

use mc_domain::shorten;
use mc_tokens::{count, count_up_to};

/// Maximum average number of characters per token in ordinary text.
const CHARS_PER_TOKEN: usize = 6;
/// Tokens of a line in addition to its text, because it is quoted.
const LINE_TOKENS: usize = 2;
/// Maximum share of a piece that is cut off to end it at a paragraph, line or word.
const MAX_CUT_SHARE: f64 = 0.4;

/// Returns the length in bytes of the longest start of `text` that costs about `budget` tokens: all
/// of it, else up to the end of a paragraph, line or word. It is not 0 unless `text` is empty.
pub fn fitting(text: &str, budget: usize) -> usize {
    let mut end = shorten(text, budget.saturating_mul(CHARS_PER_TOKEN).max(1)).len();
    loop {
        let cost = cost(&text[..end]);
        if cost <= budget {
            break;
        }
        let chars = text[..end].chars().count();
        // Slightly less than in proportion, so that the loop ends.
        let fewer = (chars * budget / cost).saturating_sub(chars / 50 + 1).max(1);
        if fewer >= chars {
            break;
        }
        end = shorten(text, fewer).len();
    }
    if end == text.len() { end } else { end_at_break(text, end) }
}

/// Returns the number of tokens of stored text with quoted lines.
pub fn cost(text: &str) -> usize {
    count(text) + text.lines().count() * LINE_TOKENS
}

/// Returns whether `text` costs at most `budget` tokens. It tokenizes only as much as necessary.
pub fn fits(text: &str, budget: usize) -> bool {
    let of_lines = text.lines().count() * LINE_TOKENS;
    budget.checked_sub(of_lines).is_some_and(|budget| rendered_fits(text, budget))
}

/// Returns whether rendered text has at most `budget` tokens. It tokenizes no more than necessary.
pub fn rendered_fits(text: &str, budget: usize) -> bool {
    count_up_to(text, budget).is_some()
}

fn end_at_break(text: &str, end: usize) -> usize {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let min_end = (end as f64 * (1.0 - MAX_CUT_SHARE)) as usize;
    let breaks = ["\n\n", "\n", ". ", " "];
    let after = |mark: &str| text[..end].rfind(mark).map(|start| start + mark.len());
    let is_long_enough = |end: &usize| *end > min_end.max(1);
    breaks.iter().find_map(|mark| after(mark).filter(is_long_enough)).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn piece_ends_with_a_paragraph() {
        let text = "One line of a paragraph.\nAnother one.\n\n".repeat(40);
        let piece = &text[..fitting(&text, 100)];
        assert!(piece.ends_with("\n\n") && cost(piece) <= 100, "{piece:?}");
        assert_eq!(fitting("short", 100), 5);
    }

    #[test]
    fn text_fits_with_its_quoted_lines() {
        assert!(fits("", 0) && fits("short", 3) && !fits("short", 2));
        assert!(rendered_fits("short", 1) && !rendered_fits("short\nand long", 2));
        for text in ["# a\n", "word ", "я", "0123456789abcdef"] {
            assert!(!fits(&text.repeat(1_000_000 / text.len()), 1_200));
        }
    }

    proptest! {
        #[test]
        fn text_fits_into_its_cost(
            text in "([a-zA-Zа-я0-9'/.#_😀]{1,8}( |\n|\r\n|  | \n|\n\n|\n  |\t|, )){1,120}"
        ) {
            prop_assert!(fits(&text, cost(&text)) && !fits(&text, cost(&text) - 1));
        }

        #[test]
        fn piece_fits_and_is_not_empty(
            text in "[ a-zа-я0-9\n😀.]{1,600}",
            budget in 20usize..400,
        ) {
            let end = fitting(&text, budget);
            prop_assert!(end > 0 && text.is_char_boundary(end));
            prop_assert!(end == text.len() || cost(&text[..end]) <= budget + 2 * LINE_TOKENS);
        }
    }
}
