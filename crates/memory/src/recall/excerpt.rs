//! Excerpts of code: the doc comment and signature of the definition that the query is about.

use std::collections::HashSet;
use std::sync::LazyLock;

use mc_search::names::has_name;
use mc_search::query::stem_terms;

use crate::text::cut;

/// Longest excerpt, in characters.
const CHARS_MAX: usize = 320;
/// Lines kept of a doc comment: the first say what the definition is.
const COMMENT_LINES: usize = 3;
/// Lines kept of a signature.
const SIGNATURE_LINES: usize = 8;

/// An excerpt of a chunk of code.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Symbol of the definition, if the chunk has it.
    pub symbol: Option<String>,
    /// Doc comment and signature; the first line of code if there is no definition.
    pub text: String,
}

/// Excerpts the definition in `text` that the query names (`named`), else the one whose name has
/// most of the query's word stems, else the first that is no namespace. `symbols` are the qualified
/// names that the chunk defines or lies in, the outermost first.
pub fn excerpt(
    text: &str,
    symbols: &[String],
    query_symbol: Option<&str>,
    stems: &HashSet<String>,
) -> Excerpt {
    let lines: Vec<&str> = text.lines().collect();
    let line_of = |symbol: &&str| definition(&lines, own_name(symbol)?);
    let is_telling = |symbol: &&str| line_of(symbol).is_some_and(|at| !opens_namespace(lines[at]));
    let named = query_symbol.filter(|symbol| line_of(symbol).is_some());
    let symbol = named.or_else(|| best_match(symbols, stems).filter(is_telling));
    let Some(at) = symbol.as_ref().and_then(line_of).or_else(|| first_definition(&lines)) else {
        return Excerpt { symbol: None, text: first_line(&lines) };
    };
    let of_line =
        || symbols.iter().rev().map(String::as_str).find(|symbol| line_of(symbol) == Some(at));
    let symbol = symbol.or_else(of_line).map(str::to_owned);
    Excerpt { symbol, text: with_context(&lines, at) }
}

/// Returns the stems by which names are compared with queries.
pub fn stems(text: &str) -> HashSet<String> {
    stem_terms(text).into_iter().map(|term| term.text).collect()
}

/// Returns the symbol whose own name has most of these stems, the innermost of several.
fn best_match<'a>(symbols: &'a [String], wanted: &HashSet<String>) -> Option<&'a str> {
    let shared = |symbol: &String| {
        own_name(symbol).map_or(0, |name| stems(name).intersection(wanted).count())
    };
    let counted = symbols.iter().map(|symbol| (shared(symbol), symbol));
    let best = counted.max_by_key(|(count, _)| *count).filter(|(count, _)| *count > 0);
    best.map(|(_, symbol)| symbol.as_str())
}

/// Finds the first line with a definition that is no namespace.
fn first_definition(lines: &[&str]) -> Option<usize> {
    lines.iter().position(|line| is_code(line) && defines(line) && !opens_namespace(line))
}

/// Returns the first line of code; a namespace only if there is nothing else.
fn first_line(lines: &[&str]) -> String {
    let mut code = lines.iter().filter(|line| is_code(line));
    let line = code.clone().find(|line| !opens_namespace(line)).or_else(|| code.next());
    cut(line.map_or("", |line| line.trim()), CHARS_MAX)
}

/// Returns a definition's doc comment, signature and docstring.
fn with_context(lines: &[&str], at: usize) -> String {
    let signature = signature(&lines[at..]);
    let docstring = docstring(&lines[at + signature.len()..]);
    let comment = comment_above(lines, at).into_iter().take(COMMENT_LINES);
    let kept = comment.chain(signature.iter().copied()).chain(docstring);
    cut(&kept.map(str::trim).collect::<Vec<_>>().join("\n"), CHARS_MAX)
}

/// Returns the lines until all brackets of parameters are closed.
fn signature<'a>(lines: &'a [&'a str]) -> &'a [&'a str] {
    let mut open = 0_usize;
    for (at, line) in lines.iter().enumerate().take(SIGNATURE_LINES) {
        for c in line.chars() {
            match c {
                '(' | '[' => open += 1,
                ')' | ']' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        if open == 0 {
            return &lines[..=at];
        }
    }
    &lines[..1]
}

/// Returns the first line of a docstring below a definition, as in Python.
fn docstring<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let first = lines.next().filter(|line| {
        let line = line.trim_start_matches(['r', 'R', 'u', 'U']);
        line.starts_with("\"\"\"") || line.starts_with("'''")
    })?;
    if says_something(first) { Some(first) } else { lines.next() }
}

/// Returns a symbol's name without its owner.
fn own_name(symbol: &str) -> Option<&str> {
    let name = symbol.trim_end_matches(['(', ')', '?', '!']).rsplit(['#', '.', ':', '/']).next()?;
    (!name.is_empty()).then_some(name)
}

/// Finds the first line that defines the name, else the first that has it.
fn definition(lines: &[&str], name: &str) -> Option<usize> {
    let has = |line: &&&str| is_code(line) && has_name(line, name);
    let at = lines.iter().position(|line| has(&line) && defines(line));
    at.or_else(|| lines.iter().position(|line| has(&line)))
}

fn defines(line: &str) -> bool {
    words(line).any(|word| KEYWORDS.contains(word))
}

/// Whether a line opens a namespace or imports names, which says nothing of the code below it.
fn opens_namespace(line: &str) -> bool {
    words(line).find(|word| !MODIFIERS.contains(word)).is_some_and(|word| NAMESPACES.contains(word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Keywords that begin a definition.
static KEYWORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "
        class const def define enum fn func fun function interface let macro_rules mod module
        record static struct trait type union val var
    ";
    words.split_whitespace().collect()
});

/// Modifiers before these keywords.
const MODIFIERS: &[&str] = &["crate", "declare", "export", "internal", "pub", "public"];

/// Keywords that open a namespace or import names.
static NAMESPACES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "
        extern from import include mod module namespace package require use using
    ";
    words.split_whitespace().collect()
});

/// Returns the comment right above a line, without attributes between them.
fn comment_above<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let mut above: Vec<_> = lines[..at]
        .iter()
        .rev()
        .take_while(|line| is_comment(line) || is_attribute(line))
        .filter(|line| is_comment(line) && says_something(line))
        .copied()
        .collect();
    above.reverse();
    above
}

