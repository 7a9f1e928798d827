//! Syntax errors of source files.

use serde::{Deserialize, Serialize};
use tree_sitter::TreeCursor;

use crate::chunker::outline;
use crate::grammar;
use crate::language;
use crate::parsers::{Code, SyntaxParser};

/// Most errors that are counted.
const COUNTED: usize = 1_000;

/// Syntax errors of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxErrors {
    /// Number of places that the grammar does not accept, at most 1,000.
    pub count: usize,
    /// Line of the first one, from 1; 0 without any.
    pub first_line: usize,
}

/// Counts the syntax errors of a source file. `None` if its language has no grammar, or if it
/// exceeds a limit of the parser. Blocks the thread, because a child process parses the text.
///
/// Grammars reject some valid code. So the errors of a file mean little by themselves, and more if
/// an earlier version has none.
pub fn errors(path: &str, text: &str) -> Option<SyntaxErrors> {
    let language = language::detect(path, text);
    if !grammar::exists(language) {
        return None;
    }
    let counted = mc_parser_pool::call::<SyntaxParser>(Code { language, text });
    counted.unwrap_or_else(|error| {
        tracing::warn!(file.path = path, reason = %error, "source file not checked for errors");
        None
    })
}

/// Parses the text of a file; `None` if it exceeds a limit.
pub(crate) fn parse(Code { language, text }: Code<'_>) -> Option<SyntaxErrors> {
    let grammar = grammar::find(language)?;
    let tree = outline::parse(grammar, text)?;
    let mut found = SyntaxErrors { count: 0, first_line: 0 };
    if !tree.root_node().has_error() {
        return Some(found);
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let is_error = node.is_error() || node.is_missing();
        if is_error {
            let line = node.start_position().row + 1;
            found.first_line = if found.count == 0 { line } else { found.first_line.min(line) };
            found.count += 1;
            if found.count == COUNTED {
                return Some(found);
            }
        }
        let enters = !is_error && node.has_error();
        let has_more = enters && cursor.goto_first_child() || goto_next(&mut cursor);
        if !has_more {
            return Some(found);
        }
    }
}

/// Goes to the node after the present one and all inside of it; `false` at the end.
fn goto_next(cursor: &mut TreeCursor<'_>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_with_the_first_line() {
        let of = |path: &str, text: &str| errors(path, text).map(|e| (e.count, e.first_line));
        assert_eq!(of("a.rs", "fn a() {}\n"), Some((0, 0)));
        let broken = of("a.rs", "fn a() {}\nfn b( {\n").expect("a grammar");
        assert!(broken.0 > 0 && broken.1 == 2, "{broken:?}");
        assert_eq!(of("a.py", "def a():\n    return 1\n"), Some((0, 0)));
        assert!(of("a.py", "def a(:\n    return 1\n").is_some_and(|(count, _)| count > 0));
        assert_eq!(of("a.unknown", "{{{"), None);
    }
}
