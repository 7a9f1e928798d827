//! What a search is asked, and what is understood of it.

pub mod gloss;
mod parse;
mod prefix;
mod terms;

use std::time::Duration;

use mc_store::passages::PassageFilter;

use crate::rank::step::DisabledSteps;

pub use parse::{Certainty, Name, ParsedQuery, parse};
pub use prefix::stems;
pub use terms::{
    QueryTerm, all_terms, is_of_stop_words, stem_terms, telling_terms, whole_term, word_term,
};

/// What to look for.
#[derive(Debug, Clone)]
pub struct Query {
    /// Free text; never read as query syntax.
    pub text: String,
    /// Symbols the caller is at (`Setting#delay`); passages that define them come first.
    pub symbols: Vec<String>,
    /// Files the caller is at; their passages come first.
    pub paths: Vec<String>,
    /// Ids of one thing each (`SHOP-12`): what names one as a whole is found, and its parts are no
    /// words.
    pub ids: Vec<String>,
    /// Where to look.
    pub filter: PassageFilter,
}

impl Query {
    /// A query of nothing but text.
    pub fn text(text: impl Into<String>, filter: PassageFilter) -> Self {
        let (symbols, paths, ids) = (Vec::new(), Vec::new(), Vec::new());
        Self { text: text.into(), symbols, paths, ids, filter }
    }

    /// The text that stands for the query in front of an embedding model; empty where ids alone are
    /// sought.
    pub(crate) fn embedding_text(&self) -> String {
        if !self.text.trim().is_empty() {
            return self.text.clone();
        }
        let names: Vec<&str> = self.paths.iter().chain(&self.symbols).map(String::as_str).collect();
        names.join("\n")
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.embedding_text().trim().is_empty() && self.ids.is_empty()
    }
}

/// How to answer.
#[derive(Debug, Clone)]
pub struct Options {
    /// Most hits.
    pub limit: usize,
    /// What the retrievers may take together. One that takes longer is left out.
    pub time_budget: Duration,
    /// Whether hits say why they rank where they do.
    pub explain: bool,
    /// Most hits from one file of code; `None` for no limit.
    pub max_per_file: Option<usize>,
    /// Steps to leave out.
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
