//! Translations of a program's texts: a project with twenty languages has each text twenty times,
//! and hardly any question is about them.

use std::collections::HashMap;
use std::hash::BuildHasher;

use mc_domain::code_path::{is_word_for_translations, translated_path};
use mc_domain::{PassageId, RepositoryId};
use mc_store::passages::Passage;

use super::Candidate;
use super::fusion::Fused;
use super::rerank::RankContext;
use crate::retrievers::Retriever;

/// Factor of a translation.
const FACTOR: f32 = 0.6;

/// Returns the factor of a translation, unless the query names it or is about translations.
pub(super) fn factor(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    // Most passages are no translation, and then the words of the query don't matter.
    translated(&candidate.passage)?;
    let is_named = candidate.retriever_score(Retriever::Exact).is_some();
    (!is_named && !is_about_translations(&context.text)).then_some(FACTOR)
}

/// Returns whether a query, in lower case, asks for translations.
pub(crate) fn is_about_translations(query: &str) -> bool {
    query.split(|c: char| !c.is_alphanumeric()).any(is_word_for_translations)
}

/// Removes passages of the same texts in other languages: those of the file that was found first
/// stay, and those that the query names. Returns how many it removed.
pub(crate) fn remove_repeated<S: BuildHasher>(
    fused: &mut Vec<Fused>,
    passages: &HashMap<PassageId, Passage, S>,
) -> usize {
    let before = fused.len();
    let mut files: HashMap<(RepositoryId, String), &str> = HashMap::new();
    fused.retain(|found| {
        let passage = passages.get(&found.id);
        let Some((passage, key)) = passage.and_then(|each| Some((each, translated(each)?))) else {
            return true;
        };
        let location = passage.indexed.location.as_str();
        let is_named = found.retrievers.iter().any(|rank| rank.retriever == Retriever::Exact);
        *files.entry(key).or_insert(location) == location || is_named
    });
    before - fused.len()
}

/// Returns what a translation has in common with those in other languages.
fn translated(passage: &Passage) -> Option<(RepositoryId, String)> {
    let code = passage.code.as_ref()?;
    Some((code.repository_id, translated_path(&passage.indexed.location)?))
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
    fn one_language_of_the_same_texts_stays() {
        let locations = [
            "locales/de.yml",
            "locales/fr.yml",
            "a.rb",
            "locales/de.yml",
            "locales/it.yml",
            "b.rb",
        ];
        let repository = RepositoryId::generate();
        let passages = locations.map(|location| {
            let mut chunk = fixtures::chunk("text", FileId::generate()).passage;
            chunk.indexed.location = location.to_owned();
            if let Some(code) = &mut chunk.code {
                code.repository_id = repository;
            }
            chunk
        });
        let mut fused: Vec<_> =
            passages.iter().map(|passage| found(passage, Retriever::Keyword)).collect();
        fused[4] = found(&passages[4], Retriever::Exact);
        let ids = passages.each_ref().map(|passage| passage.indexed.id);
        let passages: HashMap<_, _> =
            passages.into_iter().map(|passage| (passage.indexed.id, passage)).collect();
        assert_eq!(remove_repeated(&mut fused, &passages), 1);
        let left: Vec<_> = fused.iter().map(|found| found.id).collect();
        assert_eq!(left, [0, 2, 3, 4, 5].map(|index| ids[index]));
    }

    #[test]
    fn words_tell_whether_a_query_is_about_translations() {
        assert!(is_about_translations("the german translation of the menu"));
        assert!(is_about_translations("где переводы меню"));
        assert!(!is_about_translations("the menu of the wiki"));
    }
}
