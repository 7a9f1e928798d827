//! From the legs' lists to one ranking, in small steps that each can be explained.

pub mod fusion;
pub mod rerank;
#[cfg(test)]
mod samples;
pub mod step;
pub mod thin;

use mc_store::passages::Passage;

use crate::retrievers::Leg;
use step::Step;

/// Where a leg put a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LegRank {
    /// The leg.
    pub leg: Leg,
    /// Position in its list, from 1.
    pub rank: usize,
    /// Its own score: cosine similarity, BM25, the weight of the names that matched, or the share of the file that
    /// similar changes touched most.
    pub score: f32,
    /// What it gave to the fused score.
    pub share: f32,
}

/// A step of the rerank that changed a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjustment {
    /// The step.
    pub step: Step,
    /// What the score was multiplied by.
    pub factor: f32,
}

/// A passage on its way through the ranking.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The passage.
    pub passage: Passage,
    /// Legs that found it.
    pub legs: Vec<LegRank>,
    /// After fusion.
    pub fused: f32,
    /// Steps that changed it.
    pub adjustments: Vec<Adjustment>,
    /// After all steps.
    pub score: f32,
}

impl Candidate {
    /// What the legs gave to it for its text, and not for the history of its file.
    pub fn text_score(&self) -> f32 {
        let history = self.legs.iter().filter(|found| found.leg == Leg::History);
        self.fused - history.map(|found| found.share).sum::<f32>()
    }

    /// A leg's own score for it.
    pub fn leg_score(&self, leg: Leg) -> Option<f32> {
        self.legs.iter().find(|found| found.leg == leg).map(|found| found.score)
    }
}
