//! Retrievers of passages. Each returns ids with its own scores, best first.

pub mod keyword;
pub mod vector;

use mc_domain::PassageId;

use crate::rank::Step;

/// Retriever of passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Retriever {
    /// Lookup of symbols and paths by name.
    Exact,
    /// BM25 of the words.
    Keyword,
    /// Similarity of vectors.
    Vector,
    /// Files that similar commits touched.
    History,
}

impl Retriever {
    /// Returns the name in explanations and in `degraded`.
    pub fn as_str(self) -> &'static str {
        self.step().as_str()
    }

    /// Returns the step of the ranking.
    pub fn step(self) -> Step {
        match self {
            Self::Exact => Step::Exact,
            Self::Keyword => Step::Keyword,
            Self::Vector => Step::Vector,
            Self::History => Step::History,
        }
    }
}

/// Results of a retriever, best first. Scores are comparable only within one retriever.
pub type RankedList = Vec<(PassageId, f32)>;
