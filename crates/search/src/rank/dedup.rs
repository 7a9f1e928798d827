//! Leaves out what would say the same again: near-identical texts, too much of one file.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use mc_domain::SourceKind;

use super::Candidate;

/// Texts that share this much of their words (Jaccard) are one.
const SAME_TEXT: f32 = 0.9;
/// Shorter texts are one only when every word is the same: a single word can be their whole point.
const SHORT_TEXT_WORDS: usize = 12;

/// Keeps, in order, at most `limit` candidates.
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
        if max_per_file.is_some_and(|most| from_file >= most) {
            continue;
        }
        let source = candidate.passage.indexed.source;
        // Records that say the same were merged when they were saved: two that are left differ in
        // what counts, be it one number.
        let words = match source {
            SourceKind::Memory => HashSet::new(),
            _ => words(&candidate.passage.indexed.text),
        };
        // A dialog that repeats a document is not the document: only like is compared with like.
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

/// Hashes of the pairs of neighbouring words, case aside.
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
    let all = a.len() + b.len() - shared;
    if a.len().min(b.len()) < SHORT_TEXT_WORDS {
        return shared == all;
    }
    shared as f32 >= SAME_TEXT * all as f32
}

#[cfg(test)]
mod tests;
