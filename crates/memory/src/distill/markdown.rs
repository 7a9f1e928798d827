//! Splitting Markdown and chat into units that can be kept or left out.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::stop_phrases::{is_chatter, strip_lead};
use crate::text::{regex, sentences};

/// A sentence, list item or code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Text without its markup; code stays verbatim.
    pub text: String,
    /// Whether it starts a line; otherwise it follows the previous unit on its line.
    pub starts_line: bool,
    /// Whether it is a code block, which stays verbatim.
    pub is_code: bool,
}

static IMAGE: LazyLock<Regex> = LazyLock::new(|| regex(r"!\[([^\]]*)\]\(([^)\s]*)\)"));
static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r"\[([^\]]+)\]\((\S+?)\)"));
static BOLD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\*\*(\S(?:[^*]*\S)?)\*\*|(?:^|\b)__(\S[^_]*\s[^_]*\S)__"));
static ITALIC: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(^|[\s(])[*_]([^\s*_`][^*_`]*\s[^*_`]*[^\s*_`])[*_]($|[\s).,:;!?])"));
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(?:[-*_=]\s*){3,}$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*$")
});
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*(?:#{1,6}\s+|>(?:\s+|$)|[*+•·]\s+|-\s+)*"));
static BULLET: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*(?:>\s?)*(?:[*+•·-]\s+)"));

const COMMENT_END: &str = "-->";

/// A text split into units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SplitText {
    /// The units, in order.
    pub units: Vec<Unit>,
    /// Text recognized as a greeting, thanks, an introductory phrase or a hidden comment.
    pub left_out: Vec<String>,
}

/// Splits `text` into units.
pub fn read(text: &str) -> SplitText {
    let mut split_text = SplitText::default();
    let lines: Vec<_> = text.lines().collect();
    let comment_ends = comment_ends(&lines);
    let mut fence: Option<Fence> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at).copied() {
        at += 1;
        if let Some(mut open) = fence.take() {
            if open.is_closed_by(line) {
                split_text.units.extend(open.close());
            } else {
                open.lines.push(line.trim_end().to_owned());
                fence = Some(open);
            }
        } else if let Some(open) = Fence::opened_by(line) {
            fence = Some(open);
        } else if let Some(end) = end_of_comment(&lines, at - 1, &comment_ends) {
            split_text.left_out.push(lines[at - 1..end].join("\n").trim().to_owned());
            at = end;
        } else {
            read_line(line, &mut split_text);
        }
    }
    split_text.units.extend(fence.and_then(Fence::close));
    split_text
}

/// A code block that is being read.
struct Fence {
    /// Three or more backticks or tildes.
    mark: String,
    /// Text after them, such as the language.
    info: String,
    lines: Vec<String>,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark: String = match line.chars().next()? {
            mark @ ('`' | '~') => line.chars().take_while(|c| *c == mark).collect(),
            _ => return None,
        };
        let info = line[mark.len()..].trim();
        // Backticks closed on the same line are a code span.
        let is_span = mark.starts_with('`') && info.contains('`');
        (mark.len() >= 3 && !is_span).then(|| Self {
            mark,
            info: info.to_owned(),
            lines: Vec::new(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.starts_with(&self.mark) && line.chars().all(|c| self.mark.starts_with(c))
    }

    fn close(self) -> Option<Unit> {
        let Self { mark, info, lines } = self;
        let body = lines.join("\n");
        let body = body.trim_matches('\n');
        (!body.trim().is_empty()).then(|| Unit {
            text: format!("{mark}{info}\n{body}\n{mark}"),
            starts_line: true,
            is_code: true,
        })
    }
}

/// Returns for each line the first one, from it on, that ends an HTML comment. All are found in one
/// pass, because each line may open a comment that never ends.
fn comment_ends(lines: &[&str]) -> Vec<Option<usize>> {
    let mut ends = vec![None; lines.len()];
    let mut end = None;
    for (at, line) in lines.iter().enumerate().rev() {
        if line.contains(COMMENT_END) {
            end = Some(at);
        }
        ends[at] = end;
    }
    ends
}

/// Returns the index after the last line of the HTML comment that line `at` opens. `None` without
/// one, or if it does not end or text follows it.
fn end_of_comment(lines: &[&str], at: usize, ends: &[Option<usize>]) -> Option<usize> {
    let opening = lines[at].trim().strip_prefix("<!--")?;
    let (end, last) = if opening.contains(COMMENT_END) {
        (at, opening)
    } else {
        let end = ends.get(at + 1).copied().flatten()?;
        (end, lines[end])
    };
    let (_, rest) = last.split_once(COMMENT_END)?;
    rest.trim().is_empty().then_some(end + 1)
}

fn read_line(line: &str, split_text: &mut SplitText) {
    if RULE.is_match(line) {
        return;
    }
    let is_item = BULLET.is_match(line);
    let line = plain(PREFIX.replace(line, "").trim());
    let mut starts_line = true;
    for sentence in sentences(&line) {
        let statement = strip_lead(sentence);
        if statement.is_empty() || is_chatter(statement) {
            split_text.left_out.push(sentence.to_owned());
            continue;
        }
        if !says_something(statement) {
            continue;
        }
        let lead = sentence[..sentence.len() - statement.len()].trim();
        if !lead.is_empty() {
            split_text.left_out.push(lead.to_owned());
        }
        let bullet = if is_item && starts_line { "- " } else { "" };
        let text = format!("{bullet}{statement}");
        split_text.units.push(Unit { text, starts_line, is_code: false });
        starts_line = false;
    }
}

/// Whether a text has more than punctuation and pictures.
fn says_something(text: &str) -> bool {
    text.chars().any(|c| c.is_alphanumeric() || "<>=|&+^%$~\\".contains(c))
}

/// Removes emphasis, images and link syntax from a line; code spans, names and URLs stay.
fn plain(line: &str) -> String {
    let named = |found: &regex::Captures<'_>| match (found[1].trim(), &found[2]) {
        (label, "") => label.to_owned(),
        (label, target) if label.is_empty() || label == target => target.to_owned(),
        (label, target) => format!("{label} ({target})"),
    };
    let line = IMAGE.replace_all(line, named);
    let line = LINK.replace_all(&line, named);
    outside_code(&line, |prose| {
        let prose = BOLD.replace_all(prose, "$1$2");
        ITALIC.replace_all(&prose, "$1$2$3").into_owned()
    })
}

/// Applies `change` to the text outside code spans.
fn outside_code(line: &str, change: impl Fn(&str) -> String) -> String {
    let parts = line.split('`').enumerate();
    let changed: Vec<_> =
        parts.map(|(at, part)| if at % 2 == 0 { change(part) } else { part.to_owned() }).collect();
    changed.join("`")
}
