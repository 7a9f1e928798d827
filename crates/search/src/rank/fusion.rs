//! Fusion of the retrievers' lists: scores brought to one scale and added (a convex combination).
//!
//! Ranks alone (reciprocal rank fusion) lose how much better the first hit is than the second,
//! which is most of what a retriever knows; docs/retrieval.md has both side by side.

use std::collections::HashMap;

use mc_domain::PassageId;

use super::LegRank;
use crate::retrievers::{RankedList, Retriever};

/// What the best hit of a retriever counts.
pub const fn leg_weight(retriever: Retriever) -> f32 {
    match retriever {
        Retriever::Keyword => 1.0,
        Retriever::Vector => 0.5,
        // A name in passing; for one that is meant the rerank sees to its place.
        Retriever::Exact => 0.3,
        // Of the best score that the others give together.
        Retriever::History => 0.4,
    }
}

/// What the last hit of the exact retriever keeps of that weight: that a name points at it counts,
/// and not only how it stands among others.
pub const LEAST_EXACT: f32 = 0.5;

/// A passage with what the retrievers say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The passage.
    pub id: PassageId,
    /// In the order of the retrievers given.
    pub retrievers: Vec<LegRank>,
    /// Sum of what the retrievers give.
    pub score: f32,
}

/// Merges the lists, best first; equal scores are ordered by id, newest first.
pub fn fuse(lists: &[(Retriever, RankedList)]) -> Vec<Fused> {
    let mut fused: HashMap<PassageId, Fused> = HashMap::new();
    for (retriever, list) in lists {
        let scale = Scale::of(*retriever, list);
        for (index, &(id, score)) in list.iter().enumerate() {
            let share = leg_weight(*retriever) * scale.share(score);
            let entry =
                fused.entry(id).or_insert_with(|| Fused { id, retrievers: Vec::new(), score: 0.0 });
            entry.retrievers.push(LegRank {
                retriever: *retriever,
                rank: index + 1,
                score,
                contribution: share,
            });
            entry.score += share;
        }
    }
    let mut fused: Vec<Fused> = fused.into_values().collect();
    sort(&mut fused);
    fused
}

/// Best first; equal scores are ordered by id, newest first.
pub fn sort(fused: &mut [Fused]) {
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.id.cmp(&a.id)));
}

/// From a retriever's own scores to 0 .. 1.
struct Scale {
    /// The score that stands for nothing.
    zero: f32,
    /// The best score.
    best: f32,
    /// What is given for nothing.
    least: f32,
}

impl Scale {
    fn of(retriever: Retriever, list: &RankedList) -> Self {
        let scores = || list.iter().map(|(_, score)| *score);
        let best = scores().fold(f32::NEG_INFINITY, f32::max);
        let (zero, least) = match retriever {
            // No word in common is 0.
            Retriever::Keyword | Retriever::History => (0.0, 0.0),
            // Where unlike texts lie depends on the model: the farthest of the list are it.
            Retriever::Vector => (scores().fold(f32::INFINITY, f32::min), 0.0),
            Retriever::Exact => (0.0, LEAST_EXACT),
        };
        Self { zero, best, least }
    }

    fn share(&self, score: f32) -> f32 {
        let range = self.best - self.zero;
        let share = if range > 0.0 { (score - self.zero) / range } else { 1.0 };
        self.least + (1.0 - self.least) * share.clamp(0.0, 1.0)
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
    fn how_much_better_a_hit_is_counts() {
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
    fn a_missing_leg_leaves_the_other_ones_order() {
        let keyword: RankedList = (1..=9).map(|n| (id(n), 10.0 - n as f32)).collect();
        let fused = fuse(&[(Retriever::Keyword, keyword.clone())]);
        let given: Vec<_> = keyword.iter().map(|(id, _)| *id).collect();
        assert_eq!(fused.iter().map(|f| f.id).collect::<Vec<_>>(), given);
    }

    #[test]
    fn a_list_of_equals_counts_whole() {
        let fused = fuse(&[(Retriever::Vector, vec![(id(1), 0.4), (id(2), 0.4)])]);
        assert!(fused.iter().all(|f| near(f.score, leg_weight(Retriever::Vector))));
    }

    #[test]
    fn the_last_that_a_name_points_at_still_counts() {
        let fused = fuse(&[(Retriever::Exact, vec![(id(1), 10_000.0), (id(2), 1.0)])]);
        assert!(fused[1].score >= leg_weight(Retriever::Exact) * LEAST_EXACT);
    }
}
