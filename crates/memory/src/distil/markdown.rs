//! Markdown and chat, cut into units that can be kept or left out.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::filler::{is_chatter, strip_lead};
use crate::text::sentences;

/// A sentence, list item or block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its text.
    pub text: String,
    /// Whether it starts a line (otherwise it follows the unit before on the same line).
    pub starts_line: bool,
    /// Whether it is a block of code, which stays as it is.
    pub is_code: bool,
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a checked expression")
}

static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)<!--.*?-->"));
static IMAGE: LazyLock<Regex> = LazyLock::new(|| regex(r"!\[([^\]]*)\]\([^)\s]*\)"));
static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r"\[([^\]]+)\]\((\S+?)\)"));
static BOLD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\*\*(\S(?:[^*]*\S)?)\*\*|(?:^|\b)__(\S[^_]*\s[^_]*\S)__"));
static ITALIC: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(^|[\s(])[*_]([^\s*_`][^*_`]*\s[^*_`]*[^\s*_`])[*_]($|[\s).,:;!?])"));
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(?:[-*_=]\s*){3,}$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*$")
});
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*(?:#{1,6}\s+|>\s?|[*+•·]\s+|-\s+\[[ xX]\]\s+|-\s+)*"));
static BULLET: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*(?:>\s?)*(?:[*+•·-]\s+)"));

/// The units of `text` that say something, in order.
pub fn units(text: &str) -> Vec<Unit> {
    let text = COMMENT.replace_all(text, "");
    let mut units = Vec::new();
    let mut fence: Option<Fence> = None;
    for line in text.lines() {
        fence = match (fence.take(), fence_mark(line)) {
            (None, Some(mark)) => Some(Fence { mark, lines: Vec::new() }),
            (None, None) => {
                read_line(line, &mut units);
                None
            }
            (Some(open), Some(mark)) if mark.starts_with(&open.mark) => {
                units.extend(open.close());
                None
            }
            (Some(mut open), _) => {
                open.lines.push(line.trim_end().to_owned());
                Some(open)
            }
        };
    }
    units.extend(fence.and_then(Fence::close));
    units
}

/// A block of code that is being read.
struct Fence {
    mark: String,
    lines: Vec<String>,
}

impl Fence {
    fn close(self) -> Option<Unit> {
        let body = self.lines.join("\n");
        let body = body.trim_matches('\n');
        (!body.trim().is_empty()).then(|| Unit {
            text: format!("```\n{body}\n```"),
            starts_line: true,
            is_code: true,
        })
    }
}

fn fence_mark(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark))?;
    Some(mark.to_owned())
}

fn read_line(line: &str, units: &mut Vec<Unit>) {
    if RULE.is_match(line) {
        return;
    }
    let is_item = BULLET.is_match(line);
    let line = plain(PREFIX.replace(line, "").trim());
    let mut starts_line = true;
    for sentence in sentences(&line) {
        let said = strip_lead(sentence);
        if said.is_empty() || is_chatter(said) || !said.chars().any(char::is_alphanumeric) {
            continue;
        }
        let bullet = if is_item && starts_line { "- " } else { "" };
        units.push(Unit { text: format!("{bullet}{said}"), starts_line, is_code: false });
        starts_line = false;
    }
}

/// A line without emphasis, images and link syntax; code spans, names and URLs stay.
fn plain(line: &str) -> String {
    let line = IMAGE.replace_all(line, "$1");
    let line = LINK.replace_all(&line, |found: &regex::Captures<'_>| {
        let (label, target) = (&found[1], &found[2]);
        if label == target { target.to_owned() } else { format!("{label} ({target})") }
    });
    outside_code(&line, |prose| {
        let prose = BOLD.replace_all(prose, "$1$2");
        ITALIC.replace_all(&prose, "$1$2$3").into_owned()
    })
}

/// Applies `change` to what stands outside backticks.
fn outside_code(line: &str, change: impl Fn(&str) -> String) -> String {
    let parts = line.split('`').enumerate();
    let changed: Vec<_> =
        parts.map(|(at, part)| if at % 2 == 0 { change(part) } else { part.to_owned() }).collect();
    changed.join("`")
}
