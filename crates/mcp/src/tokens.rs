//! Tokens as language models count them, by tiktoken's `o200k_base`, and text cut to a number of
//! them.

/// How many tokens `text` is. The vocabulary is loaded at the first call (about 0.2 s).
pub fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().count_ordinary(text)
}

/// Characters that a token has at most on average, in what people write.
const CHARS: usize = 6;
/// What a line costs besides its text: it is quoted.
const LINE: usize = 2;
/// Bytes that are tokenised at a time, where a text may be far too long.
const BATCH_BYTES: usize = 16 * 1024;
/// How much of a piece may be given up to end it where a paragraph or a line ends.
const RAGGED: f64 = 0.4;

/// The longest beginning of `text`, in bytes, that costs at most about `budget` tokens when it is
/// shown: all of it, else up to the end of a paragraph, a line or a word. Never nothing, as long as
/// there is text.
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

/// Whether `text` costs at most `budget` tokens. No more of it is tokenised than it takes to tell.
pub fn fits(text: &str, budget: usize) -> bool {
    let (cost, _) = spent(text, budget, BATCH_BYTES);
    cost <= budget
}

/// What `text` costs and how many of its bytes were tokenised for that, `at_once` at a time. Beyond
/// `budget` it is not read on.
fn spent(text: &str, budget: usize, at_once: usize) -> (usize, usize) {
    let (mut cost, mut read) = (0, 0);
    while read < text.len() && cost <= budget {
        let part = beginning(&text[read..], at_once);
        cost += count(part) + part.matches('\n').count() * LINE;
        read += part.len();
    }
    let has_open_line = read == text.len() && !text.is_empty() && !text.ends_with('\n');
    (cost + if has_open_line { LINE } else { 0 }, read)
}

/// About as much of `text`, never nothing, cut where no token reaches across if there is such a
/// place.
fn beginning(text: &str, at_once: usize) -> &str {
    if text.len() <= at_once {
        return text;
    }
    let end = text.ceil_char_boundary(at_once.max(1));
    let mut after = None;
    for (at, character) in text[..end].char_indices().rev() {
        if after.is_some_and(|after| is_apart(character, after)) {
            return &text[..at + character.len_utf8()];
        }
        after = Some(character);
    }
    &text[..end]
}

/// Whether the vocabulary's pattern never takes these two neighbours into one token: space belongs
/// to the word behind it, and the end of a line, with more of them and slashes, to what stands
/// before.
fn is_apart(before: char, after: char) -> bool {
    let is_end_of_line = |c: char| matches!(c, '\r' | '\n');
    if after.is_whitespace() {
        !before.is_whitespace() && !is_end_of_line(after)
    } else {
        is_end_of_line(before) && after != '/'
    }
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

    #[test]
    fn no_more_of_a_text_is_tokenised_than_it_takes_to_see_that_it_is_too_long() {
        for text in ["# a\n", "word ", "я", "0123456789abcdef"] {
            let text = text.repeat(1_000_000 / text.len());
            let (cost, read) = spent(&text, 1_200, BATCH_BYTES);
            assert!(cost > 1_200 && read <= 2 * BATCH_BYTES, "{cost} tokens, {read} bytes");
            assert!(!fits(&text, 1_200));
        }
        assert!(fits("", 0) && fits("short", 3) && !fits("short", 2));
    }

    proptest! {
        #[test]
        fn a_text_that_is_tokenised_in_parts_costs_what_it_does_as_a_whole(
            text in "([a-zA-Zа-я0-9'/.#_😀]{1,8}( |\n|\r\n|  | \n|\n\n|\n  |\t|, )){1,120}"
        ) {
            prop_assert_eq!(spent(&text, usize::MAX, 128).0, cost(&text));
        }

        #[test]
        fn a_piece_fits_and_is_not_empty(
            text in "[ a-zа-я0-9\n😀.]{1,600}",
            budget in 20usize..400,
        ) {
            let end = fitting(&text, budget);
            prop_assert!(end > 0 && text.is_char_boundary(end));
            prop_assert!(end == text.len() || cost(&text[..end]) <= budget + 2 * LINE);
        }
    }
}
