//! Mnemonic phrases without a label: their words are those of the English list of BIP 39, and their
//! checksum is valid.
//!
//! A phrase is in a stretch of the text with at least twelve words, each of three to eight letters,
//! as the listed words have. In such a stretch, one word of every 47 bytes is looked up: a phrase
//! is at least as long, so one of its words is looked up as well. Only then are the words around it
//! compared with the list.

mod stretches;
mod words;

use std::iter::successors;
use std::ops::Range;

use sha2::{Digest as _, Sha256};
use stretches::stretches;
use words::{Word, word_after, word_before};

/// The category, which is that of phrases with a label, too.
pub(crate) const CATEGORY: &str = "mnemonic";

/// The confidence in such a phrase. One in sixteen sequences of twelve words has a valid checksum.
pub(crate) const CONFIDENCE: f32 = 0.9;

/// Numbers of words that a phrase may have.
const LENGTHS: [usize; 5] = [12, 15, 18, 21, 24];

/// Bits of a word's index in the list.
const INDEX_BITS: usize = 11;

/// Minimum length of a phrase, in bytes: twelve words of three letters and the signs between them.
const MIN_LENGTH: usize = LENGTHS[0] * 3 + LENGTHS[0] - 1;

/// Returns the phrases in a text, in any case; they may overlap.
pub(crate) fn phrases(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    stretches(bytes, LENGTHS[0])
        .into_iter()
        .flat_map(|stretch| phrases_in(bytes, stretch))
        .collect()
}

/// Returns the phrases in a stretch of the text.
fn phrases_in(bytes: &[u8], stretch: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut probe = stretch.start + MIN_LENGTH - 1;
    while probe < stretch.end {
        let run = word_before(bytes, probe + 1).map_or(0..0, |word| run_around(bytes, word.at));
        if run.len() >= MIN_LENGTH {
            let first = word_after(bytes, run.start);
            let words = successors(first, |last| word_after(bytes, last.at.end));
            found.extend(phrases_of(&words.collect::<Vec<_>>()));
        }
        // No other phrase begins before the end of the run or the probe, so each has the byte at
        // the next probe.
        probe = run.end.max(probe + 1) + MIN_LENGTH - 1;
    }
    found
}

/// Returns the part of the text around a listed word that consists of such words.
fn run_around(bytes: &[u8], mut run: Range<usize>) -> Range<usize> {
    while let Some(before) = word_before(bytes, run.start) {
        run.start = before.at.start;
    }
    while let Some(after) = word_after(bytes, run.end) {
        run.end = after.at.end;
    }
    run
}

/// Returns the phrases in a run of listed words.
fn phrases_of(run: &[Word]) -> impl Iterator<Item = Range<usize>> + '_ {
    let parts = (0..run.len()).flat_map(move |start| {
        LENGTHS.iter().filter_map(move |length| run.get(start..start + length))
    });
    let phrases = parts.filter(|words| is_phrase(words));
    phrases.map(|words| words[0].at.start..words[words.len() - 1].at.end)
}

fn is_phrase(words: &[Word]) -> bool {
    // Words of the list itself, or another one, ascend.
    let is_list = || words.is_sorted_by_key(|word| word.index);
    is_varied(words) && !is_list() && has_checksum(words)
}

/// Whether few of the words repeat each other. In source code, `true, false, true` may go on, and
/// a quarter of repeated words is very rare in phrases.
fn is_varied(words: &[Word]) -> bool {
    let is_new = |nth: &usize| words[..*nth].iter().all(|word| word.index != words[*nth].index);
    4 * (0..words.len()).filter(is_new).count() >= 3 * words.len()
}

/// Whether the last bits of the indices are the first ones of the SHA-256 of the other bits. Of 33
/// bits, one is a checksum.
fn has_checksum(words: &[Word]) -> bool {
    // The bits of an index are in three bytes at most.
    let mut packed = [0_u8; 34];
    for (nth, word) in words.iter().enumerate() {
        let bit = nth * INDEX_BITS;
        let window = u32::from(word.index) << (24 - INDEX_BITS - bit % 8);
        for (to, from) in packed[bit / 8..].iter_mut().zip(&window.to_be_bytes()[1..]) {
            *to |= from;
        }
    }
    let checksum_bits = words.len() / 3;
    let (entropy, rest) = packed.split_at(words.len() * 4 / 3);
    Sha256::digest(entropy)[0] >> (8 - checksum_bits) == rest[0] >> (8 - checksum_bits)
}

#[cfg(test)]
mod tests {
    use super::words::{MAX_GAP, WORDS};
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        phrases(text).into_iter().map(|span| &text[span]).collect()
    }

    /// Test vectors of BIP 39, of 12, 18 and 24 words.
    const VECTORS: [&str; 3] = [
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "gravity machine north sort system female filter attitude volume fold club stay feature \
         office ecology stable narrow fog",
        "hamster diagram private dutch cause delay private meat slide toddler razor book happy \
         fancy gospel tennis maple dilemma loan word shrug inflict delay length",
    ];

    #[test]
    fn phrase_is_found_at_every_offset() {
        for phrase in VECTORS {
            for before in 0..3 * MIN_LENGTH {
                let words = &"abcdefghij of klmn ".repeat(9)[..before];
                for text in [
                    format!("{}{phrase}", ". ".repeat(before)),
                    format!("{words} {phrase} {words}"),
                    format!("legal {words}.{phrase}.{words}"),
                ] {
                    assert!(found(&text).contains(&phrase), "{text}");
                }
            }
        }
    }

    #[test]
    fn checksum_depends_on_each_word() {
        for phrase in VECTORS {
            let words: Vec<&str> = phrase.split(' ').collect();
            let mut changed = words.clone();
            let valid = (0..words.len()).filter(|nth| {
                changed.clone_from(&words);
                changed[*nth] = "zebra";
                found(&changed.join(" ")).contains(&changed.join(" ").as_str())
            });
            assert!(valid.count() < words.len() / 3, "{phrase}");
        }
    }

    #[test]
    fn words_far_apart_are_no_phrase() {
        let apart = |bytes| VECTORS[0].replace(' ', &"-".repeat(bytes));
        assert_eq!(phrases(&apart(MAX_GAP)).len(), 1);
        assert_eq!(phrases(&apart(MAX_GAP + 1)).len(), 0);
    }

    #[test]
    fn lists_and_filler_are_no_phrases() {
        let filler = "abandon ".repeat(11) + "about";
        for text in [WORDS.to_owned(), filler, "true, false, ".repeat(60)] {
            assert_eq!(phrases(&text).len(), 0, "{text}");
        }
    }
}
