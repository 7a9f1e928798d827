//! One-line summary of a chunk.

use super::outline::Defined;
use crate::text::Lines;

/// Maximum length of a summary, in characters.
const MAX_CHARS: usize = 160;

/// Returns the signature of the first definition and the first sentence of its comment. Without a
/// definition: the name of the enclosing definition, and the first two lines with words.
pub(super) fn summarize(
    lines: &Lines<'_>,
    text: &str,
    overlap: usize,
    first: Option<&Defined>,
    parent: Option<&str>,
) -> String {
    let summary = if let Some(first) = first {
        let signature = signature(lines.get(first.start));
        match describe(lines, first) {
            Some(comment) => format!("{signature}: {comment}"),
            None => signature.to_owned(),
        }
    } else {
        let words = text.lines().skip(overlap).map(uncommented).filter(has_words);
        let excerpt = words.take(2).collect::<Vec<_>>().join(" ");
        match parent {
            Some(parent) => format!("{parent}: {excerpt}"),
            None => excerpt,
        }
    };
    shorten(&summary)
}

/// Returns the line without the start of the body.
fn signature(line: &str) -> &str {
    line.trim().trim_end_matches(['{', ':', ' '])
}

/// Returns the first sentence of the comment above a definition, or of its docstring.
fn describe(lines: &Lines<'_>, defined: &Defined) -> Option<String> {
    const MAX_LINES: usize = 30;
    let mut top = defined.start;
    while top > 0 && defined.start - top < MAX_LINES && is_description(lines.get(top - 1)) {
        top -= 1;
    }
    let above = (top..defined.start).filter(|line| !is_attribute(lines.get(*line)));
    let below = (defined.start + 1..lines.count().min(defined.start + 3))
        .take(1)
        .filter(|line| lines.get(*line).trim().starts_with(['"', '\'']));
    let words: Vec<&str> =
        above.chain(below).map(|line| uncommented(lines.get(line))).filter(has_words).collect();
    let comment = words.join(" ");
    let end = comment.find(". ").map_or(comment.len(), |end| end + 1);
    let sentence = comment[..end].trim();
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

fn is_description(line: &str) -> bool {
    let line = line.trim();
    is_attribute(line) || ["//", "#", "*", "/*", "--"].iter().any(|mark| line.starts_with(mark))
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[") || line.starts_with('@') || line.starts_with("#!")
}

fn has_words(line: &&str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Returns the line without its comment markers.
fn uncommented(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['/', '*', '#', '!', '"', '\'', '-', ';', '%', '<'])
        .trim_end_matches(['/', '*', '"', '\'', '>'])
        .trim()
}

/// Returns the text on one line, shortened to [`MAX_CHARS`] characters.
fn shorten(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    let mut short: String = text.chars().take(MAX_CHARS - 1).collect();
    short.push('\u{2026}');
    short
}
