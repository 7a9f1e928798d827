//! Counting tokens as language models do, by the vocabulary `o200k_base`, in a time that is linear
//! in the length of the text.

use bpe_openai::o200k_base;

/// Returns the number of tokens of `text`. The first call loads the vocabulary (about 0.05 s).
pub fn count(text: &str) -> usize {
    o200k_base().count(text)
}

/// Returns the number of tokens of `text`, or `None` if there are more than `max`. It reads no word
/// after the one that exceeds it.
///
/// A word is rejected once it has over `max + 10` tokens, although later letters might still merge
/// some. No such word is known.
pub fn count_up_to(text: &str, max: usize) -> Option<usize> {
    let start = start_within(text, max);
    (start.bytes == text.len()).then_some(start.tokens)
}

/// Returns the length in bytes of the longest start of `text` with at most `max` tokens. It ends
/// where a word, number, run of marks or run of spaces ends.
pub fn fitting(text: &str, max: usize) -> usize {
    start_within(text, max).bytes
}

/// Loads the vocabulary, so that no request waits for it.
pub fn warm_up() {
    count("");
}

/// The start of a text.
struct Start {
    bytes: usize,
    tokens: usize,
}

/// Returns the longest start of whole words with at most `max` tokens.
fn start_within(text: &str, max: usize) -> Start {
    let tokenizer = o200k_base();
    let mut start = Start { bytes: 0, tokens: 0 };
    // No token contains parts of two words.
    for word in tokenizer.split(text) {
        let fitting = tokenizer.bpe.count_till_limit(word.as_bytes(), max - start.tokens);
        let Some(tokens) = fitting else { break };
        start.bytes += word.len();
        start.tokens += tokens;
    }
    start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn count_stops_at_its_limit() {
        assert_eq!(count_up_to("hello world", 2), Some(2));
        assert_eq!(count_up_to("hello world", 1), None);
        assert_eq!((count_up_to("", 0), fitting("", 0)), (Some(0), 0));
        assert_eq!(fitting("hello world", 1), "hello".len());
    }

    const TEXT: &str = concat!(
        "(([a-zA-Zа-яÀ-ÿ0-9'/.#_😀{}:;()&|\",設ゖ、。\u{301}\u{a0}]{1,8}",
        "|[a-z]{200,300}|a{400}|={400}| {400})",
        "( |\n|\r\n|  | \n|\n\n|\n    |\t|, |'s|/)){0,40}",
    );

    proptest! {
        #[test]
        fn tokens_are_those_of_tiktoken(text in TEXT) {
            let expected = tiktoken_rs::o200k_base_singleton().count_ordinary(&text);
            prop_assert_eq!(count(&text), expected);
        }

        #[test]
        fn longest_start_has_its_tokens(text in TEXT, max in 0usize..200) {
            let tokens = count(&text);
            prop_assert_eq!(count_up_to(&text, max), (tokens <= max).then_some(tokens));
            let end = fitting(&text, max);
            prop_assert!(count(&text[..end]) <= max);
            prop_assert_eq!(end == text.len(), tokens <= max);
            if let Some(word) = o200k_base().split(&text[end..]).next() {
                prop_assert!(count(&text[..end + word.len()]) > max);
            }
        }
    }
}
