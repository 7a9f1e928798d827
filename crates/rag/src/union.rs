//! Union of the results of all sub-queries.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mc_contract::operations::rag::MatchKind;
use mc_domain::RepositoryId;

use crate::multi_query::Origin;
use crate::retrieve::Results;
use crate::snippet::Snippet;

/// Share of the scores of further sub-queries that is added to that of the best one.
const FURTHER_SHARE: f32 = 0.1;
/// How much a document counts, compared with code: the caller writes code.
const DOCUMENT_WEIGHT: f32 = 0.5;

/// Merges the results by span, and sorts them, best first. A snippet keeps all its sub-queries.
///
/// Code that only the original query found keeps its score. Further whole sub-queries raise a
/// score; parts only add snippets.
pub(crate) fn union(all: Vec<Results>) -> Vec<Snippet> {
    let originals = all.iter().filter(|results| results.origin == Origin::Original);
    let best = originals.flat_map(|results| &results.snippets).map(score_by_kind).reduce(f32::max);
    let mut merged: HashMap<(RepositoryId, String), Merged> = HashMap::new();
    for Results { sub_query, origin, snippets } in all {
        for mut snippet in snippets {
            // A query of one word, such as a name, has scores that are hundreds of times as high.
            let score = score_by_kind(&snippet).min(best.unwrap_or(f32::MAX)) * origin.weight();
            snippet.sub_queries.insert(sub_query);
            match merged.entry((snippet.repository.id, snippet.span_hash.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(Merged::new(snippet, score, origin));
                }
                Entry::Occupied(mut entry) => entry.get_mut().add(snippet, score, origin),
            }
        }
    }
    let mut union: Vec<_> = merged.into_values().map(Merged::into_snippet).collect();
    sort(&mut union);
    union
}

fn score_by_kind(snippet: &Snippet) -> f32 {
    let weight = if snippet.kind == MatchKind::Doc { DOCUMENT_WEIGHT } else { 1.0 };
    snippet.score * weight
}

/// Sorts by score, best first; equal ones by their places, so that the order is always the same.
/// Returns whether the order changed.
pub(crate) fn sort(snippets: &mut [Snippet]) -> bool {
    let order = |a: &Snippet, b: &Snippet| {
        let by_place = || (&a.path, a.line_start).cmp(&(&b.path, b.line_start));
        b.score.total_cmp(&a.score).then_with(by_place)
    };
    let was_sorted = snippets.is_sorted_by(|a, b| order(a, b).is_le());
    snippets.sort_by(order);
    !was_sorted
}

struct Merged {
    snippet: Snippet,
    /// Best score of a whole query.
    best: Option<f32>,
    /// Sum of the scores of whole queries.
    sum: f32,
    /// Best score of a part, which counts if no whole query found the snippet.
    best_of_parts: f32,
}

impl Merged {
    fn new(snippet: Snippet, score: f32, origin: Origin) -> Self {
        let mut merged = Self { snippet, best: None, sum: 0.0, best_of_parts: 0.0 };
        merged.add_score(score, origin);
        merged
    }

    fn add_score(&mut self, score: f32, origin: Origin) {
        if origin.is_whole() {
            self.best = Some(self.best.map_or(score, |best| best.max(score)));
            self.sum += score;
        } else {
            self.best_of_parts = self.best_of_parts.max(score);
        }
    }

    fn add(&mut self, other: Snippet, score: f32, origin: Origin) {
        self.add_score(score, origin);
        let evidence = &mut self.snippet.evidence;
        evidence.keyword = higher(evidence.keyword, other.evidence.keyword);
        evidence.similarity = higher(evidence.similarity, other.evidence.similarity);
        evidence.is_named |= other.evidence.is_named;
        self.snippet.sub_queries.extend(other.sub_queries);
    }

    fn into_snippet(self) -> Snippet {
        let of_whole = self.best.map(|best| best + FURTHER_SHARE * (self.sum - best));
        Snippet { score: of_whole.unwrap_or(self.best_of_parts), ..self.snippet }
    }
}

