//! The lines of a piece of code that matter: the signature of what is asked for with its doc comment.

use std::collections::HashSet;

use mc_search::names::has_name;
use mc_search::query::stem_terms;

use crate::text::cut;

/// Longest excerpt, in characters.
const CHARS_MAX: usize = 320;
/// Lines of a doc comment that are kept: the first say what it is.
const COMMENT_LINES: usize = 3;
/// Lines of a signature that are kept.
const SIGNATURE_LINES: usize = 8;

/// What of a piece of code is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The definition that it is of, of those that the piece has.
    pub symbol: Option<String>,
    /// Its doc comment and signature; the first line of code where there is no definition.
    pub text: String,
}

/// The definition in `text` that a question is about: the one that it names (`asked`), or the one whose name has most of
/// its words (`stems`), or else the first that is no namespace. `symbols` are the qualified names that the piece defines
/// or lies in, the outermost first.
pub fn excerpt(
    text: &str,
    symbols: &[String],
    asked: Option<&str>,
    stems: &HashSet<String>,
) -> Excerpt {
    let lines: Vec<&str> = text.lines().collect();
    let place = |symbol: &&str| definition(&lines, own_name(symbol)?);
    let tells = |symbol: &&str| place(symbol).is_some_and(|at| !opens_namespace(lines[at]));
    let named = asked.filter(|symbol| place(symbol).is_some());
    let symbol = named.or_else(|| alike(symbols, stems).filter(tells));
    let Some(at) = symbol.as_ref().and_then(place).or_else(|| first_definition(&lines)) else {
        return Excerpt { symbol: None, text: first_line(&lines) };
    };
    let of_line =
        || symbols.iter().rev().map(String::as_str).find(|symbol| place(symbol) == Some(at));
    let symbol = symbol.or_else(of_line).map(str::to_owned);
    Excerpt { symbol, text: around(&lines, at) }
}

/// The stems by which names are held against questions.
pub fn stems(text: &str) -> HashSet<String> {
    stem_terms(text).into_iter().map(|term| term.text).collect()
}

/// The symbol whose own name has most of these stems, the innermost of several; `None` where none has any.
fn alike<'a>(symbols: &'a [String], wanted: &HashSet<String>) -> Option<&'a str> {
    let shared = |symbol: &String| {
        own_name(symbol).map_or(0, |name| stems(name).intersection(wanted).count())
    };
    let counted = symbols.iter().map(|symbol| (shared(symbol), symbol));
    let best = counted.max_by_key(|(count, _)| *count).filter(|(count, _)| *count > 0);
    best.map(|(_, symbol)| symbol.as_str())
}

/// The first line that defines something and is no namespace.
fn first_definition(lines: &[&str]) -> Option<usize> {
    lines.iter().position(|line| is_code(line) && defines(line) && !opens_namespace(line))
}

/// The first line of code, a namespace only where there is nothing else.
fn first_line(lines: &[&str]) -> String {
    let mut code = lines.iter().filter(|line| is_code(line));
    let line = code.clone().find(|line| !opens_namespace(line)).or_else(|| code.next());
    cut(line.map_or("", |line| line.trim()), CHARS_MAX)
}

/// A definition's doc comment, signature and docstring.
fn around(lines: &[&str], at: usize) -> String {
    let signature = signature(&lines[at..]);
    let docstring = docstring(&lines[at + signature.len()..]);
    let comment = comment_above(lines, at).into_iter().take(COMMENT_LINES);
    let kept = comment.chain(signature.iter().copied()).chain(docstring);
    cut(&kept.map(str::trim).collect::<Vec<_>>().join("\n"), CHARS_MAX)
}

/// The first lines, until all brackets of parameters are closed.
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

/// The first line of a text that says what is defined above it, as in Python.
fn docstring<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let first = lines.next().filter(|line| {
        let line = line.trim_start_matches(['r', 'R', 'u', 'U']);
        line.starts_with("\"\"\"") || line.starts_with("'''")
    })?;
    if says_something(first) { Some(first) } else { lines.next() }
}

/// A symbol without its owner.
fn own_name(symbol: &str) -> Option<&str> {
    let name = symbol.trim_end_matches(['(', ')', '?', '!']).rsplit(['#', '.', ':', '/']).next()?;
    (!name.is_empty()).then_some(name)
}

/// The first line of code that has the name and is no mere use of it as far as can be told.
fn definition(lines: &[&str], name: &str) -> Option<usize> {
    let has = |line: &&&str| is_code(line) && has_name(line, name);
    let at = lines.iter().position(|line| has(&line) && defines(line));
    at.or_else(|| lines.iter().position(|line| has(&line)))
}

