//! How sure it is that a passage helps with a features, and a bundle as a whole: similarity,
//! words, names and place taken together as a probability.

use mc_search::Hit;
use mc_search::names::has_name;
use mc_store::passages::IndexedPassage;

use crate::judge::ParsedNote;

/// Cosine at which a passage is as likely about the features as not. Measured with the int8
/// all-MiniLM-L6-v2 on 20 notes of a web shop's team: 40 questions and the note that answers each
/// lie at 0.32 to 0.84 (median 0.53), the nearest notes to 30 questions about other things of the
/// same shop at 0.07 to 0.39 (median 0.20).
const COSINE_EVEN: f32 = 0.42;
/// How fast certainty grows around that point.
const COSINE_SLOPE: f32 = 0.06;
/// Most that similarity alone can say.
const COSINE_WEIGHT: f32 = 0.80;
/// Most that it can say of text in scripts that the default model was not trained on: there, any
/// two texts lie near each other (in Russian, answered questions at 0.45 to 0.75, others at 0.54
/// to 0.69).
const COSINE_WEIGHT_FOREIGN: f32 = 0.15;
/// Most that shared words alone can say.
const WORDS_WEIGHT: f32 = 0.75;
/// A few words of many are shared by chance: half of the words says a good deal less than half.
const WORDS_EXPONENT: f32 = 1.5;
/// What a symbol of the features, found in the passage, says.
const SYMBOL_WEIGHT: f32 = 0.70;
/// What a signal of the features (`nil-delay`), found in the passage, says.
const SIGNAL_WEIGHT: f32 = 0.45;
/// Relevance at which a record is as likely wanted as not, and how fast certainty grows around that
/// point: the reliability table of docs/retrieval.md.
const RELEVANCE_EVEN: f32 = 0.38;
const RELEVANCE_SLOPE: f32 = 0.12;
/// A mark (number, identifier) among the words weighs as much as this many words.
const MARK_WORDS: f32 = 2.5;

/// A features, taken apart.
#[derive(Debug, Clone, Default)]
pub struct QueryFeatures {
    /// Free text and task title, each on its own: a passage need only speak of one.
    pub texts: Vec<ParsedNote>,
    /// Symbols, in lower case: qualified names and the part after the last separator.
    pub symbols: Vec<String>,
    /// Symbols as they were given.
    pub named: Vec<String>,
    /// Ids of issues, in lower case.
    pub issues: Vec<String>,
    /// Signals, each taken apart.
    pub signals: Vec<ParsedNote>,
    /// Parts of the system, in lower case.
    pub scope: Vec<String>,
    /// File or folder.
    pub path: Option<String>,
    /// Whether the texts are mostly in Latin script, or are read in it.
    pub is_latin: bool,
    /// Whether it asks where something stands in code or documents, or how the code does it.
    pub seeks_places: bool,
}

impl QueryFeatures {
    /// How many content words it has where it has nothing else: no name, number, place or signal.
    pub fn bare_words(&self) -> Option<usize> {
        let has_names = !self.symbols.is_empty() || !self.signals.is_empty() || self.path.is_some();
        let is_bare = !has_names && self.texts.iter().all(|text| text.marks.is_empty());
        self.texts.iter().map(|text| text.words.len()).max().filter(|_| is_bare)
    }
}

/// How sure it is that a piece of code, a document or a dialog is about the features, 0 to 1.
pub fn evidence(features: &QueryFeatures, hit: &Hit) -> f32 {
    let indexed = &hit.passage.indexed;
    let text = format!(
        "{} {} {} {}",
        indexed.title,
        indexed.text,
        indexed.location,
        indexed.tags.join(" ")
    );
    let note = ParsedNote::read(&text);
    let words = features.texts.iter().map(|part| coverage(part, &note)).fold(0.0, f32::max);
    let signals = features.signals.iter().map(|part| coverage(part, &note)).fold(0.0, f32::max);
    let names_symbol = names_symbol(features, indexed);
    let cosine_weight = if features.is_latin && is_latin(&indexed.text) {
        COSINE_WEIGHT
    } else {
        COSINE_WEIGHT_FOREIGN
    };
    any_of([
        cosine_weight * hit.similarity.map_or(0.0, likely),
        WORDS_WEIGHT * words.powf(WORDS_EXPONENT),
        SIGNAL_WEIGHT * signals,
        if names_symbol { SYMBOL_WEIGHT } else { 0.0 },
    ])
}

