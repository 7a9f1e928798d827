//! Ranking of the retrievers' results, in small steps that can be explained.

pub mod dedup;
#[cfg(test)]
mod fixtures;
pub mod fusion;
pub mod rerank;
pub(crate) mod translation;

use mc_store::passages::Passage;

use crate::retrievers::Retriever;

pub use mc_domain::RankingStep as Step;

/// Steps that a ranking skips. A search can disable each of them, to measure its contribution.
#[derive(Debug, Clone, Default)]
pub struct DisabledSteps(Vec<Step>);

impl DisabledSteps {
    /// Returns whether the step is enabled.
    pub fn allows(&self, step: Step) -> bool {
        !self.0.contains(&step)
    }
}

impl FromIterator<Step> for DisabledSteps {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// Rank of a hit in the results of one retriever.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrieverRank {
    /// Retriever that found the passage.
    pub retriever: Retriever,
    /// Position in the results, from 1.
    pub rank: usize,
    /// Score of the retriever: cosine similarity, BM25, the weight of the matched names, or the
    /// score of the file relative to the best file of the history.
    pub score: f32,
    /// Contribution to the fused score.
    pub contribution: f32,
}

/// Step of the reranking that changed a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjustment {
    /// Step of the ranking.
    pub step: Step,
    /// Factor of the score.
    pub factor: f32,
}

/// Passage during ranking.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The found passage.
    pub passage: Passage,
    /// Ranks in the retrievers that found it.
    pub retrievers: Vec<RetrieverRank>,
    /// Score after fusion.
    pub fused_score: f32,
    /// Steps that changed the score.
    pub adjustments: Vec<Adjustment>,
    /// Score after all steps.
    pub score: f32,
}

impl Candidate {
    /// Creates a candidate before the reranking.
    pub fn new(passage: Passage, retrievers: Vec<RetrieverRank>, score: f32) -> Self {
        Self { passage, retrievers, fused_score: score, adjustments: Vec::new(), score }
    }

    /// Returns the fused score without the contribution of the history.
    pub fn text_score(&self) -> f32 {
        let history = self.retrievers.iter().filter(|found| found.retriever == Retriever::History);
        self.fused_score - history.map(|found| found.contribution).sum::<f32>()
    }

    /// Returns the score of one retriever, if it found the passage.
    pub fn retriever_score(&self, retriever: Retriever) -> Option<f32> {
        self.retrievers.iter().find(|found| found.retriever == retriever).map(|found| found.score)
    }
}
