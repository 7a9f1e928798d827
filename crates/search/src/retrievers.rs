//! Retrievers of passages. Each returns ids with its own scores, best first.

pub mod keyword;
pub mod vector;

use mc_domain::PassageId;
use tokio::time::{Instant, timeout_at};

use crate::Error;
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

/// Why a retriever has no results.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It exceeded the time budget.
    Late,
    Failed(Error),
}

/// Runs a retriever until `end`.
pub(crate) async fn until<T>(
    end: Instant,
    retriever: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match timeout_at(end, retriever).await {
        Ok(outcome) => outcome.map_err(Failure::Failed),
        Err(_elapsed) => Err(Failure::Late),
    }
}

impl Failure {
    /// Logs the failure of a retriever, and returns the reason for `degraded`.
    pub(crate) fn reason(&self, retriever: Retriever) -> &'static str {
        let Self::Failed(error) = self else { return "late" };
        tracing::warn!(
            search.retriever = retriever.as_str(),
            error = error as &dyn std::error::Error,
            "search retriever failed"
        );
        match error {
            Error::Embedding(_) => "embedding provider unavailable",
            Error::Store(_) => "database unavailable",
            Error::Index(_) => "index failed and is being rebuilt",
            _ => "failed",
        }
    }
}
