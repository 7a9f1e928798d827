//! Translations of a program's texts: a project with twenty languages has each text twenty times,
//! and hardly any question is about them.

use std::collections::HashMap;

use mc_domain::PassageId;
use mc_domain::code_path::{is_translation, is_word_for_translations};
use mc_store::passages::Passage;

use super::Candidate;
use super::fusion::Fused;
use super::rerank::RankContext;
use crate::retrievers::Retriever;

/// Factor of a translation.
const FACTOR: f32 = 0.6;

/// Returns the factor of a translation, unless the query is about translations.
pub(super) fn factor(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let is_other = translated(&candidate.passage).is_none() || is_about_translations(&context.text);
    (!is_other).then_some(FACTOR)
}

/// Returns whether a query, in lower case, asks for translations.
pub(crate) fn is_about_translations(query: &str) -> bool {
    query.split(|c: char| !c.is_alphanumeric()).any(is_word_for_translations)
}

/// Replaces passages of the same texts in other languages by `further` ones: of the translations in
/// a directory, those of the file that was found first stay, and those that the query names.
/// Returns whether it replaced any.
pub(crate) fn replace_repeated(
    fused: &mut Vec<Fused>,
    further: &mut Vec<Fused>,
    passages: &HashMap<PassageId, Passage>,
) -> bool {
    let before = fused.len();
    let mut files: HashMap<&str, &str> = HashMap::new();
    fused.retain(|found| {
        let translated = passages.get(&found.id).and_then(translated);
        let is_named = found.retrievers.iter().any(|rank| rank.retriever == Retriever::Exact);
        translated.is_none_or(|(directory, file)| {
            *files.entry(directory).or_insert(file) == file || is_named
        })
    });
    let repeated = before - fused.len();
    fused.extend(further.drain(..repeated.min(further.len())));
    repeated > 0
}

/// Returns the directory and the name of a file of translations.
fn translated(passage: &Passage) -> Option<(&str, &str)> {
    passage.code.as_ref()?;
    let location = passage.indexed.location.as_str();
    is_translation(location).then(|| location.rsplit_once('/').unwrap_or(("", location)))
}

#[cfg(test)]
mod tests {
    use mc_domain::FileId;

    use super::*;
    use crate::rank::RetrieverRank;
    use crate::rank::fixtures;

    fn found(passage: &Passage, retriever: Retriever) -> Fused {
        let mut found = Fused::new(passage.indexed.id);
        found.add(RetrieverRank { retriever, rank: 1, score: 1.0, contribution: 1.0 });
        found
    }

    #[test]
    fn one_language_stays_and_other_passages_follow() {
        let locations = [
            "locales/de.yml",
            "locales/fr.yml",
            "a.rb",
            "locales/de.yml",
            "locales/it.yml",
            "b.rb",
        ];
        let passages = locations.map(|location| {
            let mut chunk = fixtures::chunk("text", FileId::generate()).passage;
            chunk.indexed.location = location.to_owned();
            chunk
        });
        let mut fused: Vec<_> =
            passages[..5].iter().map(|passage| found(passage, Retriever::Keyword)).collect();
        fused[4] = found(&passages[4], Retriever::Exact);
        let mut further = vec![found(&passages[5], Retriever::Keyword)];
        let ids = passages.each_ref().map(|passage| passage.indexed.id);
        let passages = passages.into_iter().map(|passage| (passage.indexed.id, passage)).collect();
        assert!(replace_repeated(&mut fused, &mut further, &passages));
        let left: Vec<_> = fused.iter().map(|found| found.id).collect();
        assert_eq!(left, [0, 2, 3, 4, 5].map(|index| ids[index]));
        assert!(!replace_repeated(&mut fused, &mut further, &passages), "none is left to replace");
    }

    #[test]
    fn words_tell_whether_a_query_is_about_translations() {
        assert!(is_about_translations("the german translation of the menu"));
        assert!(!is_about_translations("the menu of the wiki"));
    }
}
