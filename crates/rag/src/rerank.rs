//! Heuristic rerank: factors for span, path, origin and symbol, on top of the score of the search.
//!
//! The search has ranked the same words already, so that a name decides only between passages of
//! nearly equal score. docs/retrieval.md has the alternatives that were tried.

use std::collections::{HashMap, HashSet};

use mc_contract::operations::rag::MatchKind;
use mc_domain::code_path;
use mc_search::analyzer::{Lexeme, TermKind, analyze, is_stop_word};

use crate::snippet::Snippet;
use crate::union::sort;

/// For a span of one line that defines nothing, which rarely holds an implementation.
const SHORT_SPAN_FACTOR: f32 = 0.95;
/// For code of tests, if the query does not ask for tests.
const TEST_FACTOR: f32 = 0.7;
/// For generated or copied code.
const GENERATED_FACTOR: f32 = 0.6;
/// For a file if the query has all words of its name.
const PATH_FACTOR: f32 = 1.02;
/// For a definition if the query has all words of its name.
const SYMBOL_FACTOR: f32 = 1.03;
/// Maximum number of files that define a name. A name with more is probably a namespace, and does
/// not count.
const DEFINING_FILES_MAX: usize = 4;
/// Names of files that are known by their directory.
const UNNAMED_FILES: [&str; 5] = ["__init__", "index", "lib", "main", "mod"];

/// Multiplies the scores by the factors and sorts. Returns whether the order changed.
pub(crate) fn rerank(snippets: &mut [Snippet], query: &str) -> bool {
    let words = Words::of(query);
    let names = named_definitions(snippets, &words);
    for snippet in snippets.iter_mut() {
        snippet.score *= span_factor(snippet)
            * path_factor(snippet, &words)
            * origin_factor(snippet, &words)
            * symbol_factor(snippet, &names);
    }
    sort(snippets)
}

/// The words of a query.
struct Words {
    /// Identifiers as they are written, and stems of words and parts.
    terms: HashSet<String>,
    is_about_tests: bool,
}

impl Words {
    fn of(query: &str) -> Self {
        let words = query.split(|c: char| !c.is_alphanumeric());
        let is_about_tests =
            words.into_iter().any(|word| code_path::is_word_for_tests(&word.to_lowercase()));
        // Every part of an identifier counts.
        let is_prose = |kind| matches!(kind, TermKind::Word | TermKind::Surface);
        let is_stop = |lexeme: &Lexeme| is_prose(lexeme.kind) && is_stop_word(&lexeme.text);
        let lexemes = analyze(query).into_iter().filter(|lexeme| !is_stop(lexeme));
        Self { terms: lexemes.map(|lexeme| lexeme.text).collect(), is_about_tests }
    }

    /// Whether the query has all words of a name, which are at least two: `trigger delay` has those
    /// of `TriggerDelay`. A name of one word is most often just a word of the language.
    fn have(&self, name: &str) -> bool {
        let lexemes = analyze(name);
        let parts = lexemes.iter().filter(|lexeme| lexeme.kind == TermKind::Part);
        parts.clone().count() > 1 && parts.into_iter().all(|part| self.terms.contains(&part.text))
    }
}

fn span_factor(snippet: &Snippet) -> f32 {
    let is_short =
        snippet.kind == MatchKind::Code && snippet.line_count() == 1 && snippet.symbols.is_empty();
    if is_short { SHORT_SPAN_FACTOR } else { 1.0 }
}

fn path_factor(snippet: &Snippet, words: &Words) -> f32 {
    let names = snippet.path.rsplit('/').map(|part| part.split('.').next().unwrap_or_default());
    let name = names.into_iter().find(|name| !UNNAMED_FILES.contains(name));
    if name.is_some_and(|name| words.have(name)) { PATH_FACTOR } else { 1.0 }
}

fn origin_factor(snippet: &Snippet, words: &Words) -> f32 {
    if code_path::is_generated(&snippet.path) {
        GENERATED_FACTOR
    } else if code_path::is_test(&snippet.path) && !words.is_about_tests {
        TEST_FACTOR
    } else {
        1.0
    }
}

