//! Fusion of the retrievers' results: scores are normalized and added (a convex combination).
//!
//! Reciprocal rank fusion uses only the ranks, and so loses how much better one hit is than the
//! next. docs/retrieval.md compares both.

use std::collections::HashMap;

use mc_domain::PassageId;

use super::RetrieverRank;
use crate::retrievers::{RankedList, Retriever};

/// Returns the fused score of the best hit of a retriever.
pub const fn retriever_weight(retriever: Retriever) -> f32 {
    match retriever {
        Retriever::Keyword => 1.0,
        Retriever::Vector => 0.5,
        // For a mentioned name; the reranking moves a requested name to the top.
        Retriever::Exact => 0.3,
        // A share of the best score of the other retrievers.
        Retriever::History => 0.4,
    }
}

/// Share of the weight for the last hit of the exact retriever, as every match counts.
pub const MIN_EXACT_SHARE: f32 = 0.5;

/// Passage with the results of the retrievers.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// Id of the passage.
    pub id: PassageId,
    /// Ranks, in the order of the retrievers.
    pub retrievers: Vec<RetrieverRank>,
    /// Sum of the contributions.
    pub score: f32,
}

impl Fused {
    /// Creates a passage that no retriever has found yet.
    pub fn new(id: PassageId) -> Self {
        Self { id, retrievers: Vec::new(), score: 0.0 }
    }

    /// Adds the result of a retriever.
    pub fn add(&mut self, rank: RetrieverRank) {
        self.score += rank.contribution;
        self.retrievers.push(rank);
    }
}

/// Merges the lists and sorts them.
pub fn fuse(lists: &[(Retriever, RankedList)]) -> Vec<Fused> {
    let mut fused: HashMap<PassageId, Fused> = HashMap::new();
    for (retriever, list) in lists {
        let scale = Scale::new(*retriever, list);
        for (index, &(id, score)) in list.iter().enumerate() {
            let contribution = retriever_weight(*retriever) * scale.normalize(score);
            let entry = fused.entry(id).or_insert_with(|| Fused::new(id));
            entry.add(RetrieverRank {
                retriever: *retriever,
                rank: index + 1,
                score,
                contribution,
            });
        }
    }
    let mut fused: Vec<Fused> = fused.into_values().collect();
    sort(&mut fused);
    fused
}

/// Sorts by score, best first. Equal scores are sorted by id, newest first.
pub fn sort(fused: &mut [Fused]) {
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.id.cmp(&a.id)));
}

/// Normalization of a retriever's scores to 0 .. 1.
struct Scale {
    /// Score that counts as 0.
    zero: f32,
    /// Best score, which counts as 1.
    best: f32,
    /// Minimum result.
    min: f32,
}

impl Scale {
    fn new(retriever: Retriever, list: &RankedList) -> Self {
        let scores = || list.iter().map(|(_, score)| *score);
        let best = scores().fold(f32::NEG_INFINITY, f32::max);
        let (zero, min) = match retriever {
            // No common word scores 0.
            Retriever::Keyword | Retriever::History => (0.0, 0.0),
            // The similarity of unrelated texts depends on the model, so the last hit counts as 0.
            Retriever::Vector => (scores().fold(f32::INFINITY, f32::min), 0.0),
            Retriever::Exact => (0.0, MIN_EXACT_SHARE),
        };
        Self { zero, best, min }
    }

    fn normalize(&self, score: f32) -> f32 {
        let range = self.best - self.zero;
        let share = if range > 0.0 { (score - self.zero) / range } else { 1.0 };
        self.min + (1.0 - self.min) * share.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> PassageId {
        PassageId(uuid::Uuid::from_u128(n))
    }

    fn near(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn differences_of_scores_affect_the_fused_order() {
        let keyword = vec![(id(1), 20.0), (id(2), 18.0), (id(3), 2.0)];
        let vector = vec![(id(3), 0.9), (id(2), 0.8), (id(1), 0.1)];
        let fused = fuse(&[(Retriever::Keyword, keyword), (Retriever::Vector, vector)]);
        let order: Vec<_> = fused.iter().map(|f| f.id).collect();
        assert_eq!(order, [id(2), id(1), id(3)], "close to the first in both");
        assert!(near(fused[0].score, 0.9 + 0.5 * 0.875));
        assert_eq!((fused[0].retrievers[1].rank, fused[0].retrievers[1].score), (2, 0.8));
        assert!(near(
            fused[0].retrievers.iter().map(|found| found.contribution).sum(),
            fused[0].score
        ));
    }

    #[test]
    fn single_retriever_keeps_its_order() {
        let keyword: RankedList = (1..=9).map(|n| (id(n), 10.0 - n as f32)).collect();
        let fused = fuse(&[(Retriever::Keyword, keyword.clone())]);
        let expected: Vec<_> = keyword.iter().map(|(id, _)| *id).collect();
        assert_eq!(fused.iter().map(|f| f.id).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn equal_scores_get_the_full_weight() {
        let fused = fuse(&[(Retriever::Vector, vec![(id(1), 0.4), (id(2), 0.4)])]);
        assert!(fused.iter().all(|f| near(f.score, retriever_weight(Retriever::Vector))));
    }

    #[test]
    fn last_exact_hit_keeps_its_minimum_share() {
        let fused = fuse(&[(Retriever::Exact, vec![(id(1), 10_000.0), (id(2), 1.0)])]);
        assert!(fused[1].score >= retriever_weight(Retriever::Exact) * MIN_EXACT_SHARE);
    }
}
