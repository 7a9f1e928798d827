//! Query and options of a search, and the analysis of the query.

pub mod gloss;
mod parse;
mod prefix;
mod terms;

use std::time::Duration;

use mc_store::passages::PassageFilter;

use crate::rank::DisabledSteps;

pub use parse::{Certainty, Name, ParsedQuery, parse};
pub use prefix::stems;
pub use terms::{
    QueryTerm, all_terms, compound_term, has_only_stop_words, significant_terms, stem_terms,
    word_term,
};

/// Query of a search.
#[derive(Debug, Clone)]
pub struct Query {
    /// Free text; never parsed as query syntax.
    pub text: String,
    /// Symbols of the caller (`Setting#delay`); passages that define them rank first.
    pub symbols: Vec<String>,
    /// Files of the caller; their passages rank first.
    pub paths: Vec<String>,
    /// Ids (`SHOP-12`) that are matched only as a whole, not by their parts.
    pub ids: Vec<String>,
    /// Passages to search.
    pub filter: PassageFilter,
}

impl Query {
    /// Creates a query of only text.
    pub fn text(text: impl Into<String>, filter: PassageFilter) -> Self {
        let (symbols, paths, ids) = (Vec::new(), Vec::new(), Vec::new());
        Self { text: text.into(), symbols, paths, ids, filter }
    }

    /// Returns the text for the embedding model, else the paths and symbols; empty for only ids.
    pub(crate) fn embedding_text(&self) -> String {
        if !self.text.trim().is_empty() {
            return self.text.clone();
        }
        let names: Vec<&str> = self.paths.iter().chain(&self.symbols).map(String::as_str).collect();
        names.join("\n")
    }

    /// Returns whether the query has no text, names or ids.
    pub fn is_empty(&self) -> bool {
        self.embedding_text().trim().is_empty() && self.ids.is_empty()
    }
}

/// Options of a search.
#[derive(Debug, Clone)]
pub struct Options {
    /// Maximum number of hits.
    pub limit: usize,
    /// Time budget of all retrievers. A retriever that exceeds it is skipped.
    pub time_budget: Duration,
    /// Whether hits include the explanation of their score.
    pub explain: bool,
    /// Maximum number of hits from one code file; `None` for no limit.
    pub max_per_file: Option<usize>,
    /// Steps to skip.
    pub disabled_steps: DisabledSteps,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit: 10,
            time_budget: Duration::from_millis(300),
            explain: false,
            max_per_file: Some(3),
            disabled_steps: DisabledSteps::default(),
        }
    }
}