/// Returns the names of definitions that the query has.
fn named_definitions(snippets: &[Snippet], words: &Words) -> HashSet<String> {
    let mut files: HashMap<&str, HashSet<_>> = HashMap::new();
    for snippet in snippets {
        for name in snippet.symbols.iter().map(|symbol| name_of(symbol)) {
            files.entry(name).or_default().insert((snippet.repository.id, &snippet.path));
        }
    }
    let few = files.into_iter().filter(|(_, files)| files.len() <= DEFINING_FILES_MAX);
    few.map(|(name, _)| name).filter(|name| words.have(name)).map(str::to_owned).collect()
}

fn name_of(symbol: &str) -> &str {
    symbol.rsplit([':', '.', '#', '/']).next().unwrap_or_default()
}

fn symbol_factor(snippet: &Snippet, names: &HashSet<String>) -> f32 {
    let is_named = snippet.symbols.iter().any(|symbol| names.contains(name_of(symbol)));
    if is_named { SYMBOL_FACTOR } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::fixtures::{code, repository};

    const BODY: &str = "fn a() {\n    b();\n    c();\n}";

    /// Returns the paths after the rerank of snippets with equal scores.
    fn order(query: &str, paths: &[&str]) -> Vec<String> {
        let repository = repository("shop");
        let mut snippets: Vec<_> =
            paths.iter().map(|path| code(&repository, path, 1, BODY, 1.0)).collect();
        rerank(&mut snippets, query);
        snippets.into_iter().map(|snippet| snippet.path).collect()
    }

    #[test]
    fn tests_and_generated_code_come_after_the_code_itself() {
        let paths = ["a/vendor/cart.rs", "src/cart_test.rs", "tests/cart.rs", "x/zebra.rs"];
        let expected = ["x/zebra.rs", "src/cart_test.rs", "tests/cart.rs", "a/vendor/cart.rs"];
        assert_eq!(order("delay", &paths), expected);
    }

    #[test]
    fn query_about_tests_ranks_tests_like_other_code() {
        assert_eq!(order("the tests of it", &["tests/a.rs", "x/zebra.rs"])[0], "tests/a.rs");
    }

    #[test]
    fn named_path_and_symbol_come_first() {
        for (query, named) in [
            ("the delays of the cart", "src/cart_delay.rs"),
            ("read CartDelay", "src/cart_delay.rs"),
            ("what does from_cart do", "src/from_cart.rs"),
            ("the delay of a cart", "src/cart_delay/index.ts"),
        ] {
            assert_eq!(order(query, &["a.rs", named])[0], named, "{query}");
        }
        let repository = repository("shop");
        let mut snippets = ["a.rs", "b.rs"].map(|path| code(&repository, path, 1, BODY, 1.0));
        snippets[1].symbols = vec!["Cart::trigger_delay".to_owned()];
        assert!(rerank(&mut snippets, "where is the delay triggered"));
        assert_eq!(snippets[0].path, "b.rs");
    }

    #[test]
    fn name_of_a_namespace_decides_nothing() {
        let repository = repository("shop");
        let mut snippets = ["a.rb", "b.rb", "c.rb", "d.rb", "e.rb", "f.rb"]
            .map(|path| code(&repository, path, 1, BODY, 1.0));
        for snippet in &mut snippets[1..] {
            snippet.symbols = vec!["TriggerDelay".to_owned()];
        }
        assert!(!rerank(&mut snippets, "the delay of a trigger"));
    }

    #[test]
    fn name_of_one_word_or_with_other_words_decides_nothing() {
        let unnamed = ["a.rs", "src/cart.rs", "src/cart_total.rs", "src/main.rs"];
        assert_eq!(order("the main delay of a cart", &unnamed), unnamed);
    }

    #[test]
    fn short_span_comes_after_a_longer_one() {
        let repository = repository("shop");
        let mut snippets =
            [code(&repository, "a.rs", 1, "mod b;", 1.0), code(&repository, "b.rs", 1, BODY, 1.0)];
        assert!(rerank(&mut snippets, "x"));
        assert_eq!(snippets[0].path, "b.rs");
        snippets[1].symbols = vec!["LIMIT".to_owned()];
        snippets[1].score = snippets[0].score;
        assert!(rerank(&mut snippets, "x"), "a definition is no short span");
    }
}
