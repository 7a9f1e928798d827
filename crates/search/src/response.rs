//! What a search answers.

use std::time::Duration;

use mc_store::passages::Passage;

use crate::rank::{Adjustment, LegRank};

/// The hits, and what to know about them.
#[derive(Debug, Clone)]
pub struct SearchResponse {
    /// Best first.
    pub hits: Vec<Hit>,
    /// What was left out or is not up to date, and why: `vector: late`.
    pub degraded: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// A passage that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The passage.
    pub passage: Passage,
    /// Between 0 and 1, for ordering within one answer only. What compares across answers is
    /// `similarity` and `keyword`.
    pub score: f32,
    /// Cosine similarity to the query, where the vector retriever found it.
    pub similarity: Option<f32>,
    /// What its similarity is at most, where the vector retriever found nearer ones only, as many
    /// as it hands out.
    pub similarity_below: Option<f32>,
    /// BM25 score, where the keyword retriever found it. Grows with the number of query terms.
    pub keyword: Option<f32>,
    /// The share of the query's words that a record has, 0 to 1, each word as heavy as it is rare
    /// among the project's records; less where the query says little. Where nothing but records was
    /// sought, and the keyword retriever found it.
    pub coverage: Option<f32>,
    /// Why it ranks where it does, where that was asked for.
    pub explain: Option<Explain>,
}

impl Hit {
    /// A passage that was looked up, and not found by what it says.
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

/// How a score came about: `fused` times every factor is `product`, and the hit's score is
/// `product / (1 + product)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// Where each retriever put it.
    pub retrievers: Vec<LegRank>,
    /// Sum of what the retrievers gave.
    pub fused_score: f32,
    /// Steps of the rerank that spoke.
    pub adjustments: Vec<Adjustment>,
    /// The result.
    pub adjusted_score: f32,
}
