//! The ways in which passages are found. Each gives ids and its own scores, best first.

pub mod keyword;
pub mod vector;

use mc_domain::PassageId;

use crate::rank::step::Step;

/// A way of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Retriever {
    /// Symbols and paths by name.
    Exact,
    /// BM25 over the words.
    Keyword,
    /// Nearness of meaning.
    Vector,
    /// Files that similar past changes touched.
    History,
}

impl Retriever {
    /// The name in explanations and in `degraded`.
    pub fn as_str(self) -> &'static str {
        self.step().as_str()
    }

    /// It as a step of the ranking.
    pub fn step(self) -> Step {
        match self {
            Self::Exact => Step::Exact,
            Self::Keyword => Step::Keyword,
            Self::Vector => Step::Vector,
            Self::History => Step::History,
        }
    }
}

/// What a retriever found, best first. Scores compare within a retriever only: BM25, or cosine
/// similarity.
pub type RankedList = Vec<(PassageId, f32)>;
