//! Response of a search.

use std::time::Duration;

use mc_store::passages::Passage;

use crate::rank::{Adjustment, RetrieverRank};

/// Hits of a search, with notes about skipped retrievers.
#[derive(Debug, Clone)]
pub struct SearchResponse {
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// Retrievers that were skipped or are not up to date, with the reason: `vector: late`.
    pub degraded: Vec<String>,
    /// Duration of the search, with the embedding of the query.
    pub took: Duration,
}

/// Passage that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The found passage with the data of its source.
    pub passage: Passage,
    /// Score from 0 to 1, which is comparable only within one response. `similarity` and `keyword`
    /// are comparable across responses.
    pub score: f32,
    /// Cosine similarity to the query, if the vector retriever found the passage.
    pub similarity: Option<f32>,
    /// Upper bound of the similarity, if the vector retriever reached its limit before.
    pub similarity_below: Option<f32>,
    /// BM25 score, if the keyword retriever found the passage. It grows with the number of terms.
    pub keyword: Option<f32>,
    /// Share of the query's words in the record, from 0 to 1. Words are weighted by their rarity
    /// among the records of the project; a short query reaches less than 1. Set only for a search
    /// of records alone, if the keyword retriever found the record.
    pub coverage: Option<f32>,
    /// Explanation of the score, if requested.
    pub explain: Option<Explain>,
}

impl Hit {
    /// Creates a hit for a passage that was looked up by id, without scores.
    pub fn looked_up(passage: Passage) -> Self {
        Self {
            passage,
            score: 0.0,
            similarity: None,
            similarity_below: None,
            keyword: None,
            coverage: None,
            explain: None,
        }
    }
}

/// Explanation of a score. `fused_score` times every factor is `adjusted_score`, and the score of
/// the hit is `adjusted_score / (1 + adjusted_score)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// Rank in each retriever.
    pub retrievers: Vec<RetrieverRank>,
    /// Sum of the contributions of the retrievers.
    pub fused_score: f32,
    /// Steps of the reranking that applied.
    pub adjustments: Vec<Adjustment>,
    /// Score after all steps.
    pub adjusted_score: f32,
}
