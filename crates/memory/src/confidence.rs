//! Confidence that a passage, and a bundle as a whole, helps with a query: similarity, words, names
//! and path combined as a probability.

use mc_search::Hit;
use mc_search::names::has_name;
use mc_store::passages::IndexedPassage;

use crate::judge::ParsedNote;
use crate::judge::note::Word;
use crate::text::as_f32;

/// Cosine at which a passage is as likely about the query as not. Measured with the int8
/// all-MiniLM-L6-v2 on 20 notes of a web shop's team: 40 questions and the notes that answer them
/// have 0.32 to 0.84 (median 0.53), the nearest notes to 30 questions about other things of the
/// same shop 0.07 to 0.39 (median 0.20).
const COSINE_EVEN: f32 = 0.42;
/// How fast certainty grows around that cosine.
const COSINE_SLOPE: f32 = 0.06;
/// Most evidence from similarity alone.
const COSINE_WEIGHT: f32 = 0.80;
/// Most evidence from similarity in scripts that the default model was not trained on. It places
/// any two such texts near each other: in Russian, answered questions have 0.45 to 0.75, others
/// 0.54 to 0.69.
const COSINE_WEIGHT_FOREIGN: f32 = 0.15;
/// Most evidence from shared words alone.
const WORDS_WEIGHT: f32 = 0.75;
/// Exponent on the share of words: a few are shared by chance, so half of them is weak evidence.
const WORDS_EXPONENT: f32 = 1.5;
/// Evidence of a symbol of the query in the passage.
const SYMBOL_WEIGHT: f32 = 0.70;
/// Evidence of a signal of the query (`nil-delay`) in the passage.
const SIGNAL_WEIGHT: f32 = 0.45;
/// Relevance at which a record is as likely wanted as not, and how fast certainty grows around it,
/// from the reliability table of docs/retrieval.md.
const RELEVANCE_EVEN: f32 = 0.38;
const RELEVANCE_SLOPE: f32 = 0.12;
/// Weight of a mark (number, identifier), in words.
const MARK_WORDS: f32 = 2.5;

/// Names, words and scopes of a query, for the confidence in a bundle.
#[derive(Debug, Clone, Default)]
pub struct QueryFeatures {
    /// Free text and task title, parsed separately: a passage need only match one.
    pub texts: Vec<ParsedNote>,
    /// Symbols in lower case: qualified names and own names.
    pub symbols: Vec<String>,
    /// Symbols as the caller wrote them.
    pub named: Vec<String>,
    /// Issue ids, in lower case.
    pub issues: Vec<String>,
    /// Signals, each parsed.
    pub signals: Vec<ParsedNote>,
    /// Parts of the system, in lower case.
    pub scope: Vec<String>,
    /// File or directory.
    pub path: Option<String>,
    /// Whether the texts are mostly in Latin script, or have an English gloss.
    pub is_latin: bool,
    /// Whether the query asks where something is in code or documents, or how the code works.
    pub seeks_places: bool,
}

impl QueryFeatures {
    /// Returns the number of content words of a query without names, numbers, path and signals.
    pub fn bare_words(&self) -> Option<usize> {
        let has_names = !self.symbols.is_empty() || !self.signals.is_empty() || self.path.is_some();
        let is_bare = !has_names && self.texts.iter().all(|text| text.marks.is_empty());
        self.texts.iter().map(|text| text.words.len()).max().filter(|_| is_bare)
    }
}

/// Returns the evidence that code, a document or a dialog is about the query, 0 to 1.
pub fn evidence(features: &QueryFeatures, hit: &Hit) -> f32 {
    let indexed = &hit.passage.indexed;
    let IndexedPassage { title, text, location, tags, .. } = indexed;
    let note = ParsedNote::read(&format!("{title} {text} {location} {}", tags.join(" ")));
    let words = features.texts.iter().map(|part| coverage(part, &note)).fold(0.0, f32::max);
    let signals = features.signals.iter().map(|part| coverage(part, &note)).fold(0.0, f32::max);
    let cosine_weight = if features.is_latin && is_latin(&indexed.text) {
        COSINE_WEIGHT
    } else {
        COSINE_WEIGHT_FOREIGN
    };
    probability_of_any([
        cosine_weight * hit.similarity.map_or(0.0, likely),
        WORDS_WEIGHT * words.powf(WORDS_EXPONENT),
        SIGNAL_WEIGHT * signals,
        if names_symbol(features, indexed) { SYMBOL_WEIGHT } else { 0.0 },
    ])
}

