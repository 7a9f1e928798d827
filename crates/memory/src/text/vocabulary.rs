//! Words with a special role when two notes are compared, in English and Russian.

mod lists;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

pub use lists::UNITS;
use lists::{CANONICAL, NEGATIONS, RELATIONS, STOP};

/// Words of which a mere placeholder consists.
const PLACEHOLDERS: &[&str] = &[
    "todo",
    "tbd",
    "tba",
    "fixme",
    "xxx",
    "wip",
    "n/a",
    "na",
    "none",
    "null",
    "nil",
    "undefined",
    "test",
    "testing",
    "tests",
    "foo",
    "bar",
    "baz",
    "qux",
    "foobar",
    "asdf",
    "qwerty",
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "placeholder",
    "example",
    "sample",
    "untitled",
    "content",
    "text",
    "note",
    "memory",
    "fact",
    "string",
    "empty",
    "blank",
    "yes",
    "done",
    "fixed",
    "works",
    "good",
    "great",
    "nice",
    "cool",
    "abc",
    "тест",
    "тестирование",
    "проверка",
    "пусто",
    "пример",
    "заметка",
    "готово",
    "сделано",
    "исправлено",
    "работает",
    "да",
    "ок",
    "хорошо",
    "факт",
    "текст",
];

/// The lists as look-up tables, as every word of every compared note is looked up.
struct Tables {
    stop: HashSet<&'static str>,
    negations: HashSet<&'static str>,
    placeholders: HashSet<&'static str>,
    relations: HashMap<&'static str, &'static str>,
    canonical: HashMap<&'static str, &'static str>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    stop: STOP.iter().copied().collect(),
    negations: NEGATIONS.iter().copied().collect(),
    placeholders: PLACEHOLDERS.iter().copied().collect(),
    relations: first_of_each(RELATIONS),
    canonical: first_of_each(CANONICAL),
});

/// Collects pairs; of a repeated word, the first counts.
fn first_of_each(pairs: &[(&'static str, &'static str)]) -> HashMap<&'static str, &'static str> {
    pairs.iter().rev().copied().collect()
}

/// Whether `word` (lower case) has no meaning of its own.
pub fn is_stop(word: &str) -> bool {
    TABLES.stop.contains(word)
}

/// Whether `word` (lower case, without apostrophes) denies.
pub fn is_negation(word: &str) -> bool {
    TABLES.negations.contains(word)
}

/// Whether `word` (lower case) is a placeholder.
pub fn is_placeholder(word: &str) -> bool {
    TABLES.placeholders.contains(word)
}

/// Returns the relation that `word` (lower case) expresses.
pub fn relation(word: &str) -> Option<&'static str> {
    TABLES.relations.get(word).copied()
}

/// Returns the canonical form of `word` (lower case), if it has one.
pub fn canonical(word: &str) -> Option<&'static str> {
    TABLES.canonical.get(word).copied()
}
