//! One line on what a chunk is about.

use super::outline::Defined;
use crate::text::Lines;

/// Longest summary, in characters.
const MAX_CHARS: usize = 160;

/// The signature of the first definition and the first sentence of its comment; without a
/// definition the first lines that say something, after the name of what they belong to.
pub(super) fn of(
    lines: &Lines<'_>,
    text: &str,
    overlap: usize,
    first: Option<&Defined>,
    parent: Option<&str>,
) -> String {
    let summary = if let Some(first) = first {
        let signature = signature(lines.get(first.start));
        match described(lines, first) {
            Some(comment) => format!("{signature}: {comment}"),
            None => signature.to_owned(),
        }
    } else {
        let words = text.lines().skip(overlap).map(uncommented).filter(says_something);
        let said = words.take(2).collect::<Vec<_>>().join(" ");
        match parent {
            Some(parent) => format!("{parent}: {said}"),
            None => said,
        }
    };
    shorten(&summary)
}

/// The line without what opens its body.
fn signature(line: &str) -> &str {
    line.trim().trim_end_matches(['{', ':', ' '])
}

/// The first sentence of the comment above a definition, or of the text that opens its body.
fn described(lines: &Lines<'_>, defined: &Defined) -> Option<String> {
    const MAX_LINES: usize = 30;
    let mut top = defined.start;
    while top > 0 && defined.start - top < MAX_LINES && describes(lines.get(top - 1)) {
        top -= 1;
    }
    let above = (top..defined.start).filter(|line| !is_attribute(lines.get(*line)));
    let below = (defined.start + 1..lines.count().min(defined.start + 3))
        .take(1)
        .filter(|line| lines.get(*line).trim().starts_with(['"', '\'']));
    let words: Vec<&str> = above
        .chain(below)
        .map(|line| uncommented(lines.get(line)))
        .filter(says_something)
        .collect();
    let comment = words.join(" ");
    let end = comment.find(". ").map_or(comment.len(), |end| end + 1);
    let sentence = comment[..end].trim();
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

fn describes(line: &str) -> bool {
    let line = line.trim();
    is_attribute(line) || ["//", "#", "*", "/*", "--"].iter().any(|mark| line.starts_with(mark))
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[") || line.starts_with('@') || line.starts_with("#!")
}

fn says_something(line: &&str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// The line without its comment marks.
fn uncommented(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['/', '*', '#', '!', '"', '\'', '-', ';', '%', '<'])
        .trim_end_matches(['/', '*', '"', '\'', '>'])
        .trim()
}

/// At most [`MAX_CHARS`] characters, on one line.
fn shorten(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    let mut short: String = text.chars().take(MAX_CHARS - 1).collect();
    short.push('\u{2026}');
    short
}