fn higher(a: Option<f32>, b: Option<f32>) -> Option<f32> {
    a.into_iter().chain(b).reduce(f32::max)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::snippet::fixtures::{code, repository};

    const ORIGINS: [Origin; 3] = [Origin::Original, Origin::Variant, Origin::Part];

    #[test]
    fn order_of_the_original_query_stays() {
        let repository = repository("shop");
        let snippets: Vec<_> = [0.9, 0.5, 0.2]
            .iter()
            .map(|score| code(&repository, &format!("{score}.rs"), 1, "x", *score))
            .collect();
        let paths: Vec<_> = snippets.iter().map(|snippet| snippet.path.clone()).collect();
        let merged = union(vec![Results { sub_query: 0, origin: Origin::Original, snippets }]);
        assert_eq!(merged.iter().map(|s| s.path.clone()).collect::<Vec<_>>(), paths);
        assert!((merged[0].score - 0.9).abs() < f32::EPSILON);
    }

    #[test]
    fn snippet_of_two_sub_queries_is_one_with_both() {
        let repository = repository("shop");
        let snippet = |score| vec![code(&repository, "a.rs", 1, "x", score)];
        let merged = union(vec![
            Results { sub_query: 0, origin: Origin::Original, snippets: snippet(0.5) },
            Results { sub_query: 2, origin: Origin::Variant, snippets: snippet(0.5) },
        ]);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].sub_queries, BTreeSet::from([0, 2]));
        assert!((merged[0].score - 0.53).abs() < 1e-6, "{}", merged[0].score);
    }

    #[test]
    fn part_adds_snippets_and_raises_none() {
        let repository = repository("shop");
        let found = |path, score| code(&repository, path, 1, "x", score);
        let part = || Results {
            sub_query: 1,
            origin: Origin::Part,
            snippets: vec![found("a.rs", 0.5), found("b.rs", 0.5)],
        };
        let whole = || Results {
            sub_query: 0,
            origin: Origin::Original,
            snippets: vec![found("c.rs", 0.5), found("a.rs", 0.01)],
        };
        for all in [[part(), whole()], [whole(), part()]] {
            let merged = union(all.into());
            let scores: Vec<_> = merged.iter().map(|s| (s.path.as_str(), s.score)).collect();
            let of_part = 0.5 * Origin::Part.weight();
            assert_eq!(scores, [("c.rs", 0.5), ("b.rs", of_part), ("a.rs", 0.01)]);
        }
    }

    #[test]
    fn scores_of_a_sub_query_are_at_most_those_of_the_original() {
        let repository = repository("shop");
        let found = |path, score| code(&repository, path, 1, "x", score);
        let results = |sub_query, origin, snippets| Results { sub_query, origin, snippets };
        let scores = |original| -> Vec<_> {
            let variant = vec![found("b.rs", 40.0), found("c.rs", 0.4)];
            let variant = results(1, Origin::Variant, variant);
            let merged = union(vec![variant, results(0, Origin::Original, original)]);
            merged.into_iter().map(|s| (s.path, s.score)).collect()
        };
        let weight = Origin::Variant.weight();
        let of = |path: &str, score| (path.to_owned(), score);
        let expected = [of("a.rs", 0.5), of("b.rs", 0.5 * weight), of("c.rs", 0.4 * weight)];
        assert_eq!(scores(vec![found("a.rs", 0.5)]), expected);
        let alone = [of("b.rs", 40.0 * weight), of("c.rs", 0.4 * weight)];
        assert_eq!(scores(Vec::new()), alone, "there is nothing to compare with");
    }

    proptest! {
        #[test]
        fn union_has_every_span_once_and_is_sorted(
            found in prop::collection::vec((0_usize..3, 0_i32..12, 0.0_f32..2.0), 0..60)
        ) {
            let repository = repository("shop");
            let mut all: Vec<_> = ORIGINS
                .iter()
                .enumerate()
                .map(|(sub_query, origin)| Results {
                    sub_query,
                    origin: *origin,
                    snippets: Vec::new(),
                })
                .collect();
            let mut expected: HashMap<i32, BTreeSet<usize>> = HashMap::new();
            for (sub_query, line, score) in &found {
                let mut snippet = code(&repository, "a.rs", *line + 1, "x", *score);
                snippet.sub_queries.clear();
                all[*sub_query].snippets.push(snippet);
                expected.entry(*line + 1).or_default().insert(*sub_query);
            }
            let merged = union(all);
            prop_assert_eq!(merged.len(), expected.len());
            for snippet in &merged {
                prop_assert_eq!(&snippet.sub_queries, &expected[&snippet.line_start]);
            }
            prop_assert!(merged.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}
