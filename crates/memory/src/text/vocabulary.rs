//! Words with a special role in comparisons, in English and Russian, in lower case.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Words without meaning of their own: articles, auxiliaries, weak prepositions, pronouns,
/// obligation (a note states what should be done anyway) and politeness.
const STOP: &str = "
    a about actually also am an and are as at attention basically be been being but by did do
    does doing done dear everybody everyone folks for fyi guys had has have having he hello here
    hey hi i important in into is it its just kindly let me my need needs note now of ok okay on
    or our ought please really remember reminder shall she should so team thank thanks that the
    their them then there these they this those to very was we well were which will with would
    you your must why how what where who whom whose when
    а благодарю будет будут бы был была были было быть в важно ведь внимание во вот все-таки вы
    где для добрый день должен должна должно должны ее его если есть же здравствуйте и из или им
    их к как ко коллеги кстати ли мне мы на надо нам наш нужно о об обратите он она они оно от
    очень по пожалуйста помните помни при привет просто ребята с следует со спасибо так также
    там то ты у учтите уже что чтобы эта эти это этот я почему зачем кто какой какая какие какое
    когда сколько делать
";

/// Words that deny; all count as the canonical mark.
const NEGATIONS: &str = "
    not no never cannot cant dont doesnt didnt wont isnt arent shouldnt mustnt wasnt werent nor
    neither avoid
    не ни нет нельзя никогда запрещено избегай избегайте
";

/// Words of which a mere placeholder consists.
const PLACEHOLDERS: &str = "
    todo tbd tba fixme xxx wip n/a na none null nil undefined test testing tests foo bar baz qux
    foobar asdf qwerty lorem ipsum dolor sit amet placeholder example sample untitled content
    text note memory fact string empty blank yes done fixed works good great nice cool abc
    тест тестирование проверка пусто пример заметка готово сделано исправлено работает да ок
    хорошо факт текст
";

/// Relations to what follows, with the words that express them.
const RELATIONS: &[(&str, &str)] = &[
    ("before", "before до перед"),
    ("after", "after после"),
    ("than", "than чем"),
    ("from", "from"),
    ("instead", "instead вместо"),
    ("without", "without без"),
    ("except", "except кроме"),
    ("unless", "unless"),
    ("until", "until пока"),
    ("over", "over"),
    ("under", "under"),
];

/// Canonical forms with their synonyms: numerals, units, quantities, abbreviations.
const CANONICAL: &[(&str, &str)] = &[
    ("0", "zero ноль"),
    ("1", "one один одна"),
    ("2", "two twice два две"),
    ("3", "three три"),
    ("4", "four четыре"),
    ("5", "five пять"),
    ("6", "six шесть"),
    ("7", "seven семь"),
    ("8", "eight восемь"),
    ("9", "nine девять"),
    ("10", "ten десять"),
    ("11", "eleven"),
    ("12", "twelve"),
    ("s", "second seconds sec secs секунд секунды секунда сек с."),
    ("min", "minute minutes mins минут минуты мин"),
    ("h", "hour hours hrs часов часа час"),
    ("ms", "millisecond milliseconds мс"),
    ("d", "day days дней дня"),
    ("%", "percent процент процентов"),
    ("x", "time times раза раз"),
    ("all", "every each any все всех каждый любой"),
    ("may", "can could might можно может могут"),
    ("database", "db бд"),
    ("configuration", "config"),
    ("repository", "repo"),
    ("environment", "env"),
    ("production", "prod"),
    ("development", "dev"),
    ("folder", "dir directory directories folders"),
    ("parameter", "param params"),
    ("argument", "arg args"),
    ("function", "func"),
    ("documentation", "docs"),
    ("application", "app"),
    ("authentication", "auth"),
];

/// Units that may directly follow a number.
pub const UNITS: &[&str] =
    &["s", "ms", "min", "h", "d", "x", "%", "k", "kb", "mb", "gb", "tb", "px", "сек", "мс", "мин"];

/// The lists as look-up tables, as every word of every compared note is looked up.
struct Tables {
    stop: HashSet<&'static str>,
    negations: HashSet<&'static str>,
    placeholders: HashSet<&'static str>,
    relations: HashMap<&'static str, &'static str>,
    canonical: HashMap<&'static str, &'static str>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    stop: STOP.split_whitespace().collect(),
    negations: NEGATIONS.split_whitespace().collect(),
    placeholders: PLACEHOLDERS.split_whitespace().collect(),
    relations: by_word(RELATIONS),
    canonical: by_word(CANONICAL),
});

/// Returns the first item of each pair by each word of the second.
fn by_word(groups: &[(&'static str, &'static str)]) -> HashMap<&'static str, &'static str> {
    let words = |&(item, words): &(&'static str, &'static str)| {
        words.split_whitespace().map(move |word| (word, item))
    };
    groups.iter().flat_map(words).collect()
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
