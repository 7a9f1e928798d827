//! Detection of symbols and paths in a query.

use super::{Query, prefix};
use crate::names;

/// Maximum number of names of a query. More names are still searched as words.
const MAX_NAMES: usize = 32;

/// Certainty that a query is about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The text contains the name.
    Mentioned,
    /// The caller passed the name, or the text is only the name.
    Named,
}

/// Symbol or path in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Normalized spelling for lookups ([`names::symbol_key`], [`names::path_key`]).
    pub key: String,
    /// Spelling in the query.
    pub written: String,
    /// Certainty that the query is about it.
    pub certainty: Certainty,
}

/// Names in a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    /// Symbols, most certain first.
    pub symbols: Vec<Name>,
    /// Paths, most certain first.
    pub paths: Vec<Name>,
    /// Identifiers (`E0123`, `CS-214`, `trigger_delay`) in lower case.
    pub identifiers: Vec<String>,
    /// Stems of the words of the scope prefix (`fix(jwt): ...`).
    pub scope_prefix: Vec<String>,
}

/// Collects the caller's names, and the words of the text that look like a symbol or a file.
pub fn parse(query: &Query) -> ParsedQuery {
    let mut found =
        ParsedQuery { scope_prefix: prefix::terms(&query.text), ..ParsedQuery::default() };
    for symbol in &query.symbols {
        add(&mut found.symbols, names::symbol_key(symbol), symbol, Certainty::Named);
    }
    for path in &query.paths {
        add(&mut found.paths, names::path_key(path), path, Certainty::Named);
    }
    found.identifiers.extend(query.ids.iter().take(MAX_NAMES).map(|id| id.to_lowercase()));
    let mut words = query.text.split_whitespace();
    let only_word = match (words.next(), words.next()) {
        (Some(word), None) => Some(word),
        _ => None,
    };
    for word in query.text.split_whitespace().map(trimmed) {
        let certainty = if only_word.is_some() { Certainty::Named } else { Certainty::Mentioned };
        if looks_like_path(word) {
            add(&mut found.paths, names::path_key(word), word, certainty);
        }
        if is_identifier(word) && found.identifiers.len() < MAX_NAMES {
            found.identifiers.push(word.to_lowercase());
        }
        if only_word.is_some() || looks_like_symbol(word) {
            add(&mut found.symbols, names::symbol_key(word), word, certainty);
        }
    }
    found
}

fn add(names: &mut Vec<Name>, key: Option<String>, written: &str, certainty: Certainty) {
    let Some(key) = key else { return };
    if names.len() < MAX_NAMES && !names.iter().any(|name| name.key == key) {
        names.push(Name { key, written: trimmed(written).to_owned(), certainty });
    }
}

/// Removes the punctuation around a name in prose.
fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '`', '«', '“', '*']);
    word.trim_end_matches([
        ')', ']', '}', '>', '"', '\'', '`', '»', '”', '*', ',', ';', '.', '!', '?', ':',
    ])
}

/// Returns whether the word has a slash between names, or a short extension. A URL is not a path.
fn looks_like_path(word: &str) -> bool {
    if word.contains("://") || word.len() < 3 {
        return false;
    }
    let inner_slash = word.trim_matches('/').contains(['/', '\\']);
    inner_slash || has_extension(word)
}

fn has_extension(word: &str) -> bool {
    let word = word.split(':').next().unwrap_or_default();
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Returns whether the word has a separator of code, an underscore, or camel case.
fn looks_like_symbol(word: &str) -> bool {
    let word = word.split('(').next().unwrap_or_default();
    let has_separator = word.contains("::")
        || word.contains("->")
        || between_names(word, '#')
        || between_names(word, '.')
        || between_names(word, '_');
    let is_camel_case =
        word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    has_separator || is_camel_case
}

/// Returns whether the word has letters and digits, or looks like a symbol.
fn is_identifier(word: &str) -> bool {
    let has = |is_kind: fn(char) -> bool| word.chars().any(is_kind);
    (has(char::is_alphabetic) && has(char::is_numeric)) || looks_like_symbol(word)
}

fn between_names(word: &str, separator: char) -> bool {
    word.split_once(separator).is_some_and(|(before, after)| {
        before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use mc_domain::ProjectId;
    use mc_store::passages::PassageFilter;

    use super::*;

    fn names(text: &str) -> (Vec<String>, Vec<String>) {
        let filter = PassageFilter::project(ProjectId::generate());
        let found = parse(&Query::text(text, filter));
        let keys = |names: Vec<Name>| names.into_iter().map(|name| name.key).collect();
        (keys(found.symbols), keys(found.paths))
    }

    #[test]
    fn names_are_distinguished_from_prose() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("why does the cart forget its items", &[], &[]),
            ("where is `Setting#delay` read?", &["setting.delay"], &[]),
            ("see CartSessions::Setting, it fails.", &["cartsessions.setting"], &[]),
            ("parseUserId() returns None", &["parseuserid"], &[]),
            ("app/models/cart.rb:12: boom", &[], &["app/models/cart.rb"]),
            ("look at https://example.org/a/b.html", &[], &[]),
            ("setting", &["setting"], &[]),
            ("ошибка в trigger_delay, при старте.", &["trigger_delay"], &[]),
        ];
        for (text, symbols, paths) in cases {
            let (found_symbols, found_paths) = names(text);
            assert_eq!(found_paths, *paths, "{text}");
            for symbol in *symbols {
                assert!(found_symbols.iter().any(|s| s == symbol), "{text}: {found_symbols:?}");
            }
        }
    }

    #[test]
    fn name_from_the_caller_is_more_certain_than_one_in_the_text() {
        let mut query =
            Query::text("Setting.delay is ignored", PassageFilter::project(ProjectId::generate()));
        query.symbols.push("Setting#delay".into());
        let found = parse(&query);
        assert_eq!(found.symbols.len(), 1, "one name, however spelled");
        assert_eq!(found.symbols[0].certainty, Certainty::Named);
    }
}
