use globset::GlobBuilder;
use mc_domain::ProjectId;
use proptest::prelude::*;
use tantivy::collector::Count;
use tantivy::schema::{STRING, Schema};
use tantivy::{Index, IndexWriter, doc};

use super::*;

/// Returns whether the keyword index finds `place` by `regex`.
fn matches(regex: &str, place: &str) -> bool {
    let mut schema = Schema::builder();
    let field = schema.add_text_field("place", STRING);
    let index = Index::create_in_ram(schema.build());
    let mut writer: IndexWriter =
        index.writer_with_num_threads(1, 15_000_000).expect("a writer in memory");
    writer.add_document(doc!(field => place)).expect("a document");
    writer.commit().expect("a commit");
    let query = RegexQuery::from_pattern(regex, field).expect("a pattern that was checked");
    let searcher = index.reader().expect("a reader").searcher();
    searcher.search(&query, &Count).expect("a search") == 1
}

fn check(glob: &str, place: &str, expected: bool) {
    let regex = to_regex(glob).expect(glob);
    assert_eq!(matches(&regex, place), expected, "{glob} ({regex}) on {place}");
}

#[test]
fn globs_select_paths() {
    for (glob, hit, miss) in [
        ("*.rb", "app/models/cart.rb", "app/models/cart.rbx"),
        ("app/*.rb", "app/cart.rb", "app/models/cart.rb"),
        ("app/**/*.rb", "app/models/deep/cart.rb", "lib/cart.rb"),
        ("app/**/*.rb", "app/cart.rb", "app/cart.py"),
        ("**/models/**/**/*.rb", "models/cart.rb", "models.rb"),
        ("./*.md", "docs/a.md", "docs/a.mdx"),
        ("app/", "app/models/cart.rb", "application/cart.rb"),
        ("/app/models/", "app/models/cart.rb", "app/model/cart.rb"),
        ("src/{a,b}.rs", "src/b.rs", "src/c.rs"),
        ("src/a{,_test}.rs", "src/a.rs", "src/a_.rs"),
        ("src/[a-c]?.rs", "src/b1.rs", "src/d1.rs"),
        ("src/[!a-c].rs", "src/d.rs", "src/a.rs"),
        ("cart.rb", "app/models/cart.rb", "app/models/cartXrb"),
        ("docs/план*.md", "docs/план-1.md", "docs/plan.md"),
        ("a(b)+|c$.md", "a(b)+|c$.md", "ab.md"),
        (r"a\*.md", "a*.md", "ab.md"),
    ] {
        check(glob, hit, true);
        check(glob, miss, false);
    }
}

#[test]
fn root_glob_matches_everything() {
    for glob in ["/", "./", "**", "*"] {
        check(glob, "app/models/cart.rb", true);
    }
}

#[test]
fn invalid_glob_is_rejected_with_a_reason() {
    for (glob, reason) in [
        ("", "empty"),
        ("a[b", "\"[\" has no \"]\""),
        ("a{b", "\"{\" has no \"}\""),
        ("a}b", "\"}\" has no \"{\""),
        ("a\\", "nothing follows"),
        ("[z-a]", "reversed"),
        ("a\0b", "control character"),
        ("{{{{{a}}}}}", "too deeply"),
        (&"x".repeat(MAX_GLOB_BYTES + 1), "longer than"),
        (&format!("*a{}", "?".repeat(60)), "too many wildcards"),
        (&"*/".repeat(33), "too many wildcards"),
    ] {
        let error = to_regex(glob).expect_err(glob).to_string();
        assert!(error.contains(reason), "{glob}: {error}");
    }
}

#[test]
fn accepted_glob_compiles_with_the_prefix_of_a_project() {
    let project = Scope::of(ProjectId::generate());
    // Around the size at which the automaton becomes too large.
    let globs = (46..56).map(|wildcards| format!("a/{}", "?".repeat(wildcards)));
    let accepted: Vec<String> = globs.filter_map(|glob| to_regex(&glob).ok()).collect();
    assert!(
        (1..10).contains(&accepted.len()),
        "some are accepted, some rejected: {}",
        accepted.len()
    );
    for regex in accepted {
        RegexQuery::from_pattern(&project.regex(&regex), Field::from_field_id(0)).expect(&regex);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    // Without `[!a]`, which matches a slash in globset.
    #[test]
    fn glob_matches_the_same_paths_as_globset(
        glob in r"([ab.]|\*|\?|\[ab\]|/|\*\*/|\{a,b[.]?\}){1,8}",
        place in "[abc.]{1,3}(/[abc.]{1,3}){0,3}",
    ) {
        // A leading slash and repeated slashes have another meaning in globset.
        prop_assume!(!glob.starts_with('/') && !glob.contains("//") && !glob.contains("***"));
        let built = GlobBuilder::new(&expand(&glob)).literal_separator(true).build();
        prop_assume!(built.is_ok());
        let theirs = built.expect("checked above").compile_matcher().is_match(&place);
        let regex = to_regex(&glob).expect("a valid glob");
        prop_assert_eq!(matches(&regex, &place), theirs, "{} as {} on {}", glob, regex, place);
    }

    #[test]
    fn any_text_is_translated_or_rejected(glob in "\\PC{0,40}") {
        let _: Result<String, InvalidGlob> = to_regex(&glob);
    }
}