fn defines(line: &str) -> bool {
    words(line).any(|word| KEYWORDS.contains(&word))
}

/// Whether a line opens a namespace or brings names in: it says nothing of what stands below it.
fn opens_namespace(line: &str) -> bool {
    words(line)
        .find(|word| !MODIFIERS.contains(word))
        .is_some_and(|word| NAMESPACES.contains(&word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Words by which languages begin a definition.
const KEYWORDS: &[&str] = &[
    "class",
    "const",
    "def",
    "define",
    "enum",
    "fn",
    "func",
    "fun",
    "function",
    "interface",
    "let",
    "macro_rules",
    "mod",
    "module",
    "record",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "val",
    "var",
];

/// What stands before these.
const MODIFIERS: &[&str] = &["crate", "declare", "export", "internal", "pub", "public"];

/// Words by which they open a namespace, or bring names in.
const NAMESPACES: &[&str] = &[
    "extern",
    "from",
    "import",
    "include",
    "mod",
    "module",
    "namespace",
    "package",
    "require",
    "use",
    "using",
];

/// The comment right above a line, attributes between them left out.
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

/// Whether a line is for the preprocessor of C.
fn is_directive(line: &str) -> bool {
    const DIRECTIVES: &[&str] = &[
        "define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "include", "pragma",
        "undef",
    ];
    let word = line.trim_start().strip_prefix('#').map(str::trim_start);
    let word = word.and_then(|rest| rest.split(|c: char| !c.is_alphabetic()).next());
    // Of what looks like one, a comment goes on in prose: `# if the cart is empty`.
    word.is_some_and(|word| DIRECTIVES.contains(&word)) && !line.trim_start().starts_with("# ")
}

fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "// Copyright 2026\n\nuse std::fmt;\n\n/// Adds two.\n///\n/// Never fails.\n#[must_use]\n\
                        pub fn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n\nfn main() { add(1, 2); }";

    /// The excerpt of a piece with these symbols, for a question in words.
    fn shown(text: &str, symbols: &[&str], question: &str) -> String {
        let symbols: Vec<_> = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
        excerpt(text, &symbols, None, &stems(question)).text
    }

    fn named(text: &str, symbol: &str) -> String {
        excerpt(text, &[], Some(symbol), &HashSet::new()).text
    }

    #[test]
    fn a_definition_comes_with_its_doc_comment() {
        let add = "/// Adds two.\n/// Never fails.\npub fn add(a: u8, b: u8) -> u8 {";
        assert_eq!(named(RUST, "math::add"), add);
        assert_eq!(shown(RUST, &[], ""), add, "the first definition");
        assert_eq!(
            named("# frozen\n\n# Totals.\ndef total\n  1\nend", "Cart#total"),
            "# Totals.\ndef total"
        );
    }

    #[test]
    fn the_definition_with_the_words_of_the_question_is_shown_and_no_module_or_licence() {
        let ruby = "# Copyright 2026\nmodule Shop\n  class Cart\n    # Empties it.\n    def clear\n    end\n\n    \
                    # Adds up.\n    def total_price(\n      currency,\n      rounding: :half_up\n    )\n    end\n  end\nend";
        let symbols = ["Shop", "Shop::Cart", "Shop::Cart#clear", "Shop::Cart#total_price"];
        let total = "# Adds up.\ndef total_price(\ncurrency,\nrounding: :half_up\n)";
        assert_eq!(shown(ruby, &symbols, "how does the shop round its prices"), total);
        assert_eq!(shown(ruby, &symbols, "what happens at midnight"), "class Cart");
        let go = "/* Copyright 2026 */\npackage cart\n\nimport \"fmt\"\n\nvar total = 0";
        assert_eq!(shown(go, &[], ""), "var total = 0");
        assert_eq!(shown("/* Copyright 2026 */\npackage cart", &[], ""), "package cart");
    }

    #[test]
    fn a_docstring_stands_below_its_definition_and_a_macro_is_no_comment() {
        let python = "def merge(\n    base,\n    other,\n):\n    \"\"\"Merges settings, the later one wins.\"\"\"\n    return";
        assert_eq!(
            named(python, "config.merge"),
            "def merge(\nbase,\nother,\n):\n\"\"\"Merges settings, the later one wins.\"\"\""
        );
        let c = "#include <math.h>\n/* Most items. */\n#define MAX_ITEMS 5\n";
        assert_eq!(named(c, "MAX_ITEMS"), "/* Most items. */\n#define MAX_ITEMS 5");
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(named("", "x"), "");
        assert_eq!(shown("}\n", &[], "x"), "");
    }
}
