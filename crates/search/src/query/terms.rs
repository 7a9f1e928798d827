//! Terms of a query with their weights.

use std::collections::{HashMap, HashSet};

use crate::analyzer::{Lexeme, TermKind, analyze, is_stop_word};

/// Weighted term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// Term of the analyzer.
    pub text: String,
    /// Factor of its BM25 score.
    pub weight: f32,
}

/// Maximum number of occurrences of a word that increase its weight.
const MAX_REPEATS: f32 = 3.0;

fn weight(kind: TermKind) -> f32 {
    match kind {
        TermKind::Word | TermKind::Bigram | TermKind::Compound => 1.0,
        // Low, because the stem scores as well; it prefers passages with the same form.
        TermKind::Surface => 0.3,
        TermKind::Part => 0.6,
        TermKind::Identifier => 1.5,
    }
}

/// Returns the distinct significant terms of a text, highest weight first. Stop words are excluded,
/// unless they are parts of identifiers or the text has no other words.
pub fn significant_terms(text: &str) -> Vec<QueryTerm> {
    let lexemes = analyze(text);
    let terms = merge(without_stop_words(&lexemes));
    if terms.is_empty() { merge(lexemes.iter()) } else { terms }
}

/// Returns whether a text has only stop words.
pub fn has_only_stop_words(text: &str) -> bool {
    without_stop_words(&analyze(text)).next().is_none()
}

/// Excludes the stop words, except in identifiers.
fn without_stop_words(lexemes: &[Lexeme]) -> impl Iterator<Item = &Lexeme> {
    // A stop word is recognized by its surface form; its stem has the same position.
    let stop_positions: Vec<usize> = lexemes
        .iter()
        .filter(|l| matches!(l.kind, TermKind::Word | TermKind::Surface) && is_stop_word(&l.text))
        .map(|l| l.position)
        .collect();
    lexemes.iter().filter(move |l| {
        !(is_prose(l.kind, lexemes, l.position)
            && stop_positions.binary_search(&l.position).is_ok())
    })
}

/// Returns the [`significant_terms`] without surface forms, to ignore inflection.
pub fn stem_terms(text: &str) -> Vec<QueryTerm> {
    let lexemes = analyze(text);
    let stems = lexemes.iter().filter(|lexeme| lexeme.kind != TermKind::Surface);
    let stems: HashSet<&str> = stems.map(|lexeme| lexeme.text.as_str()).collect();
    let mut terms = significant_terms(text);
    terms.retain(|term| stems.contains(term.text.as_str()));
    terms
}

/// Returns the term of a single word.
pub fn word_term(word: &str) -> Option<QueryTerm> {
    stem_terms(word).into_iter().next()
}

/// Returns the term of a compound name (`SHOP-12`) as a whole; `None` for a single word.
pub fn compound_term(name: &str) -> Option<QueryTerm> {
    let compound = analyze(name).into_iter().find(|lexeme| lexeme.kind == TermKind::Compound)?;
    Some(QueryTerm { text: compound.text, weight: weight(TermKind::Compound) })
}

/// Returns all distinct terms of a text, including stop words.
pub fn all_terms(text: &str) -> Vec<QueryTerm> {
    merge(analyze(text).iter())
}

/// Returns whether a term belongs to a word of prose, not of an identifier.
fn is_prose(kind: TermKind, lexemes: &[Lexeme], position: usize) -> bool {
    match kind {
        TermKind::Word => true,
        TermKind::Surface => {
            let from = lexemes.partition_point(|l| l.position < position);
            lexemes[from..]
                .iter()
                .take_while(|l| l.position == position)
                .any(|l| l.kind == TermKind::Word)
        }
        _ => false,
    }
}

/// Merges equal terms, and sorts them by weight in descending order.
fn merge<'a>(lexemes: impl Iterator<Item = &'a Lexeme>) -> Vec<QueryTerm> {
    let mut weights: HashMap<&str, (f32, f32)> = HashMap::new();
    for lexeme in lexemes {
        let weight = weight(lexeme.kind);
        let entry = weights.entry(&lexeme.text).or_default();
        entry.0 = entry.0.max(weight);
        entry.1 += 1.0;
    }
    let term = |(text, (weight, repeats)): (&str, (f32, f32))| QueryTerm {
        text: text.to_owned(),
        weight: weight * repeats.min(MAX_REPEATS).sqrt(),
    };
    let mut terms: Vec<_> = weights.into_iter().map(term).collect();
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(query: &str) -> Vec<String> {
        significant_terms(query).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn stop_words_of_prose_are_excluded() {
        assert_eq!(texts("what is the invoice"), ["invoic", "invoice"]);
        assert_eq!(texts("где это хранится счёт"), ["счет", "хран", "хранится"]);
    }

    #[test]
    fn stop_words_in_identifiers_are_kept() {
        let terms = texts("trigger_delay_time_in_minutes");
        assert_eq!(terms[0], "trigger_delay_time_in_minutes", "the whole name weighs most");
        assert!(terms.contains(&"in".to_owned()), "{terms:?}");
        assert!(texts("is_a?").contains(&"is_a".to_owned()));
    }

    #[test]
    fn query_of_only_stop_words_keeps_them() {
        assert!(texts("who is who").contains(&"who".to_owned()));
    }

    #[test]
    fn compound_id_is_one_term_and_a_number_is_none() {
        let compound = |id| compound_term(id).map(|term| term.text);
        assert_eq!(compound("SHOP-12").as_deref(), Some("shop-12"));
        assert_eq!(compound("acme/shop#12").as_deref(), Some("acme/shop#12"));
        assert_eq!(compound("#12"), None);
    }

    #[test]
    fn repeated_words_increase_the_weight_less_than_linearly() {
        let once = significant_terms("cart")[0].weight;
        let often = significant_terms("cart cart cart cart cart cart cart cart")[0].weight;
        assert!(often > once && often < 2.0 * once);
    }
}