/// Whether a passage speaks of a symbol of the features, or defines it.
pub fn names_symbol(features: &QueryFeatures, indexed: &IndexedPassage) -> bool {
    let lower = indexed.text.to_lowercase();
    features.symbols.iter().any(|symbol| has_name(&lower, symbol))
        || indexed.symbols.iter().any(|own| features.symbols.contains(&own.to_lowercase()))
}

/// Whether a passage speaks of an issue of the features, or of what merely looks like the id of
/// one.
pub fn names_issue(features: &QueryFeatures, indexed: &IndexedPassage) -> bool {
    if features.issues.is_empty() {
        return false;
    }
    let text = format!("{}\n{}", indexed.title, indexed.text).to_lowercase();
    features.issues.iter().any(|id| has_name(&text, id))
}

/// Confidence of a bundle with this evidence behind its items: mostly the best, raised a little
/// where others agree. 0 to 1.
pub fn confidence(mut evidence: Vec<f32>) -> f32 {
    const WEIGHTS: [f32; 3] = [0.95, 0.25, 0.15];
    evidence.sort_by(|a, b| b.total_cmp(a));
    any_of(evidence.iter().zip(WEIGHTS).map(|(one, weight)| one * weight)).min(0.99)
}

/// How likely a record of this relevance is one that the asker wants to read.
pub fn likely_relevant(relevance: f32) -> f32 {
    1.0 / (1.0 + (-(relevance - RELEVANCE_EVEN) / RELEVANCE_SLOPE).exp())
}

/// The probability that one of several independent signs is right.
fn any_of(signs: impl IntoIterator<Item = f32>) -> f32 {
    1.0 - signs.into_iter().map(|sign| 1.0 - sign.clamp(0.0, 1.0)).product::<f32>()
}

fn likely(cosine: f32) -> f32 {
    1.0 / (1.0 + (-(cosine - COSINE_EVEN) / COSINE_SLOPE).exp())
}

/// The share of a features's words and marks that a passage has, 0 to 1. A single word proves
/// little, so questions count as at least two words long.
fn coverage(features: &ParsedNote, passage: &ParsedNote) -> f32 {
    let has_word = |stem: &str| passage.words.iter().any(|word| word.stem == stem);
    let weigh = |words: usize, marks: usize| small(words) + MARK_WORDS * small(marks);
    let words = features
        .words
        .iter()
        .filter(|w| has_word(&w.stem) || passage.spelled.contains(&w.written))
        .count();
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

fn small(n: usize) -> f32 {
    f32::from(u16::try_from(n).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_add_up_and_stay_below_one() {
        assert!((any_of([0.5, 0.5]) - 0.75).abs() < 1e-6);
        assert!(confidence(vec![]) == 0.0);
        assert!(confidence(vec![1.0, 1.0, 1.0, 1.0]) <= 0.99);
        assert!(confidence(vec![0.6, 0.6]) > confidence(vec![0.6]));
    }

    #[test]
    fn similarity_speaks_only_above_chance() {
        assert!(likely(0.2) < 0.03 && likely(0.65) > 0.97);
    }

    #[test]
    fn coverage_counts_marks_more_and_one_word_little() {
        let passage = ParsedNote::read("decision E0123: the payments worker retries 3 times");
        assert!(coverage(&ParsedNote::read("why does E0123 retry"), &passage) > 0.9);
        assert!(coverage(&ParsedNote::read("E0124 retries"), &passage) < 0.4);
        assert!(coverage(&ParsedNote::read("worker"), &passage) <= 0.5);
    }
}
