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
const TRANSLATION_EXTENSIONS: [&str; 4] = ["po", "resx", "xlf", "xliff"];
/// Starts of words that ask for translations: English, and Russian.
const TRANSLATION_WORDS: [&str; 9] = [
    "i18n",
    "internationali",
    "l10n",
    "language",
    "locale",
    "locali",
    "translat",
    "перевод",
    "язык",
];
/// The two-letter codes of languages (ISO 639-1).
const LANGUAGES: &str = "\
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv \
    cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht \
    hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la \
    lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj \
    om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv \
    sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

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

/// Returns what the translations of the same texts of a program have in common: the path with `*`
/// in place of the language. `None` for a file that is no translation.
pub fn translated_path(path: &str) -> Option<String> {
    let (_, extension) = path.rsplit_once('.')?;
    let is_translation = TRANSLATION_EXTENSIONS.contains(&extension)
        || DATA_EXTENSIONS.contains(&extension) && has_directory(path, &TRANSLATION_DIRECTORIES);
    if !is_translation {
        return None;
    }
    let is_separator = |c: char| matches!(c, '/' | '.');
    let (start, language) = path.split(is_separator).rev().find_map(|part| {
        let language = language_in(part)?;
        let start = language.as_ptr() as usize - path.as_ptr() as usize;
        Some((start, language))
    })?;
    Some([&path[..start], "*", &path[start + language.len()..]].concat())
}

/// Returns the language that a name is or ends with: `de`, `pt-BR`, `messages_de`.
fn language_in(name: &str) -> Option<&str> {
    let is_code =
        |code: &str| code.len() == 2 && LANGUAGES.split_whitespace().any(|known| known == code);
    let is_region = |region: &str| {
        let is_script = region.len() == 4 && region.chars().all(char::is_alphabetic);
        let is_area = region.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
        is_script || matches!(region.len(), 2 | 3) && is_area
    };
    let parts: Vec<&str> = name.split(['-', '_']).collect();
    let at = parts.iter().rposition(|part| is_code(part))?;
    let is_end = parts[at + 1..].iter().all(|region| is_region(region));
    let length: usize = parts[..at].iter().map(|part| part.len() + 1).sum();
    is_end.then(|| &name[length..])
}

/// Returns whether a word, in lower case, asks for translations.
pub fn is_word_for_translations(word: &str) -> bool {
    TRANSLATION_WORDS.iter().any(|start| word.starts_with(start))
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
    fn translations_are_known_by_directory_extension_and_language() {
        for (path, common) in [
            ("config/locales/de.yml", "config/locales/*.yml"),
            ("config/locales/sr-Latn-YU.yml", "config/locales/*.yml"),
            ("config/locales/ch.yml", "config/locales/*.yml"),
            ("config/locales/devise.en.yml", "config/locales/devise.*.yml"),
            ("src/i18n/pt-BR/common.json", "src/i18n/*/common.json"),
            ("locale/fr/LC_MESSAGES/django.po", "locale/*/LC_MESSAGES/django.po"),
            ("po/zh_CN.po", "po/*.po"),
            ("Locale/x/messages_de.properties", "Locale/x/messages_*.properties"),
        ] {
            assert_eq!(translated_path(path).as_deref(), Some(common), "{path}");
        }
        for path in [
            "src/i18n/load.rs",
            "config/locales.yml",
            "lang/Cargo.toml",
            "lang/c.c",
            "data/de.json",
            "po",
            "po/django.pot",
            "languages/java/app/application-dev.yml",
        ] {
            assert_eq!(translated_path(path), None, "{path}");
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
