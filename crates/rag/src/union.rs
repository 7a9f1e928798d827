//! Union of the results of all sub-queries.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mc_contract::operations::rag::MatchKind;
use mc_domain::RepositoryId;

use crate::retrieve::Results;
use crate::snippet::Snippet;

/// Share of the scores of further sub-queries that is added to that of the best one.
const FURTHER_SHARE: f32 = 0.1;
/// How much a document counts, compared with code: the caller writes code.
const DOCUMENT_WEIGHT: f32 = 0.5;

/// Merges the results by span, and sorts them, best first. A snippet keeps all its sub-queries.
///
/// A snippet that only the original query found keeps its score, so that the order of the search
/// stays unless a sub-query adds to it.
pub(crate) fn union(all: Vec<Results>) -> Vec<Snippet> {
    let mut merged: HashMap<(RepositoryId, String), Merged> = HashMap::new();
    for Results { sub_query, origin, snippets } in all {
        for mut snippet in snippets {
            let kind = if snippet.kind == MatchKind::Doc { DOCUMENT_WEIGHT } else { 1.0 };
            let score = snippet.score * origin.weight() * kind;
            snippet.sub_queries.insert(sub_query);
            let evidence = if origin.is_evidence() { score } else { 0.0 };
            match merged.entry((snippet.repository.id, snippet.span_hash.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(Merged { snippet, best: score, evidence });
                }
                Entry::Occupied(mut entry) => entry.get_mut().add(snippet, score, evidence),
            }
        }
    }
    let mut union: Vec<_> = merged.into_values().map(Merged::into_snippet).collect();
    sort(&mut union);
    union
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
    /// Best score.
    best: f32,
    /// Sum of the scores of the sub-queries that are evidence.
    evidence: f32,
}

impl Merged {
    fn add(&mut self, other: Snippet, score: f32, evidence: f32) {
        self.best = self.best.max(score);
        self.evidence += evidence;
        let evidence = &mut self.snippet.evidence;
        evidence.keyword = higher(evidence.keyword, other.evidence.keyword);
        evidence.similarity = higher(evidence.similarity, other.evidence.similarity);
        evidence.is_named |= other.evidence.is_named;
        self.snippet.sub_queries.extend(other.sub_queries);
    }

    fn into_snippet(self) -> Snippet {
        let score = self.best + FURTHER_SHARE * (self.evidence - self.best).max(0.0);
        Snippet { score, ..self.snippet }
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
    use crate::multi_query::Origin;
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
        let found = |path| code(&repository, path, 1, "x", 0.5);
        let part = Results {
            sub_query: 1,
            origin: Origin::Part,
            snippets: vec![found("a.rs"), found("b.rs")],
        };
        let whole =
            Results { sub_query: 0, origin: Origin::Original, snippets: vec![found("a.rs")] };
        for all in [[&part, &whole], [&whole, &part]] {
            let merged = union(all.map(Results::clone).into());
            let scores: Vec<_> = merged.iter().map(|s| (s.path.as_str(), s.score)).collect();
            assert_eq!(scores, [("a.rs", 0.5), ("b.rs", 0.5 * Origin::Part.weight())]);
        }
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
