//! Heuristic rerank: factors for size, path and symbol, on top of the score of the search.

use std::collections::HashSet;

use mc_contract::operations::rag::MatchKind;
use mc_domain::code_path;

use crate::snippet::Snippet;
use crate::union::sort;

/// For a span of one line, which rarely holds an implementation.
const SHORT_SPAN_FACTOR: f32 = 0.9;
/// For code of tests, if the query does not ask for tests.
const TEST_FACTOR: f32 = 0.7;
/// For generated or copied code.
const GENERATED_FACTOR: f32 = 0.6;
/// For a path with a word of the query as the name of a file or directory.
const PATH_FACTOR: f32 = 1.03;
/// For a definition whose name is a word of the query.
const SYMBOL_FACTOR: f32 = 1.05;
/// Letters from which a word of the query says something about a path or a symbol.
const WORD_CHARS_MIN: usize = 4;

/// Multiplies the scores by the factors and sorts. Returns whether the order changed.
pub(crate) fn rerank(snippets: &mut [Snippet], query: &str) -> bool {
    let words = words(query);
    for snippet in snippets.iter_mut() {
        snippet.score *= span_factor(snippet)
            * path_factor(snippet, &words)
            * origin_factor(snippet, &words)
            * symbol_factor(snippet, &words);
    }
    sort(snippets)
}

fn words(query: &str) -> HashSet<String> {
    let words = query.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn span_factor(snippet: &Snippet) -> f32 {
    let is_short = snippet.kind == MatchKind::Code && snippet.line_count() == 1;
    if is_short { SHORT_SPAN_FACTOR } else { 1.0 }
}

fn path_factor(snippet: &Snippet, words: &HashSet<String>) -> f32 {
    let path = snippet.path.to_lowercase();
    let parts = path.split('/').map(|part| part.split('.').next().unwrap_or_default());
    let is_named =
        parts.into_iter().any(|part| part.len() >= WORD_CHARS_MIN && words.contains(part));
    if is_named { PATH_FACTOR } else { 1.0 }
}

fn origin_factor(snippet: &Snippet, words: &HashSet<String>) -> f32 {
    if code_path::is_generated(&snippet.path) {
        GENERATED_FACTOR
    } else if code_path::is_test(&snippet.path)
        && !words.iter().any(|word| code_path::is_word_for_tests(word))
    {
        TEST_FACTOR
    } else {
        1.0
    }
}

fn symbol_factor(snippet: &Snippet, words: &HashSet<String>) -> f32 {
    let is_named = snippet.symbols.iter().any(|symbol| {
        let last = symbol.rsplit([':', '.', '#', '/']).next().unwrap_or_default().to_lowercase();
        last.len() >= WORD_CHARS_MIN && words.contains(&last)
    });
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
        assert_eq!(order("the cart delay", &["a.rs", "src/cart.rs"])[0], "src/cart.rs");
        let repository = repository("shop");
        let mut snippets = ["a.rs", "b.rs"].map(|path| code(&repository, path, 1, BODY, 1.0));
        snippets[1].symbols = vec!["Cart::delay".to_owned()];
        assert!(rerank(&mut snippets, "where is delay"));
        assert_eq!(snippets[0].path, "b.rs");
    }

    #[test]
    fn short_span_comes_after_a_longer_one() {
        let repository = repository("shop");
        let mut snippets =
            [code(&repository, "a.rs", 1, "mod b;", 1.0), code(&repository, "b.rs", 1, BODY, 1.0)];
        assert!(rerank(&mut snippets, "x"));
        assert_eq!(snippets[0].path, "b.rs");
    }
}
