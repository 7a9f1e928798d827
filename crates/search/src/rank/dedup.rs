//! Removal of near-duplicate texts, and of too many hits from one file.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use mc_domain::{PassageId, SourceKind};
use mc_store::passages::IndexedPassage;
use rustc_hash::FxBuildHasher;

use super::Candidate;

/// Minimum Jaccard similarity of duplicates.
const SAME_TEXT: f32 = 0.9;
/// Texts with fewer words are duplicates only if all words are equal, because one word may matter.
const SHORT_TEXT_WORDS: usize = 12;

/// The pairs of adjacent words of passages, computed once for several searches.
#[derive(Debug, Default)]
pub struct WordPairs(HashMap<PassageId, Arc<[u64]>>);

impl WordPairs {
    fn of(&mut self, passage: &IndexedPassage) -> Arc<[u64]> {
        Arc::clone(self.0.entry(passage.id).or_insert_with(|| word_pairs(&passage.text).into()))
    }
}

/// Returns the first `limit` candidates that are no duplicates, in their order.
pub fn dedup(
    candidates: Vec<Candidate>,
    limit: usize,
    max_per_file: Option<usize>,
    word_pairs: &mut WordPairs,
) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::with_capacity(limit);
    let mut texts: Vec<(SourceKind, Arc<[u64]>)> = Vec::with_capacity(limit);
    let mut per_file: HashMap<_, usize> = HashMap::new();
    for candidate in candidates {
        if kept.len() == limit {
            break;
        }
        let file = candidate.passage.code.as_ref().map(|code| code.file_id);
        let from_file = file.map_or(0, |file| per_file.get(&file).copied().unwrap_or(0));
        if max_per_file.is_some_and(|max| from_file >= max) {
            continue;
        }
        let source = candidate.passage.indexed.source;
        // Duplicate records are merged when they are saved, so two similar records differ in
        // something important, such as a number.
        let words = match source {
            SourceKind::Memory => Arc::default(),
            _ => word_pairs.of(&candidate.passage.indexed),
        };
        // Only passages of the same source are compared: a dialog may quote a document.
        if texts.iter().any(|(kind, other)| *kind == source && same_text(other, &words)) {
            continue;
        }
        if let Some(file) = file {
            *per_file.entry(file).or_default() += 1;
        }
        texts.push((source, words));
        kept.push(candidate);
    }
    kept
}

/// Returns the hashes of the pairs of adjacent words, ignoring case, sorted and each once.
fn word_pairs(text: &str) -> Vec<u64> {
    let words: Vec<u64> = text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        // Others can forge this hash, but a copy of a text would hide it as well.
        .map(|word| FxBuildHasher.hash_one(word))
        .collect();
    let mut pairs = if words.len() < 2 {
        words
    } else {
        // The order of the words matters.
        words.windows(2).map(|pair| pair[0].rotate_left(1).wrapping_add(pair[1])).collect()
    };
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn same_text(a: &[u64], b: &[u64]) -> bool {
    let (shorter, longer) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // Most texts differ too much in length.
    if shorter.is_empty() || (shorter.len() as f32) < SAME_TEXT * longer.len() as f32 {
        return false;
    }
    let shared = count_shared(shorter, longer);
    let total = a.len() + b.len() - shared;
    if shorter.len() < SHORT_TEXT_WORDS {
        return shared == total;
    }
    shared as f32 >= SAME_TEXT * total as f32
}

/// Returns how many values two sorted lists have in common.
fn count_shared(mut a: &[u64], mut b: &[u64]) -> usize {
    let mut shared = 0;
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        match first.cmp(other) {
            Ordering::Less => a = rest,
            Ordering::Greater => b = others,
            Ordering::Equal => {
                shared += 1;
                (a, b) = (rest, others);
            }
        }
    }
    shared
}

#[cfg(test)]
mod tests;
