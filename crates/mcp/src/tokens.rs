//! Tokens as language models count them, by tiktoken's `o200k_base`, and text cut to a number of them.

/// How many tokens `text` is. The vocabulary is loaded at the first call (about 0.2 s).
pub fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().count_ordinary(text)
}

/// Characters that a token has at most on average, in what people write.
const CHARS: usize = 6;
/// What a line costs besides its text: it is quoted.
const LINE: usize = 2;
/// How much of a piece may be given up to end it where a paragraph or a line ends.
const RAGGED: f64 = 0.4;

/// The longest beginning of `text`, in bytes, that costs at most about `budget` tokens when it is shown: all of
/// it, else up to the end of a paragraph, a line or a word. Never nothing, as long as there is text.
pub fn fitting(text: &str, budget: usize) -> usize {
    let mut end = byte_of_char(text, budget.saturating_mul(CHARS).max(1));
    loop {
        let cost = cost(&text[..end]);
        if cost <= budget {
            break;
        }
        let chars = text[..end].chars().count();
        // A little less than in proportion, so that it comes to an end.
        let fewer = (chars * budget / cost).saturating_sub(chars / 50 + 1).max(1);
        if fewer >= chars {
            break;
        }
        end = byte_of_char(text, fewer);
    }
    if end == text.len() { end } else { at_a_break(text, end) }
}

/// Tokens of stored text with the marks of its lines.
pub fn cost(text: &str) -> usize {
    count(text) + text.lines().count() * LINE
}

fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(byte, _)| byte)
}

fn at_a_break(text: &str, end: usize) -> usize {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let least = (end as f64 * (1.0 - RAGGED)) as usize;
    let breaks = ["\n\n", "\n", ". ", " "];
    let after = |mark: &str| text[..end].rfind(mark).map(|at| at + mark.len());
    breaks.iter().find_map(|mark| after(mark).filter(|at| *at > least.max(1))).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_piece_ends_where_a_paragraph_does() {
        let text = "One line of a paragraph.\nAnother one.\n\n".repeat(40);
        let piece = &text[..fitting(&text, 100)];
        assert!(piece.ends_with("\n\n") && cost(piece) <= 100, "{piece:?}");
        assert_eq!(fitting("short", 100), 5);
    }

    proptest! {
        #[test]
        fn a_piece_fits_and_never_is_nothing(text in "[ a-zа-я0-9\n😀.]{1,600}", budget in 20usize..400) {
            let end = fitting(&text, budget);
            prop_assert!(end > 0 && text.is_char_boundary(end));
            prop_assert!(end == text.len() || cost(&text[..end]) <= budget + 2 * LINE);
        }
    }
}