fn is_code(line: &str) -> bool {
    says_something(line) && !is_comment(line) && !is_attribute(line)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "--", "\"\"\"", ";;"].iter().any(|mark| line.starts_with(mark))
        && !is_attribute(line)
        && !is_directive(line)
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[") || line.starts_with("#![") || line.starts_with('@')
}

/// Whether a line is a directive of the C preprocessor.
fn is_directive(line: &str) -> bool {
    const DIRECTIVES: &[&str] = &[
        "define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "include", "pragma",
        "undef",
    ];
    let word = line.trim_start().strip_prefix('#').map(str::trim_start);
    let word = word.and_then(|rest| rest.split(|c: char| !c.is_alphabetic()).next());
    // A `#` followed by a space begins a comment: `# if the cart is empty`.
    word.is_some_and(|word| DIRECTIVES.contains(&word)) && !line.trim_start().starts_with("# ")
}

fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "// Copyright 2026\n\nuse std::fmt;\n\n/// Adds two.\n///\n/// Never \
        fails.\n#[must_use]\n\
                        pub fn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n\nfn main() { add(1, 2); }";

    /// Returns the excerpt of a chunk with these symbols, for a query in words.
    fn shown(text: &str, symbols: &[&str], features: &str) -> String {
        let symbols: Vec<_> = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
        excerpt(text, &symbols, None, &stems(features)).text
    }

    fn named(text: &str, symbol: &str) -> String {
        excerpt(text, &[], Some(symbol), &HashSet::new()).text
    }

    #[test]
    fn excerpt_of_a_definition_has_its_doc_comment() {
        let add = "/// Adds two.\n/// Never fails.\npub fn add(a: u8, b: u8) -> u8 {";
        assert_eq!(named(RUST, "math::add"), add);
        assert_eq!(shown(RUST, &[], ""), add, "the first definition");
        assert_eq!(
            named("# frozen\n\n# Totals.\ndef total\n  1\nend", "Cart#total"),
            "# Totals.\ndef total"
        );
    }

    #[test]
    fn excerpt_is_the_definition_with_the_words_of_the_query() {
        let ruby = "# Copyright 2026\nmodule Shop\n  class Cart\n    # Empties it.\n    def \
            clear\n    end\n\n    # Adds up.\n    def total_price(\n      currency,\n      \
            rounding: :half_up\n    )\n    end\n  end\nend";
        let symbols = ["Shop", "Shop::Cart", "Shop::Cart#clear", "Shop::Cart#total_price"];
        let total = "# Adds up.\ndef total_price(\ncurrency,\nrounding: :half_up\n)";
        assert_eq!(shown(ruby, &symbols, "how does the shop round its prices"), total);
        assert_eq!(shown(ruby, &symbols, "what happens at midnight"), "class Cart");
        let go = "/* Copyright 2026 */\npackage cart\n\nimport \"fmt\"\n\nvar total = 0";
        assert_eq!(shown(go, &[], ""), "var total = 0");
        assert_eq!(shown("/* Copyright 2026 */\npackage cart", &[], ""), "package cart");
    }

    #[test]
    fn excerpt_has_docstrings_and_reads_macros_as_code() {
        let python = "def merge(\n    base,\n    other,\n):\n    \"\"\"Merges settings, the \
            later one wins.\"\"\"\n    return";
        assert_eq!(
            named(python, "config.merge"),
            "def merge(\nbase,\nother,\n):\n\"\"\"Merges settings, the later one wins.\"\"\""
        );
        let c = "#include <math.h>\n/* Most items. */\n#define MAX_ITEMS 5\n";
        assert_eq!(named(c, "MAX_ITEMS"), "/* Most items. */\n#define MAX_ITEMS 5");
    }

    #[test]
    fn excerpt_of_an_empty_text_is_empty() {
        assert_eq!(named("", "x"), "");
        assert_eq!(shown("}\n", &[], "x"), "");
    }
}
