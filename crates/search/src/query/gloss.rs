//! English gloss of a Russian query, word by word.
//!
//! The default embedding model supports only English, and many teams that query in Russian write
//! their notes in English. A glossary of software terms is enough to find such notes. Other words
//! are transliterated, because most of them are names or borrowed from English.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::analyzer::{TermKind, analyze, is_stop_word};

/// Minimum share of the query's significant words that are in the glossary or in Latin letters.
const KNOWN_SHARE: f32 = 0.34;

/// English words by the stem of the Russian word.
static GLOSSARY: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("glossary.ru.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut glossary = HashMap::new();
    for (russian, english) in lines.filter_map(|line| line.split_once('\t')) {
        for word in russian.split(' ') {
            glossary.entry(stem(word)).or_insert_with(|| english.split(' ').collect());
        }
    }
    glossary
});

/// English gloss of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gloss {
    /// Significant words in the order of the query.
    pub text: String,
    /// English words for each word that is not in Latin letters, the most common first.
    pub words: Vec<Vec<String>>,
}

/// Returns the English gloss of a text; `None` if it is English or too few of its words are known.
pub fn english(text: &str) -> Option<Gloss> {
    // A fast exit, because most queries are not in Russian.
    if !text.chars().any(is_cyrillic) {
        return None;
    }
    let (mut parts, mut words): (Vec<String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    let mut known = 0_usize;
    let mut seen = HashSet::new();
    for part in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '?' | '!' | '"'))
    {
        let part = part.trim_matches(|c: char| !c.is_alphanumeric());
        if part.is_empty() {
            continue;
        }
        if !part.chars().any(is_cyrillic) {
            parts.push(part.to_owned());
            known += 1;
            continue;
        }
        let lower = part.to_lowercase();
        let stem = stem(&lower);
        if is_stop_word(&lower) || is_stop_word(&stem) || !seen.insert(stem.clone()) {
            continue;
        }
        let meanings: Vec<String> = match GLOSSARY.get(&stem) {
            Some(meanings) => {
                known += 1;
                meanings.iter().map(|word| (*word).to_owned()).collect()
            }
            None => spellings(&stem),
        };
        parts.extend(meanings.first().cloned());
        words.push(meanings);
    }
    let is_known = known as f32 >= KNOWN_SHARE * parts.len() as f32;
    (is_known && !words.is_empty()).then(|| Gloss { text: parts.join(" "), words })
}

/// Returns the stem of a lower-case word, as the analyzer does.
fn stem(word: &str) -> String {
    let lexemes = analyze(word);
    let stem = lexemes.iter().find(|lexeme| matches!(lexeme.kind, TermKind::Word | TermKind::Part));
    stem.map_or_else(|| word.to_owned(), |lexeme| lexeme.text.clone())
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{4FF}')
}

/// Returns the transliteration of a borrowed word, with variants of letters that Russian lacks.
fn spellings(stem: &str) -> Vec<String> {
    let plain: String = stem.chars().map(latin).collect();
    let mut spellings = vec![plain.clone()];
    for (sound, letter) in
        [("k", "c"), ("ks", "x"), ("v", "w"), ("kv", "qu"), ("f", "ph"), ("y", "i")]
    {
        let spelled = plain.replace(sound, letter);
        if !spellings.contains(&spelled) {
            spellings.push(spelled);
        }
    }
    spellings
}

fn latin(c: char) -> &'static str {
    match c {
        'а' => "a",
        'б' => "b",
        'в' => "v",
        'г' => "g",
        'д' => "d",
        'е' | 'э' => "e",
        'ж' => "zh",
        'з' => "z",
        'и' => "i",
        'й' | 'ы' => "y",
        'к' => "k",
        'л' => "l",
        'м' => "m",
        'н' => "n",
        'о' => "o",
        'п' => "p",
        'р' => "r",
        'с' => "s",
        'т' => "t",
        'у' => "u",
        'ф' => "f",
        'х' => "h",
        'ц' => "ts",
        'ч' => "ch",
        'ш' | 'щ' => "sh",
        'ю' => "yu",
        'я' => "ya",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn inflected_words_are_found_in_the_glossary() {
        let gloss = english("почему падают тесты после обновления библиотек в Docker?").unwrap();
        assert_eq!(gloss.text, "failure test update library Docker");
        assert_eq!(gloss.words[0], ["failure", "crash"]);
    }

    #[test]
    fn borrowed_words_are_transliterated() {
        let gloss = english("конфигурация Терраформа и токен воркера").unwrap();
        assert!(gloss.words.iter().any(|word| word.contains(&"terraform".to_owned())), "{gloss:?}");
        assert!(gloss.words.iter().any(|word| word.contains(&"worker".to_owned())), "{gloss:?}");
    }

    #[test]
    fn english_and_unknown_texts_have_no_gloss() {
        assert_eq!(english("why does the build fail"), None);
        assert_eq!(english("мороз и солнце день чудесный ещё дремлет друг прелестный"), None);
        assert_eq!(english(""), None);
    }
}
