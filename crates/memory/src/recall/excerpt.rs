//! The lines of a piece of code that matter: the signature of what is asked for with its doc comment.

use mc_search::names::has_name;

/// Longest excerpt, in characters.
const CHARS_MAX: usize = 320;
/// Lines of a doc comment that are kept: the first say what it is.
const COMMENT_LINES: usize = 3;

/// The definition of `symbol` in `text`, with the first lines of its doc comment; the first line of
/// code where there is none.
pub fn excerpt(text: &str, symbol: Option<&str>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let defined = symbol.and_then(own_name).and_then(|name| definition(&lines, name));
    let at = defined.or_else(|| lines.iter().position(|line| is_code(line)));
    let Some(at) = at else { return String::new() };
    let comment: Vec<_> = comment_above(&lines, at).into_iter().take(COMMENT_LINES).collect();
    let kept: Vec<_> = comment.into_iter().chain([lines[at]]).map(str::trim).collect();
    crate::text::cut(&kept.join("\n"), CHARS_MAX)
}

/// A symbol without its owner.
fn own_name(symbol: &str) -> Option<&str> {
    let name = symbol.trim_end_matches(['(', ')', '?', '!']).rsplit(['#', '.', ':', '/']).next()?;
    (!name.is_empty()).then_some(name)
}

/// The first line of code that has the name and is no mere use of it as far as can be told.
fn definition(lines: &[&str], name: &str) -> Option<usize> {
    let has = |line: &&&str| is_code(line) && has_name(line, name);
    let defines = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric()).any(|word| KEYWORDS.contains(&word))
    };
    let at = lines.iter().position(|line| has(&line) && defines(line));
    at.or_else(|| lines.iter().position(|line| has(&line)))
}

/// Words by which languages begin a definition.
const KEYWORDS: &[&str] = &[
    "class",
    "const",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "interface",
    "let",
    "macro_rules",
    "mod",
    "module",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "var",
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
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[") || line.starts_with("#![") || line.starts_with('@')
}

fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "// Copyright 2026\n\nuse std::fmt;\n\n/// Adds two.\n///\n/// Never fails.\n#[must_use]\n\
                        pub fn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n\nfn main() { add(1, 2); }";

    #[test]
    fn a_definition_comes_with_its_doc_comment() {
        assert_eq!(
            excerpt(RUST, Some("math::add")),
            "/// Adds two.\n/// Never fails.\npub fn add(a: u8, b: u8) -> u8 {"
        );
    }

    #[test]
    fn without_a_name_the_first_line_of_code_stands_and_no_licence() {
        assert_eq!(
            excerpt(RUST, None),
            "// Copyright 2026\nuse std::fmt;".lines().last().unwrap_or_default()
        );
        assert_eq!(
            excerpt("# frozen\n\n# Totals.\ndef total\n  1\nend", Some("Cart#total")),
            "# Totals.\ndef total"
        );
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(excerpt("", Some("x")), "");
        assert_eq!(excerpt("}\n", None), "");
    }
}
