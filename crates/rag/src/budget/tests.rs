//! Tests of the limit of tokens.

use proptest::prelude::*;

use super::*;
use crate::snippet::fixtures::{code, repository};

fn lines(from: i32, to: i32) -> String {
    (from..=to).map(|line| format!("let value_{line} = {line};")).collect::<Vec<_>>().join("\n")
}

fn spans(packed: &Packed) -> Vec<(i32, i32)> {
    packed.context.iter().map(|snippet| (snippet.line_start, snippet.line_end)).collect()
}

#[test]
fn everything_that_fits_is_kept_as_it_is() {
    let repository = repository("shop");
    let snippets = vec![
        code(&repository, "a.rs", 1, &lines(1, 3), 0.9),
        code(&repository, "b.rs", 1, &lines(1, 3), 0.8),
    ];
    let packed = pack(snippets, 4_000, &Renderer::new(false));
    assert_eq!((packed.context.len(), packed.is_cut), (2, false));
}

#[test]
fn lines_are_shown_once() {
    let repository = repository("shop");
    let snippets = vec![
        code(&repository, "a.rs", 10, &lines(10, 20), 0.9),
        // Repeats two lines at its top.
        code(&repository, "a.rs", 19, &lines(19, 30), 0.8),
        code(&repository, "a.rs", 12, &lines(12, 15), 0.7),
        code(&repository, "b.rs", 12, &lines(12, 15), 0.6),
    ];
    let packed = pack(snippets, 4_000, &Renderer::new(false));
    assert_eq!(spans(&packed), [(10, 20), (21, 30), (12, 15)]);
    assert_eq!(packed.context[1].text, lines(21, 30));
    assert!(!packed.is_cut);
}

#[test]
fn first_lines_of_a_snippet_that_does_not_fit_are_kept() {
    let repository = repository("shop");
    let snippets = vec![code(&repository, "a.rs", 1, &lines(1, 100), 0.9)];
    let renderer = Renderer::new(false);
    let packed = pack(snippets, 300, &renderer);
    assert!(packed.is_cut && packed.context[0].is_shortened);
    let last = packed.context[0].line_end;
    assert_eq!(packed.context[0].text, lines(1, last));
    let tokens = renderer.total_tokens(&packed.context);
    assert!((285..=300).contains(&tokens), "{tokens}");
}

#[test]
fn further_matches_of_the_best_file_come_first() {
    let repository = repository("shop");
    let found = [("a.rs", 1, 0.9), ("b.rs", 1, 0.8), ("b.rs", 90, 0.7), ("a.rs", 50, 0.5)];
    let snippet = |(path, line, score)| code(&repository, path, line, &lines(1, 3), score);
    let mut snippets: Vec<_> = found.into_iter().map(snippet).collect();
    assert!(favor_best_file(&mut snippets));
    let places = snippets.iter().map(|snippet| (snippet.path.as_str(), snippet.line_start));
    assert_eq!(places.collect::<Vec<_>>(), [("a.rs", 1), ("a.rs", 50), ("b.rs", 1), ("b.rs", 90)]);
    assert!(!favor_best_file(&mut snippets) && !favor_best_file(&mut []));
}

#[test]
fn matches_beyond_the_limit_keep_their_places() {
    let repository = repository("shop");
    let snippet = |path| code(&repository, path, 1, &lines(1, 30), 0.9);
    let neighbor = Snippet { neighbor_of: Some("0".to_owned()), ..snippet("c.rs") };
    let found = vec![snippet("a.rs"), snippet("b.rs"), neighbor, snippet("d.rs")];
    let renderer = Renderer::new(false);
    let of_one = renderer.tokens(&found[0]) + renderer.tokens_of_marks();
    let Packed { context, places, is_cut } = pack(found, of_one + 8, &renderer);
    let paths = |snippets: &[Snippet]| {
        snippets.iter().map(|snippet| snippet.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!((paths(&context), is_cut), (vec!["a.rs".to_owned()], true));
    assert_eq!(paths(&places), ["b.rs", "d.rs"]);
    for place in places {
        assert_eq!((place.text.as_str(), place.tokens, place.in_context), ("", 0, false));
        assert_eq!((place.line_start, place.line_end), (1, 30));
    }
}

/// Lines, with characters that end a line in the rendered text alone.
const TEXT: &str = "([a-zа-я0-9_(){} .,;/<>|\u{c}\u{2028}]{0,40}\n){0,30}[a-z]{1,20}";

proptest! {
    #[test]
    fn context_is_never_over_its_limit(
        found in prop::collection::vec(
            ("[ab]\\.rs", 1_i32..60, TEXT), 0..12),
        max_tokens in 128_usize..1_500,
    ) {
        let repository = repository("shop");
        let snippet =
            |(path, line, text): &(String, i32, String)| code(&repository, path, *line, text, 0.5);
        let snippets: Vec<_> = found.iter().map(snippet).collect();
        let renderer = Renderer::new(true);
        let packed = pack(snippets, max_tokens, &renderer);
        let tokens = mc_tokens::count(&renderer.block(&packed.context));
        prop_assert!(tokens <= max_tokens);
        prop_assert_eq!(renderer.total_tokens(&packed.context), tokens);
        // No line at the end of a snippet is in one before it.
        for (at, snippet) in packed.context.iter().enumerate() {
            for other in packed.context[..at].iter().filter(|other| other.path == snippet.path) {
                let span = other.line_start..=other.line_end;
                prop_assert!(!span.contains(&snippet.line_start));
                prop_assert!(!span.contains(&snippet.line_end));
            }
        }
    }
}
