//! What the path of a file in a repository says about its code.

/// Tag of code that tests other code.
const TEST_TAG: &str = "test";
/// Tag of code that was generated, or copied from elsewhere.
const GENERATED_TAG: &str = "generated";

/// Directories at the top of a path that become tags.
const TOP_DIRECTORIES: usize = 2;
/// Names of directories with tests.
const TEST_DIRECTORIES: [&str; 6] = ["test", "tests", "spec", "specs", "__tests__", "testdata"];
/// Names of directories with copied or generated code.
const GENERATED_DIRECTORIES: [&str; 6] =
    ["vendor", "node_modules", "third_party", "generated", "dist", "build"];

/// Names of directories with translations of the texts of a program.
const TRANSLATION_DIRECTORIES: [&str; 9] = [
    "i18n",
    "l10n",
    "lang",
    "langs",
    "languages",
    "locale",
    "locales",
    "localization",
    "translations",
];
/// Extensions of files that such a directory has besides code.
const DATA_EXTENSIONS: [&str; 9] =
    ["arb", "ftl", "ini", "json", "properties", "strings", "toml", "yaml", "yml"];
/// Extensions of files that have nothing but translations.
const TRANSLATION_EXTENSIONS: [&str; 5] = ["po", "pot", "resx", "xlf", "xliff"];
/// Words that ask for translations, besides the names of their directories.
const TRANSLATION_WORDS: [&str; 5] =
    ["language", "translate", "translated", "translating", "translation"];

/// Returns the tags of a file of code: the names of its topmost directories in lower case,
/// `test` and `generated`.
pub fn tags(path: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let kinds = [(TEST_TAG, is_test(path)), (GENERATED_TAG, is_generated(path))];
    let kinds = kinds.into_iter().filter(|(_, is_of_kind)| *is_of_kind);
    let names = directories(path).take(TOP_DIRECTORIES).map(str::to_lowercase);
    for tag in names.chain(kinds.map(|(tag, _)| tag.to_owned())) {
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Returns whether a path is one of a test, by its directories and its name.
pub fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_named = stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec");
    is_named
        || name.contains(".test.")
        || name.contains(".spec.")
        || has_directory(path, &TEST_DIRECTORIES)
}

/// Returns whether a path is one of generated or copied code, by its directories.
pub fn is_generated(path: &str) -> bool {
    has_directory(path, &GENERATED_DIRECTORIES)
}

/// Returns whether a path is one of translations of a program's texts, by its directories and its
/// extension.
pub fn is_translation(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    TRANSLATION_EXTENSIONS.contains(&extension)
        || DATA_EXTENSIONS.contains(&extension) && has_directory(path, &TRANSLATION_DIRECTORIES)
}

/// Returns whether a word, in lower case, asks for translations.
pub fn is_word_for_translations(word: &str) -> bool {
    TRANSLATION_DIRECTORIES.contains(&word) || TRANSLATION_WORDS.contains(&word)
}

/// Returns whether a word asks for tests.
pub fn is_word_for_tests(word: &str) -> bool {
    TEST_DIRECTORIES.contains(&word)
}

fn has_directory(path: &str, names: &[&str]) -> bool {
    directories(path).any(|directory| names.contains(&directory.to_lowercase().as_str()))
}

fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit_once('/').into_iter().flat_map(|(directories, _)| directories.split('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_top_directories_and_kinds() {
        for (path, expected) in [
            ("main.rs", &[][..]),
            ("src/cart.rs", &["src"]),
            ("crates/Rag/src/union.rs", &["crates", "rag"]),
            ("tests/cart.rs", &["tests", "test"]),
            ("src/cart_test.go", &["src", "test"]),
            ("app/test/cart.rb", &["app", "test"]),
            ("web/vendor/jquery/core.js", &["web", "vendor", "generated"]),
            ("generated/api.ts", &["generated"]),
        ] {
            assert_eq!(tags(path), expected, "{path}");
        }
    }

    #[test]
    fn translations_are_known_by_directory_and_extension() {
        let paths =
            ["config/locales/de.yml", "src/i18n/en.json", "po/fr.po", "Locale/x/a.properties"];
        for path in paths {
            assert!(is_translation(path), "{path}");
        }
        for path in ["src/i18n/load.rs", "config/locales.yml", "lang/c.c", "data/de.json", "po"] {
            assert!(!is_translation(path), "{path}");
        }
    }

    #[test]
    fn tests_are_known_by_directory_and_name() {
        for path in ["spec/a.rb", "a/__tests__/b.js", "test_a.py", "a.test.ts", "a/b_spec.rb"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/testing.rs", "latest/a.rs", "contest.py", "tests"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
