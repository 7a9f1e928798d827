//! Split secrets: concatenated string literals and continued lines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Origin, View, ViewKind};
use crate::keyword_scan::KeywordScan;

/// The possible beginnings of a join, which [`JOIN`] then checks.
pub(crate) const JOIN_SIGNS: &[&str] = &[
    "\" +", "' +", "` +", "\"+", "'+", "`+", "\" .", "' .", "\".", "'.", "\" &", "\"\n", "'\n",
    "\"\r\n", "'\r\n", "\\\n", "\\\r\n",
];

/// The text between two parts: `" + "`, a line break between adjacent literals, or a backslash that
/// continues the line.
static JOIN: LazyLock<Regex> = LazyLock::new(|| {
    const LITERALS: &str = concat!(
        r#"["'`][ \t]{0,40}(?:(?:[+.&]|\.\.|\\)[ \t]{0,40}\r?\n?|\r?\n)"#,
        r#"[ \t]{0,40}["'`]"#
    );
    const CONTINUED_LINE: &str = r#"["'`]?[ \t]{0,40}\\\r?\n[ \t]{0,40}["'`]?"#;
    Regex::new(&format!("^(?:{LITERALS}|{CONTINUED_LINE})")).expect("a valid regex")
});

/// Maximum length of a join, in bytes.
const MAX_JOIN_BYTES: usize = 128;

/// Bytes of text on either side of the joins.
const CONTEXT_BYTES: usize = 256;

/// Returns a view of each chain of joins, with some text around it.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let mut joins = scan.joins.iter().filter_map(|at| join(text, *at)).peekable();
    std::iter::from_fn(move || {
        let mut chain = vec![joins.next()?];
        while let Some(next) = joins.next_if(|next| next.start <= end(&chain) + CONTEXT_BYTES) {
            // Two of the signs may begin the same join.
            if next.start >= end(&chain) {
                chain.push(next);
            }
        }
        let from = text.floor_char_boundary(chain[0].start.saturating_sub(CONTEXT_BYTES));
        let to = text.ceil_char_boundary((end(&chain) + CONTEXT_BYTES).min(text.len()));
        Some(concatenate(text, from..to, &chain))
    })
}

/// Returns the join at a sign. Before a backslash, a literal may end.
fn join(text: &str, sign: usize) -> Option<Range<usize>> {
    let before = text[..sign].trim_end_matches([' ', '\t']);
    let closes = text[sign..].starts_with('\\') && before.ends_with(['"', '\'', '`']);
    let at = if closes { before.len() - 1 } else { sign };
    let near = &text[at..text.ceil_char_boundary((at + MAX_JOIN_BYTES).min(text.len()))];
    JOIN.find(near).map(|join| at..at + join.end())
}

fn end(chain: &[Range<usize>]) -> usize {
    chain.last().map_or(0, |join| join.end)
}

/// Returns the view of a part of the text without the joins.
pub(super) fn concatenate(text: &str, part: Range<usize>, joins: &[Range<usize>]) -> View {
    let (mut joined, mut origins) =
        (String::with_capacity(part.len()), Vec::with_capacity(part.len()));
    let mut keep = |range: Range<usize>| {
        joined.push_str(&text[range.clone()]);
        origins.extend(range.map(|byte| byte..byte + 1));
    };
    let mut at = part.start;
    for join in joins {
        keep(at..join.start);
        at = join.end;
    }
    keep(at..part.end);
    View { text: joined, origin: Origin::Bytes(origins), kind: ViewKind::Concatenated }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    #[test]
    fn literals_and_continued_lines_are_concatenated() {
        for (text, whole) in [
            ("a = \"one\" + \"two\";", "a = \"onetwo\";"),
            ("('one'\n 'two'\n 'three')", "('onetwothree')"),
            ("'one' +\n 'two'", "'onetwo'"),
            ("one\\\n  two", "onetwo"),
            ("\"one\" \\\n \"two\"", "\"onetwo\""),
            ("'one' . 'two'", "'onetwo'"),
        ] {
            let scan = Rules::standard().scan_keywords(text);
            let view = views(&scan).next().expect("one chain");
            assert_eq!(view.text, whole);
            assert_eq!(view.origin(&(0..view.text.len())), 0..text.len());
        }
        let apart = Rules::standard().scan_keywords("f(\"one\", \"two\") + g('', \"\")");
        assert_eq!(views(&apart).count(), 0);
    }
}
