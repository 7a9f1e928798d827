//! Charikar's simhash over a note's words: notes that share most words differ in few bits.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::text::{Token, tokenize};

/// Weight of a whole word, which tells more than its letters.
const WORD_WEIGHT: i32 = 4;
/// Weight of letter trigrams, which keep a typo from looking like another word.
const TRIGRAM_WEIGHT: i32 = 1;

/// Computes a 64-bit fingerprint. It is stored, so it must be the same in every build.
pub fn simhash(text: &str) -> u64 {
    let mut votes = [0_i32; 64];
    for (feature, weight) in features(text) {
        let digest = Sha256::digest(feature);
        let bits = u64::from_be_bytes(digest[..8].try_into().expect("8 of 32 bytes"));
        for (bit, vote) in votes.iter_mut().enumerate() {
            *vote += if bits >> bit & 1 == 1 { weight } else { -weight };
        }
    }
    votes.iter().enumerate().fold(0, |hash, (bit, vote)| hash | u64::from(*vote > 0) << bit)
}

fn features(text: &str) -> BTreeSet<(String, i32)> {
    let mut features = BTreeSet::new();
    for token in tokenize(text) {
        let word = match token {
            Token::Word { stem, .. } => stem,
            Token::Number(text) | Token::Identifier(text) | Token::Symbol(text) => text,
            Token::Relation(word) => word.to_owned(),
            Token::Negation => "not".to_owned(),
            Token::Stop(_) => continue,
        };
        let letters: Vec<char> = word.chars().collect();
        features.extend(letters.windows(3).map(|three| (three.iter().collect(), TRIGRAM_WEIGHT)));
        features.insert((format!("={word}"), WORD_WEIGHT));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of bits in which two fingerprints differ.
    fn distance(a: u64, b: u64) -> u32 {
        (a ^ b).count_ones()
    }

    const NOTE: &str = "The payments worker retries a failed charge 3 times with jitter before it \
        gives up, because the gateway drops connections under load";

    #[test]
    fn fingerprint_is_stable_across_builds() {
        assert_eq!(simhash(NOTE), simhash(NOTE));
        assert_eq!(simhash(""), 0);
        assert_eq!(simhash("retry the worker"), 10_799_259_587_142_255_504);
    }

    #[test]
    fn distance_is_small_for_typos_and_large_for_other_subjects() {
        let reordered = "Because the gateway drops connections under load, the payments worker \
            retries a failed charge 3 times with jitter BEFORE it gives up";
        let typo = NOTE.replace("connections", "conections");
        let other =
            "Cart sessions expire after the delay that the shop owner sets in the admin panel";
        assert_eq!(distance(simhash(NOTE), simhash(reordered)), 0);
        assert!(distance(simhash(NOTE), simhash(&typo)) <= 8);
        assert!(distance(simhash(NOTE), simhash(other)) >= 18);
    }
}
