//! From the retrievers' lists to one ranking, in small steps that each can be explained.

pub mod dedup;
#[cfg(test)]
mod fixtures;
pub mod fusion;
pub mod rerank;
pub mod step;

use mc_store::passages::Passage;

use crate::retrievers::Retriever;
use step::Step;

/// Where a retriever put a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LegRank {
    /// The retriever.
    pub retriever: Retriever,
    /// Position in its list, from 1.
    pub rank: usize,
    /// Its own score: cosine similarity, BM25, the weight of the names that matched, or the share
    /// of the file that similar changes touched most.
    pub score: f32,
    /// What it gave to the fused score.
    pub contribution: f32,
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
    pub retrievers: Vec<LegRank>,
    /// After fusion.
    pub fused_score: f32,
    /// Steps that changed it.
    pub adjustments: Vec<Adjustment>,
    /// After all steps.
    pub score: f32,
}

impl Candidate {
    /// What the retrievers gave to it for its text, and not for the history of its file.
    pub fn text_score(&self) -> f32 {
        let history = self.retrievers.iter().filter(|found| found.retriever == Retriever::History);
        self.fused_score - history.map(|found| found.contribution).sum::<f32>()
    }

    /// A retriever's own score for it.
    pub fn leg_score(&self, retriever: Retriever) -> Option<f32> {
        self.retrievers.iter().find(|found| found.retriever == retriever).map(|found| found.score)
    }
}
