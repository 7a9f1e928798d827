//! The terms of a query and how much each counts.

use std::collections::{HashMap, HashSet};

use crate::analyzer::{Lexeme, TermKind, analyse, is_stop_word};

/// A term to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// As the analyser gives it.
    pub text: String,
    /// What its BM25 score is multiplied by.
    pub weight: f32,
}

/// A word said more than once counts more, up to this.
const MAX_REPEATS: f32 = 3.0;

fn weight(kind: TermKind) -> f32 {
    match kind {
        TermKind::Word | TermKind::Bigram | TermKind::Compound => 1.0,
        // The stem scores as well; this lifts the passage that has the very form.
        TermKind::Surface => 0.3,
        TermKind::Part => 0.6,
        TermKind::Identifier => 1.5,
    }
}

/// The distinct terms of a text, heaviest first. Stop words of prose are left out unless nothing
/// else is there; parts of identifiers never are.
pub fn telling_terms(text: &str) -> Vec<QueryTerm> {
    let lexemes = analyse(text);
    let terms = merged(telling(&lexemes));
    if terms.is_empty() { merged(lexemes.iter()) } else { terms }
}

/// Whether a text is made of stop words alone.
pub fn is_of_stop_words(text: &str) -> bool {
    telling(&analyse(text)).next().is_none()
}

/// All but the stop words of prose.
fn telling(lexemes: &[Lexeme]) -> impl Iterator<Item = &Lexeme> {
    // A stop word is told by its surface form; its stem shares the position.
    let stopped: Vec<usize> = lexemes
        .iter()
        .filter(|l| matches!(l.kind, TermKind::Word | TermKind::Surface) && is_stop_word(&l.text))
        .map(|l| l.position)
        .collect();
    lexemes.iter().filter(move |l| {
        !(is_prose(l.kind, lexemes, l.position) && stopped.binary_search(&l.position).is_ok())
    })
}

/// Those of [`telling_terms`] that a text is compared by with others, however each inflects its
/// words.
pub fn stem_terms(text: &str) -> Vec<QueryTerm> {
    let lexemes = analyse(text);
    let stems = lexemes.iter().filter(|lexeme| lexeme.kind != TermKind::Surface);
    let known: HashSet<&str> = stems.map(|lexeme| lexeme.text.as_str()).collect();
    let mut terms = telling_terms(text);
    terms.retain(|term| known.contains(term.text.as_str()));
    terms
}

/// The term of a word that is not of the text itself.
pub fn word_term(word: &str) -> Option<QueryTerm> {
    stem_terms(word).into_iter().next()
}

/// The term of what is joined of several (`SHOP-12`), as a whole; none of a single word.
pub fn whole_term(name: &str) -> Option<QueryTerm> {
    let whole = analyse(name).into_iter().find(|lexeme| lexeme.kind == TermKind::Compound)?;
    Some(QueryTerm { text: whole.text, weight: weight(TermKind::Compound) })
}

/// Those of [`telling_terms`] and the stop words.
pub fn all_terms(text: &str) -> Vec<QueryTerm> {
    merged(analyse(text).iter())
}

/// Whether a term belongs to a word that stands by itself.
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

/// Each term once, heaviest first.
fn merged<'a>(lexemes: impl Iterator<Item = &'a Lexeme>) -> Vec<QueryTerm> {
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
        telling_terms(query).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn stop_words_of_prose_say_nothing() {
        assert_eq!(texts("what is the invoice"), ["invoic", "invoice"]);
        assert_eq!(texts("где это хранится счёт"), ["счет", "хран", "хранится"]);
    }

    #[test]
    fn stop_words_in_identifiers_stay() {
        let terms = texts("trigger_delay_time_in_minutes");
        assert_eq!(terms[0], "trigger_delay_time_in_minutes", "the whole name weighs most");
        assert!(terms.contains(&"in".to_owned()), "{terms:?}");
        assert!(texts("is_a?").contains(&"is_a".to_owned()));
    }

    #[test]
    fn a_query_of_stop_words_keeps_them() {
        assert!(texts("who is who").contains(&"who".to_owned()));
    }

    #[test]
    fn the_whole_of_an_id_is_one_term_and_a_number_is_none() {
        let whole = |id| whole_term(id).map(|term| term.text);
        assert_eq!(whole("SHOP-12").as_deref(), Some("shop-12"));
        assert_eq!(whole("acme/shop#12").as_deref(), Some("acme/shop#12"));
        assert_eq!(whole("#12"), None);
    }

    #[test]
    fn repetition_counts_less_each_time() {
        let once = telling_terms("cart")[0].weight;
        let often = telling_terms("cart cart cart cart cart cart cart cart")[0].weight;
        assert!(often > once && often < 2.0 * once);
    }
}
