//! Sub-queries: parts and names of the query, without a model, and variants by a chat model.

use std::sync::LazyLock;

use mc_contract::operations::rag::QUERIES_MAX;
use mc_search::Query;
use mc_search::query::parse;
use mc_store::passages::PassageFilter;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::models::{ModelFailure, Models, Task, neutralized};

/// Words from which a part of a query is worth a search.
const CLAUSE_WORDS_MIN: usize = 3;
/// Most characters of a sub-query.
const QUERY_MAX_CHARS: usize = 300;
/// Words between clauses, in lower case.
const CONJUNCTIONS: [&str; 8] = [" and ", " or ", " but ", " then ", " и ", " или ", " но ", " а "];

static TASK: LazyLock<Task> = LazyLock::new(|| {
    let query = json!({"type": "string", "minLength": 1, "maxLength": QUERY_MAX_CHARS});
    let queries = json!({"type": "array", "maxItems": QUERIES_MAX, "items": query});
    let instructions = include_str!("../prompts/multi_query.txt");
    Task::of(instructions, "queries", &json!({"queries": queries}), &["queries"])
});

/// The origin of a sub-query, which decides how much its results count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The query of the caller.
    Original,
    /// The query, completed, rewritten or translated by a model.
    Rewritten,
    /// The query with names of the history.
    WithNames,
    /// A variant by a model.
    Variant,
    /// A clause or the names of the query.
    Part,
}

/// A query that is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubQuery {
    pub text: String,
    pub origin: Origin,
}

impl Origin {
    /// Returns how much the score of a result counts, compared with one of the original query. A
    /// result that only a part found ranks below nearly all results of the query.
    pub fn weight(self) -> f32 {
        match self {
            Self::Original => 1.0,
            Self::Rewritten => 0.9,
            Self::WithNames => 0.8,
            Self::Variant => 0.6,
            Self::Part => 0.1,
        }
    }

    /// Returns whether this is a whole query, not a part of one. A part repeats words of the query,
    /// so it is no further evidence for results of the query. It is also similar to the same
    /// passages and commits, and its embedding would take most of the search time.
    pub fn is_whole(self) -> bool {
        self != Self::Part
    }
}

/// Adds a sub-query, unless an equal one is there or the limit is reached. Returns whether it was
/// added.
pub(crate) fn add(queries: &mut Vec<SubQuery>, text: &str, origin: Origin, limit: usize) -> bool {
    let text = text.trim();
    let is_new = !queries.iter().any(|query| query.text.to_lowercase() == text.to_lowercase());
    let is_added = is_new && !text.is_empty() && queries.len() < limit;
    if is_added {
        queries.push(SubQuery { text: text.to_owned(), origin });
    }
    is_added
}

/// Returns the parts of a query: its clauses, and its names together, if it has more than them.
pub(crate) fn parts(query: &str) -> Vec<String> {
    let mut parts = clauses(query);
    let names = names(query);
    let is_more = query.split_whitespace().count() > names.len();
    if !names.is_empty() && is_more {
        parts.push(names.join(" "));
    }
    parts
}

/// Returns the clauses of a query; none if it is only one.
fn clauses(query: &str) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    for sentence in query.split(['\n', ';', '?', '!', '。', '？', '、']).flat_map(sentences) {
        clauses.extend(without_conjunctions(sentence));
    }
    clauses.retain(|clause| clause.split_whitespace().count() >= CLAUSE_WORDS_MIN);
    if clauses.len() < 2 { Vec::new() } else { clauses }
}

/// Splits at the dots and commas that a blank follows; others belong to names.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(". ").flat_map(|part| part.split(", "))
}

fn without_conjunctions(sentence: &str) -> Vec<String> {
    let mut parts = vec![sentence.trim().trim_end_matches('.').to_owned()];
    for conjunction in CONJUNCTIONS {
        parts = parts.iter().flat_map(|part| split_ignoring_case(part, conjunction)).collect();
    }
    parts
}

fn split_ignoring_case(text: &str, separator: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    // Lower case may have other lengths: then the text stays whole.
    if lower.len() != text.len() {
        return vec![text.to_owned()];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, found) in lower.match_indices(separator) {
        parts.extend(text.get(start..at).map(|part| part.trim().to_owned()));
        start = at + found.len();
    }
    parts.extend(text.get(start..).map(|part| part.trim().to_owned()));
    parts
}

/// Returns the symbols and paths in a text, as they are written.
pub(crate) fn names(text: &str) -> Vec<String> {
    let filter = PassageFilter::project(Uuid::nil().into());
    let parsed = parse(&Query::text(text, filter));
    // A query of one word is always parsed as a symbol, so it is ignored here.
    let is_word = text.split_whitespace().count() < 2;
    let symbols = parsed.symbols.into_iter().filter(|_| !is_word);
    let mut names: Vec<String> = Vec::new();
    for name in parsed.paths.into_iter().chain(symbols) {
        if !names.contains(&name.written) {
            names.push(name.written);
        }
    }
    names
}

/// Asks a model for at most `count` variants of a query.
pub(crate) async fn variants(
    models: &Models,
    query: &str,
    count: usize,
) -> Result<Vec<String>, ModelFailure> {
    #[derive(Deserialize)]
    struct Answer {
        queries: Vec<String>,
    }
    let data = json!({"question": neutralized(query), "count": count});
    models.ask(&TASK, &data).await.map(|answer: Answer| answer.queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_split_into_clauses_and_names() {
        for (query, expected) in [
            ("where is the delay", vec![]),
            (
                "Where is the delay computed and who reads trigger_delay in app/cart.rb?",
                vec![
                    "Where is the delay computed",
                    "who reads trigger_delay in app/cart.rb",
                    "app/cart.rb trigger_delay",
                ],
            ),
            (
                "Fix the retry of payments. The gateway times out after Retry::Policy.",
                vec![
                    "Fix the retry of payments",
                    "The gateway times out after Retry::Policy",
                    "Retry::Policy",
                ],
            ),
            (
                "где считается задержка корзины и кто её читает потом",
                vec!["где считается задержка корзины", "кто её читает потом"],
            ),
            ("trigger_delay", vec![]),
            ("cats and dogs", vec![]),
        ] {
            assert_eq!(parts(query), expected, "{query}");
        }
    }

    #[test]
    fn equal_sub_query_is_added_once() {
        let mut queries = Vec::new();
        assert!(add(&mut queries, "Where is it", Origin::Original, 2));
        assert!(!add(&mut queries, "where is it ", Origin::Part, 2));
        assert!(!add(&mut queries, " ", Origin::Part, 2));
        assert!(add(&mut queries, "other", Origin::Part, 2));
        assert!(!add(&mut queries, "third", Origin::Part, 2));
    }
}
