//! Removal of near-duplicate texts, and of too many hits from one file.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use mc_domain::SourceKind;

use super::Candidate;

/// Minimum Jaccard similarity of duplicates.
const SAME_TEXT: f32 = 0.9;
/// Texts with fewer words are duplicates only if all words are equal, because one word may matter.
const SHORT_TEXT_WORDS: usize = 12;

/// Returns the first `limit` candidates that are no duplicates, in their order.
pub fn dedup(
    candidates: Vec<Candidate>,
    limit: usize,
    max_per_file: Option<usize>,
) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::with_capacity(limit);
    let mut texts: Vec<(SourceKind, HashSet<u64>)> = Vec::with_capacity(limit);
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
            SourceKind::Memory => HashSet::new(),
            _ => words(&candidate.passage.indexed.text),
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

/// Returns the hashes of the pairs of adjacent words, ignoring case.
fn words(text: &str) -> HashSet<u64> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.len() < 2 {
        return words.iter().map(|word| hashed(std::slice::from_ref(word))).collect();
    }
    words.windows(2).map(hashed).collect()
}

fn hashed(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

fn same_text(a: &HashSet<u64>, b: &HashSet<u64>) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let shared = a.intersection(b).count();
    let total = a.len() + b.len() - shared;
    if a.len().min(b.len()) < SHORT_TEXT_WORDS {
        return shared == total;
    }
    shared as f32 >= SAME_TEXT * total as f32
}

#[cfg(test)]
mod tests;
