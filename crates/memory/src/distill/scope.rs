//! Deriving scopes: the parts of a system that a text, its paths and its symbols are about.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Raw;
use crate::text::regex;

/// Directories that group files by role and do not name a part of the system.
static LAYERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "
        app apps src lib libs pkg packages crates cmd internal main java kotlin python ruby js ts
        go org com io net services service models model controllers controller views view helpers
        helper concerns jobs workers mailers serializers policies presenters decorators queries
        components component pages hooks utils util common shared core api v1 v2 spec specs test
        tests __tests__ unit integration e2e config db migrate public assets static dist build
        vendor node_modules include scripts bin docs doc resources modules module domain handlers
        routes middleware entities repositories dto types interfaces index mod init __init__
        readme home usr var etc opt tmp root users javascripts
    ";
    words.split_whitespace().collect()
});

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?:^|[\s`\x22'(\[<])((?:\.{0,2}/)?[\p{L}0-9_.@-]+(?:/[\p{L}0-9_.@-]+)+/?)")
});
static SYMBOL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[A-Z]\w*(?:(?:::|\.|#)[A-Za-z_]\w*[?!]?)+"));
static CODE: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`\n]{2,120})`"));

/// Derives scopes from cited files and symbols, then from paths, symbols and code of the text.
pub fn derive(raw: &Raw<'_>, content: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    found.extend(raw.files.iter().copied().flat_map(of_path));
    found.extend(raw.symbols.iter().copied().flat_map(of_symbol));
    let paths = PATH.captures_iter(content).filter(|path| !is_url(content, path));
    found.extend(paths.flat_map(|path| of_path(&path[1])));
    let symbols = SYMBOL.find_iter(content).map(|symbol| symbol.as_str());
    found.extend(symbols.filter(|symbol| !symbol.contains(".com")).flat_map(of_symbol));
    found.extend(CODE.captures_iter(content).filter_map(|c| of_code(&c[1])));
    found
}

/// Returns the scopes of a path, the innermost directory first, then the file: for
/// `app/services/cart_sessions/setting.rb`, `cart_sessions` and `setting`.
pub fn of_path(path: &str) -> Vec<String> {
    let parts: Vec<&str> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && !part.starts_with('.')).collect();
    let Some((last, directories)) = parts.split_last() else {
        return Vec::new();
    };
    let is_file = last.contains('.');
    let innermost = directories.iter().rev().find(|directory| is_telling(directory));
    let file = last.split('.').next().unwrap_or_default();
    let file = file.trim_end_matches("_spec").trim_end_matches("_test").trim_start_matches("test_");
    let leaf = is_telling(file).then_some(file);
    let ordered = if is_file { [innermost.copied(), leaf] } else { [leaf, innermost.copied()] };
    let count = if is_file { 2 } else { 1 };
    ordered.into_iter().flatten().take(count).map(snake).collect()
}

/// Returns the namespaces of a symbol: for `CartSessions::Setting#delay`, `cart_sessions` and
/// `setting`.
pub fn of_symbol(symbol: &str) -> Vec<String> {
    let names: Vec<&str> =
        symbol.split(['#', '.', ':', '(']).filter(|part| !part.is_empty()).collect();
    let classes = names.iter().filter(|name| name.starts_with(|c: char| c.is_uppercase()));
    classes.take(2).map(|name| snake(name)).filter(|name| is_telling(name)).collect()
}

/// Returns the scope of a code span that is one name: `delay_unit`, `CartSession`.
fn of_code(span: &str) -> Option<String> {
    let is_name = span.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_class = is_name
        && span.starts_with(|c: char| c.is_uppercase())
        && span.contains(|c: char| c.is_lowercase());
    let is_snake = is_name && span.contains('_');
    (is_class || is_snake).then(|| snake(span)).filter(|name| is_telling(name))
}

fn is_url(content: &str, found: &regex::Captures<'_>) -> bool {
    let path = found.get(1).expect("the group is not optional");
    content[..path.start()].ends_with(':') || path.as_str().starts_with("//")
}

fn is_telling(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.chars().count() > 1
        && !LAYERS.contains(lower.as_str())
        && lower.contains(char::is_alphabetic)
}

/// Converts camel case (`CartSessions`) to snake case, and other names to lower case.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, c) in letters.iter().enumerate() {
        let after_lower =
            at > 0 && (letters[at - 1].is_lowercase() || letters[at - 1].is_ascii_digit());
        let before_lower = at > 0
            && letters[at - 1].is_uppercase()
            && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_lower || before_lower) {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_of_path_skips_layers() {
        let cases: [(&str, &[&str]); 9] = [
            ("app/services/cart_sessions", &["cart_sessions"]),
            ("app/services/cart_sessions/", &["cart_sessions"]),
            ("app/services/cart_sessions/setting.rb", &["cart_sessions", "setting"]),
            ("spec/models/order_spec.rb", &["order"]),
            ("crates/store/src/lib.rs", &["store"]),
            ("src/index.ts", &[]),
            ("packages/web/src/CartWidget.tsx", &["web", "cart_widget"]),
            ("lib/payments", &["payments"]),
            ("", &[]),
        ];
        for (path, expected) in cases {
            assert_eq!(of_path(path), expected, "{path}");
        }
    }

    #[test]
    fn scope_of_symbol_is_its_namespaces() {
        assert_eq!(of_symbol("CartSessions::Setting#trigger_delay"), ["cart_sessions", "setting"]);
        assert_eq!(of_symbol("HTTPServer.start"), ["http_server"]);
        assert!(of_symbol("start").is_empty());
    }
}
