//! Counting tokens as language models do, by tiktoken's `o200k_base`.

use std::iter;

use tiktoken_rs::o200k_base_singleton;

/// Maximum bytes that are tokenized at a time. The time for a text without spaces grows faster than
/// its length.
const PART_BYTES: usize = 4 * 1024;

/// Returns the number of tokens of `text`, in a time that is linear in its length. The first call
/// loads the vocabulary (about 0.2 s).
///
/// The number is approximate for a text with more than 4 KiB between two places where a token
/// always ends, such as the end of a line or word.
pub fn count(text: &str) -> usize {
    parts(text).map(count_at_once).sum()
}

/// Splits `text` into parts of at most 4 KiB, between tokens if possible. The sum of their counts
/// is the count of the text.
pub fn parts(text: &str) -> impl Iterator<Item = &str> {
    parts_of(text, PART_BYTES)
}

/// Loads the vocabulary, so that no request waits for it.
pub fn warm_up() {
    count_at_once("");
}

fn count_at_once(text: &str) -> usize {
    o200k_base_singleton().count_ordinary(text)
}

fn parts_of(mut text: &str, part_bytes: usize) -> impl Iterator<Item = &str> {
    iter::from_fn(move || {
        let (part, rest) = text.split_at(end_of_part(text, part_bytes));
        text = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// Returns the end of the first part of `text`, in bytes. It is not 0 unless `text` is empty.
fn end_of_part(text: &str, part_bytes: usize) -> usize {
    if text.len() <= part_bytes {
        return text.len();
    }
    // A first character may be longer than a part.
    let end = text.floor_char_boundary(part_bytes).max(text.ceil_char_boundary(1));
    let mut next = None;
    for (start, character) in text[..end].char_indices().rev() {
        if next.is_some_and(|next| is_token_boundary(character, next)) {
            return start + character.len_utf8();
        }
        next = Some(character);
    }
    end
}

/// Returns whether no token contains these two adjacent characters. By the pattern of the
/// vocabulary, a space or a punctuation mark belongs to the word after it, and line ends with
/// slashes after them belong to the token before them. A word may end with an apostrophe and
/// letters.
fn is_token_boundary(before: char, after: char) -> bool {
    let is_end_of_line = |c: char| matches!(c, '\r' | '\n');
    if after.is_whitespace() {
        !before.is_whitespace() && !is_end_of_line(after)
    } else if is_end_of_line(before) {
        after != '/'
    } else {
        let is_ideograph = matches!(before, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '一'..='\u{9fff}');
        (before.is_ascii_alphanumeric() || is_ideograph)
            && (after.is_ascii_punctuation() || "、。，！？：；".contains(after))
            && after != '\''
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_are_those_of_o200k() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
    }

    #[test]
    fn part_without_boundary_ends_between_characters() {
        let text = "я".repeat(PART_BYTES + 1);
        let lengths: Vec<usize> = parts(&text).map(str::len).collect();
        assert_eq!(lengths, [PART_BYTES, PART_BYTES, 2]);
        assert!(count(&text) >= count_at_once(&text));
        // A single character is longer than a part.
        assert_eq!(parts_of("яя", 1).collect::<String>(), "яя");
    }

    proptest! {
        #[test]
        fn parts_have_the_tokens_of_the_text(
            text in concat!(
                "([a-zA-Zа-я0-9'/.#_😀{}:\",設ゖ、。]{1,8}",
                "( |\n|\r\n|  | \n|\n\n|\n  |\t|, |a\")){1,120}",
            )
        ) {
            let parts: Vec<&str> = parts_of(&text, 128).collect();
            prop_assert_eq!(parts.concat(), text.clone());
            let counts: usize = parts.into_iter().map(count_at_once).sum();
            prop_assert_eq!(counts, count_at_once(&text));
        }
    }
}
