//! Reciprocal rank fusion: lists whose scores don't compare are merged by rank.

use std::collections::HashMap;

use mc_domain::PassageId;

use super::LegRank;
use crate::legs::{Leg, Ranked};

/// Damps the lead of the first ranks over the following ones; 60 as in the paper and everywhere
/// since.
pub const RRF_K: f32 = 60.0;

/// What a leg's vote counts.
pub fn leg_weight(leg: Leg) -> f32 {
    match leg {
        Leg::Exact | Leg::Keyword | Leg::Vector => 1.0,
    }
}

/// A passage with what the legs say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The passage.
    pub id: PassageId,
    /// In the order of the legs given.
    pub legs: Vec<LegRank>,
    /// Sum of the legs' votes. The first rank of a leg of weight 1 votes 1.
    pub score: f32,
}

/// Merges the lists, best first; equal scores are ordered by id, newest first.
pub fn fuse(lists: &[(Leg, Ranked)]) -> Vec<Fused> {
    let mut fused: HashMap<PassageId, Fused> = HashMap::new();
    for (leg, list) in lists {
        for (index, &(id, score)) in list.iter().enumerate() {
            let rank = index + 1;
            let entry =
                fused.entry(id).or_insert_with(|| Fused { id, legs: Vec::new(), score: 0.0 });
            entry.legs.push(LegRank { leg: *leg, rank, score });
            entry.score += leg_weight(*leg) * vote(rank);
        }
    }
    let mut fused: Vec<Fused> = fused.into_values().collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.id.cmp(&a.id)));
    fused
}

fn vote(rank: usize) -> f32 {
    (RRF_K + 1.0) / (RRF_K + rank as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> PassageId {
        PassageId(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn what_both_legs_find_beats_what_one_finds_first() {
        let keyword = vec![(id(1), 30.0), (id(2), 20.0)];
        let vector = vec![(id(3), 0.9), (id(2), 0.8)];
        let fused = fuse(&[(Leg::Keyword, keyword), (Leg::Vector, vector)]);
        assert_eq!(fused[0].id, id(2));
        assert_eq!(fused[0].legs.len(), 2);
        assert_eq!((fused[0].legs[1].rank, fused[0].legs[1].score), (2, 0.8));
        assert!((fused[1].score - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_missing_leg_leaves_the_other_ones_order() {
        let keyword: Ranked = (1..=9).map(|n| (id(n), 1.0)).collect();
        let fused = fuse(&[(Leg::Keyword, keyword.clone())]);
        assert_eq!(
            fused.iter().map(|f| f.id).collect::<Vec<_>>(),
            keyword.iter().map(|(id, _)| *id).collect::<Vec<_>>()
        );
    }
}
