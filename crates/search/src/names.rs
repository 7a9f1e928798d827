//! Spellings of symbols and paths by which they are looked up exactly.
//!
//! `CartSessions::Setting#delay` is found by its whole name, by `Setting#delay`, `setting.delay`
//! and `delay`; `app/models/cart.rb` by itself, `models/cart.rb` and `cart.rb`. Each such tail is a
//! term of its own, so that a look-up is one term and no scan.

use crate::analyzer::MAX_TERM_BYTES;

/// Tails kept of one name; deeper ones are found by their words.
const MAX_TAILS: usize = 16;

/// A symbol's look-up spelling: lower case, every separator a dot, without call parentheses or a
/// method's `?` and `!`. `None` where nothing is left or it is no name.
pub fn symbol_key(symbol: &str) -> Option<String> {
    let name = symbol.trim().trim_matches(['`', '"', '\'']);
    let name = name.split('(').next().unwrap_or_default().trim_end_matches(['?', '!', ';', ',']);
    let mut key = String::with_capacity(name.len());
    let mut separated = true;
    for c in name.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '?' | '!') {
            key.extend(c.to_lowercase());
            separated = false;
        } else if matches!(c, ':' | '#' | '.' | '/' | '\\' | '-' | '>' | '&') {
            if !separated {
                key.push('.');
            }
            separated = true;
        } else {
            return None;
        }
    }
    if key.ends_with('.') {
        key.pop();
    }
    let usable = !key.is_empty() && key.len() <= MAX_TERM_BYTES * 2;
    usable.then_some(key)
}

/// A path's look-up spelling: lower case, forward slashes, without `./`, a leading slash or a
/// trailing `:12:3`.
pub fn path_key(path: &str) -> Option<String> {
    let path = path.trim().trim_matches(['`', '"', '\'']).replace('\\', "/");
    let path = without_position(&path);
    let path = path.trim_start_matches("./").trim_matches('/').to_lowercase();
    let usable = !path.is_empty() && path.len() <= MAX_TERM_BYTES * 4;
    usable.then_some(path)
}

/// `key` and what remains of it behind each `separator`, longest first.
pub fn tails(key: &str, separator: char) -> impl Iterator<Item = &str> {
    let behind = key.match_indices(separator).map(move |(at, _)| &key[at + separator.len_utf8()..]);
    std::iter::once(key).chain(behind).filter(|tail| !tail.is_empty()).take(MAX_TAILS)
}

/// Whether `name` is `of` or a tail of it.
pub fn is_tail(name: &str, of: &str, separator: char) -> bool {
    of.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with(separator))
}

/// Whether `path` is `directory` or lies below it.
pub fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `name` stands in `text` with no letter, digit or underscore on either side.
pub fn has_name(text: &str, name: &str) -> bool {
    let outside = |c: char| !c.is_alphanumeric() && c != '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            text[..at].chars().next_back().is_none_or(outside)
                && text[at + name.len()..].chars().next().is_none_or(outside)
        })
}

/// Cuts `:12` or `:12:3` off the end, as compilers and stack traces write it.
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
    fn names_are_found_whole() {
        assert!(has_name("see cart#total here", "total") && !has_name("subtotal_x", "total"));
    }

    #[test]
    fn spellings_of_one_symbol_meet() {
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
    fn tails_are_what_people_type() {
        let tails: Vec<&str> = tails("cartsessions.setting.delay", '.').collect();
        assert_eq!(tails, ["cartsessions.setting.delay", "setting.delay", "delay"]);
        assert!(is_tail("setting.delay", "cartsessions.setting.delay", '.'));
        assert!(!is_tail("ting.delay", "cartsessions.setting.delay", '.'));
    }

    #[test]
    fn paths_lose_what_traces_add() {
        assert_eq!(path_key("./App\\models/cart.rb:12:3").as_deref(), Some("app/models/cart.rb"));
        assert_eq!(path_key("/"), None);
    }
}