/// Whether a passage mentions or defines a symbol of the query.
pub fn names_symbol(features: &QueryFeatures, indexed: &IndexedPassage) -> bool {
    let lower = indexed.text.to_lowercase();
    features.symbols.iter().any(|symbol| has_name(&lower, symbol))
        || indexed.symbols.iter().any(|own| features.symbols.contains(&own.to_lowercase()))
}

/// Whether a passage mentions an issue id of the query, or a word that looks like one.
pub fn names_issue(features: &QueryFeatures, indexed: &IndexedPassage) -> bool {
    if features.issues.is_empty() {
        return false;
    }
    let text = format!("{}\n{}", indexed.title, indexed.text).to_lowercase();
    features.issues.iter().any(|id| has_name(&text, id))
}

/// Returns the confidence of a bundle, 0 to 1: the best evidence of its items, raised by others.
pub fn confidence(mut evidence: Vec<f32>) -> f32 {
    const WEIGHTS: [f32; 3] = [0.95, 0.25, 0.15];
    evidence.sort_by(|a, b| b.total_cmp(a));
    probability_of_any(evidence.iter().zip(WEIGHTS).map(|(one, weight)| one * weight)).min(0.99)
}

/// Returns the probability that a caller wants a record of this relevance.
pub fn likely_relevant(relevance: f32) -> f32 {
    logistic((relevance - RELEVANCE_EVEN) / RELEVANCE_SLOPE)
}

/// Returns the probability that one of several independent signs is right.
fn probability_of_any(signs: impl IntoIterator<Item = f32>) -> f32 {
    1.0 - signs.into_iter().map(|sign| 1.0 - sign.clamp(0.0, 1.0)).product::<f32>()
}

fn likely(cosine: f32) -> f32 {
    logistic((cosine - COSINE_EVEN) / COSINE_SLOPE)
}

fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns the share of a query's words and marks that a passage has, 0 to 1. One word proves
/// little, so a query counts as at least two words.
fn coverage(features: &ParsedNote, passage: &ParsedNote) -> f32 {
    let has_word = |stem: &str| passage.words.iter().any(|word| word.stem == stem);
    let weigh = |words: usize, marks: usize| as_f32(words) + MARK_WORDS * as_f32(marks);
    let is_shared = |w: &&Word| has_word(&w.stem) || passage.spelled.contains(&w.written);
    let words = features.words.iter().filter(is_shared).count();
    let marks = features.marks.iter().filter(|mark| passage.spelled.contains(*mark)).count();
    let all = weigh(features.words.len(), features.marks.len()).max(2.0);
    weigh(words, marks) / all
}

/// Whether most letters are Latin.
pub fn is_latin(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (latin, other) = letters.fold((0_usize, 0_usize), |(latin, other), c| {
        if c < '\u{250}' { (latin + 1, other) } else { (latin, other + 1) }
    });
    latin >= other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_accumulates_below_one() {
        assert!((probability_of_any([0.5, 0.5]) - 0.75).abs() < 1e-6);
        assert!(confidence(vec![]) == 0.0);
        assert!(confidence(vec![1.0, 1.0, 1.0, 1.0]) <= 0.99);
        assert!(confidence(vec![0.6, 0.6]) > confidence(vec![0.6]));
    }

    #[test]
    fn similarity_counts_only_above_chance() {
        assert!(likely(0.2) < 0.03 && likely(0.65) > 0.97);
    }

    #[test]
    fn coverage_weighs_marks_more_than_words() {
        let passage = ParsedNote::read("decision E0123: the payments worker retries 3 times");
        assert!(coverage(&ParsedNote::read("why does E0123 retry"), &passage) > 0.9);
        assert!(coverage(&ParsedNote::read("E0124 retries"), &passage) < 0.4);
        assert!(coverage(&ParsedNote::read("worker"), &passage) <= 0.5);
    }
}
