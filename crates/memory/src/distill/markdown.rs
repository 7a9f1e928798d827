//! Markdown and chat, cut into units that can be kept or left out.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::sentences;
use crate::text::stop_phrases::{is_chatter, strip_lead};

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

/// A text, cut into units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What it says, in order.
    pub units: Vec<Unit>,
    /// What was taken for a greeting, thanks, a word that only leads up to a sentence, or a comment
    /// that nobody is shown.
    pub left_out: Vec<String>,
}

/// Reads `text`.
pub fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let lines: Vec<_> = text.lines().collect();
    let mut fence: Option<Fence> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at).copied() {
        at += 1;
        if let Some(mut open) = fence.take() {
            if open.is_closed_by(line) {
                reading.units.extend(open.close());
            } else {
                open.lines.push(line.trim_end().to_owned());
                fence = Some(open);
            }
        } else if let Some(open) = Fence::opened_by(line) {
            fence = Some(open);
        } else if let Some(more) = rest_of_comment(line, &lines[at..]) {
            reading.left_out.push(lines[at - 1..at + more].join("\n").trim().to_owned());
            at += more;
        } else {
            read_line(line, &mut reading);
        }
    }
    reading.units.extend(fence.and_then(Fence::close));
    reading
}

/// A block of code that is being read.
struct Fence {
    /// Three or more backticks or tildes.
    mark: String,
    /// What stands behind them, such as the language.
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
        // Backticks that close on the same line are a span of code.
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

/// How many of the lines that follow belong to a comment which `line` begins and nothing else
/// stands beside; `None` where there is none, or it does not end.
fn rest_of_comment(line: &str, following: &[&str]) -> Option<usize> {
    let line = line.trim().strip_prefix("<!--")?;
    let mut lines = std::iter::once(&line).chain(following);
    let end = lines.position(|line| line.contains("-->"))?;
    let last = if end == 0 { line } else { following[end - 1] };
    let (_, beside) = last.split_once("-->")?;
    beside.trim().is_empty().then_some(end)
}

fn read_line(line: &str, reading: &mut Reading) {
    if RULE.is_match(line) {
        return;
    }
    let is_item = BULLET.is_match(line);
    let line = plain(PREFIX.replace(line, "").trim());
    let mut starts_line = true;
    for sentence in sentences(&line) {
        let said = strip_lead(sentence);
        if said.is_empty() || is_chatter(said) {
            reading.left_out.push(sentence.to_owned());
            continue;
        }
        if !says_something(said) {
            continue;
        }
        let lead = sentence[..sentence.len() - said.len()].trim();
        if !lead.is_empty() {
            reading.left_out.push(lead.to_owned());
        }
        let bullet = if is_item && starts_line { "- " } else { "" };
        let text = format!("{bullet}{said}");
        reading.units.push(Unit { text, starts_line, is_code: false });
        starts_line = false;
    }
}

/// Whether there is more in it than punctuation and pictures.
fn says_something(text: &str) -> bool {
    text.chars().any(|c| c.is_alphanumeric() || "<>=|&+^%$~\\".contains(c))
}

/// A line without emphasis, images and link syntax; code spans, names and URLs stay.
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

/// Applies `change` to what stands outside backticks.
fn outside_code(line: &str, change: impl Fn(&str) -> String) -> String {
    let parts = line.split('`').enumerate();
    let changed: Vec<_> =
        parts.map(|(at, part)| if at % 2 == 0 { change(part) } else { part.to_owned() }).collect();
    changed.join("`")
}
