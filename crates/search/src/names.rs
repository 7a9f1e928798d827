//! Normalized spellings of symbols and paths for exact lookups.
//!
//! `CartSessions::Setting#delay` is found by its full name, by `Setting#delay`, `setting.delay` and
//! `delay`; `app/models/cart.rb` by its full path, `models/cart.rb` and `cart.rb`. Each such suffix
//! is an indexed term, so that a lookup needs one term and no scan.

use crate::analyzer::MAX_TERM_BYTES;

/// Maximum number of suffixes of a name. Others are found by their words.
const MAX_SUFFIXES: usize = 16;

/// Returns the normalized spelling of a symbol: lower case, dots as separators, without call
/// parentheses or a method's `?` and `!`. Returns `None` if it is empty or not a name.
pub fn symbol_key(symbol: &str) -> Option<String> {
    let name = symbol.trim().trim_matches(['`', '"', '\'']);
    let name = name.split('(').next().unwrap_or_default().trim_end_matches(['?', '!', ';', ',']);
    let mut key = String::with_capacity(name.len());
    let mut is_separated = true;
    for c in name.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '?' | '!') {
            key.extend(c.to_lowercase());
            is_separated = false;
        } else if matches!(c, ':' | '#' | '.' | '/' | '\\' | '-' | '>' | '&') {
            if !is_separated {
                key.push('.');
            }
            is_separated = true;
        } else {
            return None;
        }
    }
    if key.ends_with('.') {
        key.pop();
    }
    let is_valid = !key.is_empty() && key.len() <= MAX_TERM_BYTES * 2;
    is_valid.then_some(key)
}

/// Returns the normalized spelling of a path: lower case, `/`, without `./` or a trailing `:12:3`.
pub fn path_key(path: &str) -> Option<String> {
    let path = path.trim().trim_matches(['`', '"', '\'']).replace('\\', "/");
    let path = without_position(&path);
    let path = path.trim_start_matches("./").trim_matches('/').to_lowercase();
    let is_valid = !path.is_empty() && path.len() <= MAX_TERM_BYTES * 4;
    is_valid.then_some(path)
}

/// Returns `key` and its suffixes after each `separator`, longest first.
pub fn suffixes(key: &str, separator: char) -> impl Iterator<Item = &str> {
    let suffixes =
        key.match_indices(separator).map(move |(index, _)| &key[index + separator.len_utf8()..]);
    std::iter::once(key).chain(suffixes).filter(|suffix| !suffix.is_empty()).take(MAX_SUFFIXES)
}

/// Returns whether `name` is `key` or one of its suffixes after a separator.
pub fn is_tail(name: &str, key: &str, separator: char) -> bool {
    key.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with(separator))
}

/// Returns whether `path` is `directory` or inside it.
pub fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether `text` contains `name` as a whole word of letters, digits and underscores.
pub fn has_name(text: &str, name: &str) -> bool {
    let is_boundary = |c: char| !c.is_alphanumeric() && c != '_';
    !name.is_empty()
        && text.match_indices(name).any(|(start, _)| {
            text[..start].chars().next_back().is_none_or(is_boundary)
                && text[start + name.len()..].chars().next().is_none_or(is_boundary)
        })
}

/// Removes `:12` or `:12:3` from the end, which compilers and stack traces add.
fn without_position(path: &str) -> &str {
    let mut path = path;
    while let Some((head, tail)) = path.rsplit_once(':')
        && !head.is_empty()
        && tail.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    {
        path = head;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_separate_words_are_names() {
        assert!(has_name("see cart#total here", "total") && !has_name("subtotal_x", "total"));
    }

    #[test]
    fn spellings_of_a_symbol_have_one_key() {
        for symbol in [
            "CartSessions::Setting#delay",
            "cartsessions.setting.delay",
            "CartSessions\\Setting->delay()",
        ] {
            assert_eq!(
                symbol_key(symbol).as_deref(),
                Some("cartsessions.setting.delay"),
                "{symbol}"
            );
        }
        assert_eq!(symbol_key("valid?").as_deref(), Some("valid"));
        assert_eq!(symbol_key("two words"), None);
        assert_eq!(symbol_key("::"), None);
    }

    #[test]
    fn suffixes_start_after_each_separator() {
        let suffixes: Vec<&str> = suffixes("cartsessions.setting.delay", '.').collect();
        assert_eq!(suffixes, ["cartsessions.setting.delay", "setting.delay", "delay"]);
        assert!(is_tail("setting.delay", "cartsessions.setting.delay", '.'));
        assert!(!is_tail("ting.delay", "cartsessions.setting.delay", '.'));
    }

    #[test]
    fn path_key_has_no_line_numbers() {
        assert_eq!(path_key("./App\\models/cart.rb:12:3").as_deref(), Some("app/models/cart.rb"));
        assert_eq!(path_key("/"), None);
    }
}
