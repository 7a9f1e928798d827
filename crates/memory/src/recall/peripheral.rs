//! Peripheral files, which match the words of many queries and are seldom the subject: tests,
//! change logs, translations, lock files, vendored code.

use std::sync::LazyLock;

use mc_store::passages::IndexedPassage;
use regex::Regex;

use crate::confidence::QueryFeatures;
use crate::text::regex;

/// Factor on the evidence of such a file, unless the query names its kind.
const FACTOR: f32 = 0.6;

/// A kind of file, by its path, and the stems of words that ask for it.
struct FileKind {
    path: Regex,
    words: &'static [&'static str],
}

static KINDS: LazyLock<Vec<FileKind>> = LazyLock::new(|| {
    let kind = |path: &str, words| FileKind { path: regex(&format!("(?i){path}")), words };
    vec![
        kind(
            concat!(
                r"(^|/)(tests?|specs?|__tests__|fixtures?|testdata|benches|benchmarks?|",
                r"benchsuite)(/|$)|[._-](test|spec)\.\w+$|(^|/)test_|testutil",
            ),
            &["test", "spec", "fixtur", "benchmark"],
        ),
        kind(
            r"(^|/)(change_?log|changes|history|news|releases?)(\.\w+)?$",
            &["changelog", "releas", "version", "chang"],
        ),
        kind(
            r"(^|/)(locales?|i18n|lang|translations?)/",
            &["translat", "local", "languag", "i18n"],
        ),
        kind(
            concat!(
                r"(\.lock|-lock\.json|\.min\.(js|css)|\.map|\.svg|\.css|\.snap)$|(^|/)(vendor|",
                r"third_party|node_modules|dist)/",
            ),
            &["lock", "depend", "vendor", "style", "css"],
        ),
    ]
});

/// Returns the factor on a place's evidence.
pub fn factor(features: &QueryFeatures, passage: &IndexedPassage) -> f32 {
    let is_asked_path = features
        .path
        .as_ref()
        .is_some_and(|path| passage.location.starts_with(path.trim_matches('/')));
    let is_peripheral =
        KINDS.iter().any(|kind| kind.path.is_match(&passage.location) && !asks_for(features, kind));
    if is_peripheral && !is_asked_path { FACTOR } else { 1.0 }
}

fn asks_for(features: &QueryFeatures, kind: &FileKind) -> bool {
    let words = features.texts.iter().flat_map(|text| &text.words);
    words.into_iter().any(|word| kind.words.iter().any(|stem| word.stem.starts_with(stem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_kind_is_recognized_by_path() {
        let is_peripheral = |path: &str| KINDS.iter().any(|kind| kind.path.is_match(path));
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
            assert!(is_peripheral(path), "{path}");
        }
        for path in [
            "src/latest.rs",
            "src/contest/mod.rs",
            "docs/guide.md",
            "src/locale.rs",
            "src/news_item.rb",
        ] {
            assert!(!is_peripheral(path), "{path}");
        }
    }
}
