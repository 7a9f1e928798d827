//! The ways in which passages are found. Each gives ids and its own scores, best first.

pub mod keyword;
pub mod vector;

use mc_domain::PassageId;

/// A way of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leg {
    /// Symbols and paths by name.
    Exact,
    /// BM25 over the words.
    Keyword,
    /// Nearness of meaning.
    Vector,
}

impl Leg {
    /// The name in explanations and in `degraded`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
        }
    }
}

/// What a leg found, best first. Scores compare within a leg only: BM25, or cosine similarity.
pub type Ranked = Vec<(PassageId, f32)>;
