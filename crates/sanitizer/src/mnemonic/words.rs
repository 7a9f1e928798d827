//! The words of BIP 39, and their places in a text.

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The English words of BIP 39, in their order.
pub(super) const WORDS: &str = include_str!("english.txt");

/// Maximum distance of two words, in bytes. There may be spaces, signs, numbers and line breaks.
pub(super) const MAX_GAP: usize = 24;

/// A word of the list.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub at: Range<usize>,
    /// The place in the list.
    pub index: u16,
}

/// Returns the word of the last letter before `end`, if it is near and the word is listed.
pub(super) fn word_before(bytes: &[u8], end: usize) -> Option<Word> {
    let near = bytes[..end].iter().rev().take(MAX_GAP);
    let gap = near.take_while(|byte| !byte.is_ascii_alphabetic()).count();
    listed_word(bytes, end.checked_sub(gap + 1)?)
}

/// Returns the word of the first letter from `start` on, if it is near and the word is listed.
pub(super) fn word_after(bytes: &[u8], start: usize) -> Option<Word> {
    let near = bytes[start..].iter().take(MAX_GAP);
    let gap = near.take_while(|byte| !byte.is_ascii_alphabetic()).count();
    listed_word(bytes, start + gap)
}

/// Returns the word around the letter `at`, if it is listed. A listed word has at most eight
/// letters, as many as a number has bytes, so this takes no loops. They took most of the time.
fn listed_word(bytes: &[u8], at: usize) -> Option<Word> {
    let (before, from) = (eight_before(bytes, at), eight_from(bytes, at));
    let letters_before = other_bytes(before).trailing_zeros() / 8;
    let letters = letters_before + other_bytes(from).leading_zeros() / 8;
    if letters_before == letters || letters > 8 {
        return None;
    }
    let first = before.checked_shl(64 - 8 * letters_before).unwrap_or(0);
    let index = *LIST.get(&word_number(first | from >> (8 * letters_before), letters))?;
    let start = at - letters_before as usize;
    Some(Word { at: start..start + letters as usize, index })
}

/// Returns the eight bytes before `at` as a number, with zeros for those before the text.
fn eight_before(bytes: &[u8], at: usize) -> u64 {
    let shorter = || bytes[..at].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    bytes[..at].last_chunk().map_or_else(shorter, |eight| u64::from_be_bytes(*eight))
}

/// Returns the eight bytes from `at` on as a number, with zeros for those after the text.
fn eight_from(bytes: &[u8], at: usize) -> u64 {
    let byte = |at| bytes.get(at).map_or(0, |byte| u64::from(*byte));
    let shorter = || (at..at + 8).fold(0, |all, at| all << 8 | byte(at));
    bytes[at..].first_chunk().map_or_else(shorter, |eight| u64::from_be_bytes(*eight))
}

/// Returns the high bit of each byte that is no letter.
fn other_bytes(bytes: u64) -> u64 {
    let lower = (bytes | LOWER_CASE) & !HIGH_BITS;
    // The sums set the high bits of bytes from `a` on, and of those after `z`.
    let (from_a, after_z) = (lower + ONES * 0x1f, lower + ONES * 0x05);
    (bytes | !from_a | after_z) & HIGH_BITS
}

/// One in each byte of a number.
const ONES: u64 = u64::MAX / 0xff;
const HIGH_BITS: u64 = ONES * 0x80;
/// The bit in which a lower-case letter differs from its upper-case form.
const LOWER_CASE: u64 = ONES * 0x20;

/// The places of the words in the list, by the words as numbers.
static LIST: LazyLock<FxHashMap<u64, u16>> = LazyLock::new(|| {
    let number = |word: &str| {
        let bytes = word.bytes().chain(std::iter::repeat(0)).take(8);
        bytes.fold(0, |all, byte| all << 8 | u64::from(byte))
    };
    WORDS.lines().map(number).zip(0..).collect()
});

/// Returns the first letters of eight bytes as a number, in lower case.
fn word_number(bytes: u64, letters: u32) -> u64 {
    let unused = 64 - 8 * letters;
    (bytes | LOWER_CASE) >> unused << unused
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The digest is that of `english.txt` in the repository of BIP 39.
    #[test]
    fn list_is_that_of_the_standard() {
        let digest = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda";
        assert_eq!(hex::encode(Sha256::digest(WORDS)), digest);
    }

    #[test]
    fn word_is_found_from_each_of_its_letters() {
        for (before, after) in
            [("", ""), ("ability ", " able"), ("1234567.", ",234567"), ("é", "é")]
        {
            for word in WORDS.lines() {
                let text = format!("{before}{word}{after}");
                for at in before.len()..before.len() + word.len() {
                    let found = listed_word(text.as_bytes(), at).map(|found| found.at);
                    assert_eq!(found, Some(before.len()..before.len() + word.len()), "{text}");
                }
            }
        }
        for other in
            ["abandons", "zo", "zooo", "xability", "abilityx", "a", "", "  ", "zoo@", "[zoo"]
        {
            let at = other.len() / 2;
            let found = listed_word(other.as_bytes(), at).map(|found| &other[found.at]);
            assert!(found.is_none_or(|word| word == "zoo"), "{other}");
        }
    }

    #[test]
    fn words_have_their_places_in_the_list() {
        for (index, word) in WORDS.lines().enumerate() {
            for text in [word.to_owned(), word.to_uppercase()] {
                let found = listed_word(text.as_bytes(), 0).map(|found| usize::from(found.index));
                assert_eq!(found, Some(index), "{text}");
            }
        }
    }
}
