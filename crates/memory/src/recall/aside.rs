//! Files that many questions match by their words and few are about: tests, change logs, translations,
//! lock files, what others wrote.

use std::sync::LazyLock;

use mc_store::passages::IndexedPassage;
use regex::Regex;

use crate::confidence::QueryFeatures;

/// What such a file keeps of its evidence, unless it is asked for.
const FACTOR: f32 = 0.6;

/// A sort of file, by its path, and the words by which one asks for it.
struct Sort {
    path: Regex,
    words: &'static [&'static str],
}

static SORTS: LazyLock<Vec<Sort>> = LazyLock::new(|| {
    let sort = |path: &str, words| Sort {
        path: Regex::new(&format!("(?i){path}")).expect("a checked expression"),
        words,
    };
    vec![
        sort(
            r"(^|/)(tests?|specs?|__tests__|fixtures?|testdata|benches|benchmarks?|benchsuite)(/|$)|[._-](test|spec)\.\w+$|(^|/)test_|testutil",
            &["test", "spec", "fixtur", "benchmark"],
        ),
        sort(
            r"(^|/)(change_?log|changes|history|news|releases?)(\.\w+)?$",
            &["changelog", "releas", "version", "chang"],
        ),
        sort(
            r"(^|/)(locales?|i18n|lang|translations?)/",
            &["translat", "local", "languag", "i18n"],
        ),
        sort(
            r"(\.lock|-lock\.json|\.min\.(js|css)|\.map|\.svg|\.css|\.snap)$|(^|/)(vendor|third_party|node_modules|dist)/",
            &["lock", "depend", "vendor", "style", "css"],
        ),
    ]
});

/// What is left of a place's evidence.
pub fn factor(question: &QueryFeatures, passage: &IndexedPassage) -> f32 {
    let is_asked_path = question
        .path
        .as_ref()
        .is_some_and(|path| passage.location.starts_with(path.trim_matches('/')));
    let is_aside =
        SORTS.iter().any(|sort| sort.path.is_match(&passage.location) && !asks_for(question, sort));
    if is_aside && !is_asked_path { FACTOR } else { 1.0 }
}

fn asks_for(question: &QueryFeatures, sort: &Sort) -> bool {
    let words = question.texts.iter().flat_map(|text| &text.words);
    words.into_iter().any(|word| sort.words.iter().any(|asked| word.stem.starts_with(asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_told_by_their_paths() {
        let is_aside = |path: &str| SORTS.iter().any(|sort| sort.path.is_match(path));
        for path in [
            "tests/binary.rs",
            "crates/x/src/testutil.rs",
            "CHANGELOG.md",
            "doc/CHANGELOG",
            "config/locales/de.yml",
            "Cargo.lock",
            "web/dist/a.js",
            "a/gantt.css",
            "src/cart.spec.ts",
        ] {
            assert!(is_aside(path), "{path}");
        }
        for path in [
            "src/latest.rs",
            "src/contest/mod.rs",
            "docs/guide.md",
            "src/locale.rs",
            "src/news_item.rb",
        ] {
            assert!(!is_aside(path), "{path}");
        }
    }
}
