//! Splitting of Markdown at its headings.

use serde::{Deserialize, Serialize};
use serde_norway::{Mapping, Value};

use crate::chunker::{Limits, WITHIN_DEFINITION, pack};
use crate::parsers::FrontMatterParser;
use crate::text::{Lines, shorten};

/// Maximum length of a heading in a path, in characters.
pub(crate) const MAX_HEADING_CHARS: usize = 300;
/// Minimum average size of a section, in bytes, since each passage takes some kilobytes and a
/// vector. None of 2,730 Markdown files of published packages has more sections than this allows.
const MIN_SECTION_BYTES: usize = 128;
/// Number of sections that every document may have, whatever their size.
pub(crate) const MIN_SECTION_LIMIT: usize = 64;
/// Number of sections that no document may exceed.
const MAX_SECTIONS: usize = 5_000;
/// Deepest level of a heading.
const MAX_HEADING_LEVEL: usize = 6;

/// Markdown document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Title in the front matter, else the first heading; empty without either.
    pub title: String,
    /// Tags in the front matter.
    pub tags: Vec<String>,
    /// Scope in the front matter: the paths or areas that the document is about.
    pub scope: Vec<String>,
    /// Status in the front matter, such as `accepted` for a proposal.
    pub status: Option<String>,
    /// Sections in order; none has only white space.
    pub sections: Vec<Section>,
}

/// Part of a document, within one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Headings from the outermost to the innermost.
    pub heading_path: Vec<String>,
    /// First line in the file, 1-based.
    pub line_start: usize,
    /// Last line, 1-based, inclusive.
    pub line_end: usize,
    /// Lines, including the heading, joined by LF.
    pub text: String,
}

/// Returns the number of sections that a text may have at its headings.
pub(crate) fn max_sections(bytes: usize) -> usize {
    (bytes / MIN_SECTION_BYTES).clamp(MIN_SECTION_LIMIT, MAX_SECTIONS)
}

/// Splits a normalized text into sections. Front matter that is not a YAML mapping counts as text;
/// an invalid field of it is skipped. The time is linear in the text. Blocks the thread if there is
/// front matter, because a child process parses it.
///
/// If the headings start more sections than the size of the text allows, those of the deepest
/// levels start none, and sections that are too long are split by size. If even the first level
/// starts too many, the text is split by size alone.
pub fn parse(text: &str, limits: Limits) -> Document {
    let lines = Lines::of(text);
    let (mut document, first) = front_matter(&lines).unwrap_or_default();
    let (headings, fenced) = scan(&lines, first);
    let deepest = deepest_level(&lines, &headings, first);
    let sections = &mut document.sections;
    split(&lines, &headings, first, deepest, |start, end, path| {
        push(sections, &lines, &fenced, path, start, end, limits);
    });
    if let Some(heading) = headings.first()
        && document.title.is_empty()
    {
        heading.text.clone_into(&mut document.title);
    }
    document
}

/// Splits a normalized text by size alone. The sections have no headings.
pub(crate) fn split_by_size(text: &str, limits: Limits) -> Vec<Section> {
    let lines = Lines::of(text);
    let (_, fenced) = scan(&lines, 0);
    let mut sections = Vec::new();
    push(&mut sections, &lines, &fenced, &[], 0, lines.count(), limits);
    sections
}

/// Returns the deepest level whose headings, with those above, start few enough sections; 0 if
/// there is none.
fn deepest_level(lines: &Lines<'_>, headings: &[Heading<'_>], first: usize) -> usize {
    let max = max_sections(lines.span_len(first, lines.count()));
    let is_allowed = |level: &usize| {
        let mut count = 0;
        split(lines, headings, first, *level, |_, _, _| count += 1);
        count <= max
    };
    (1..=MAX_HEADING_LEVEL).rev().find(is_allowed).unwrap_or(0)
}

/// Calls `add` with the first line and the end of each section, and its headings, outermost first.
/// Headings below level `deepest` are text.
fn split<'a>(
    lines: &Lines<'_>,
    headings: &[Heading<'a>],
    first: usize,
    deepest: usize,
    mut add: impl FnMut(usize, usize, &[(usize, &'a str)]),
) {
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut start = first;
    // Headings are in order and do not overlap, so each line is looked at once.
    let mut after_heading = first;
    for heading in headings.iter().filter(|heading| heading.level <= deepest) {
        // A heading without text belongs to the next section.
        if (after_heading..heading.line).any(|line| !lines.is_blank(line)) {
            add(start, heading.line, &path);
            start = heading.line;
        }
        after_heading = heading.end;
        path.retain(|(level, _)| *level < heading.level);
        path.push((heading.level, heading.text));
    }
    add(start, lines.count(), &path);
}

/// Returns the items of a list, or of a text with commas.
fn words(value: &Value) -> Vec<String> {
    let words: Vec<String> = match value {
        Value::Sequence(items) => items.iter().filter_map(scalar).collect(),
        Value::String(text) => text.split(',').map(|word| word.trim().to_owned()).collect(),
        value => scalar(value).into_iter().collect(),
    };
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Returns a scalar as text; `None` for a list, a mapping or null.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Tagged(tagged) => scalar(&tagged.value),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) => None,
    }
}

/// Returns a document with the fields of the front matter, and the index of the line after it.
fn front_matter(lines: &Lines<'_>) -> Option<(Document, usize)> {
    const MAX_LINES: usize = 200;
    // The YAML parser takes quadratic time for nested collections.
    const MAX_BYTES: usize = 16 * 1024;
    if lines.count() == 0 || lines.get(0).trim_end() != "---" {
        return None;
    }
    let end = (1..lines.count().min(MAX_LINES))
        .find(|line| matches!(lines.get(*line).trim_end(), "---" | "..."))?;
    if lines.span_len(1, end) > MAX_BYTES {
        return None;
    }
    let fields = mc_sandbox::call::<FrontMatterParser>(lines.span(1, end));
    let FrontMatter { title, tags, scope, status } = fields.unwrap_or_else(|error| {
        tracing::warn!(%error, "the front matter of a document counts as text");
        None
    })?;
    Some((Document { title, tags, scope, status, sections: Vec::new() }, end + 1))
}

/// Fields of front matter; see [`Document`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrontMatter {
    title: String,
    tags: Vec<String>,
    scope: Vec<String>,
    status: Option<String>,
}

/// Maximum depth of nested collections in brackets, such as `[a, {b: c}]`, in front matter. The
/// time of the YAML parser is quadratic in this depth.
const MAX_BRACKET_DEPTH: usize = 64;

/// Parses front matter; `None` if it is not a mapping, or nested too deeply.
pub(crate) fn parse_front_matter(yaml: &str) -> Option<FrontMatter> {
    if is_nested_too_deeply(yaml) {
        return None;
    }
    let fields = serde_norway::from_str::<Option<Mapping>>(yaml).ok()?.unwrap_or_default();
    Some(FrontMatter {
        title: fields.get("title").and_then(scalar).unwrap_or_default(),
        tags: fields.get("tags").map(words).unwrap_or_default(),
        scope: fields.get("scope").map(words).unwrap_or_default(),
        status: fields.get("status").and_then(scalar),
    })
}

/// Brackets in quotes count, too: front matter with so many of these is not realistic.
fn is_nested_too_deeply(yaml: &str) -> bool {
    let mut depth = 0_usize;
    yaml.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_BRACKET_DEPTH
    })
}

struct Heading<'a> {
    /// 0-based.
    line: usize,
    /// One past the last line: a setext heading has two lines.
    end: usize,
    level: usize,
    /// At most [`MAX_HEADING_CHARS`].
    text: &'a str,
}

/// Finds the headings from line `first` on, and marks the lines inside a code fence.
fn scan<'a>(lines: &Lines<'a>, first: usize) -> (Vec<Heading<'a>>, Vec<bool>) {
    let mut headings = Vec::new();
    let mut fenced = vec![false; lines.count()];
    let mut fence: Option<&str> = None;
    for (line, inside) in fenced.iter_mut().enumerate().skip(first) {
        let text = lines.get(line);
        if let Some(open) = fence {
            *inside = true;
            if closes(text, open) {
                fence = None;
            }
            continue;
        }
        fence = opening_fence(text);
        if fence.is_some() {
            continue;
        }
        if let Some((level, text)) = atx_heading(text) {
            headings.push(Heading { line, end: line + 1, level, text });
        } else if let Some(level) = setext_level(text)
            && line > first
            && is_setext_text(lines.get(line - 1))
        {
            let text = shorten(lines.get(line - 1).trim(), MAX_HEADING_CHARS);
            headings.push(Heading { line: line - 1, end: line + 1, level, text });
        }
    }
    (headings, fenced)
}

/// Removes up to three leading spaces; `None` for four, which start a code block.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4).then_some(text)
}

/// Returns the characters that open a code fence.
fn opening_fence(line: &str) -> Option<&str> {
    let text = unindented(line)?;
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = &text[..text.len() - text.trim_start_matches(mark).len()];
    // A backtick after the opening ones means inline code.
    let is_fence = run.len() >= 3 && (mark == '~' || !text[run.len()..].contains('`'));
    is_fence.then_some(run)
}

fn closes(line: &str, open: &str) -> bool {
    unindented(line).is_some_and(|text| {
        let rest = text.trim_start_matches(&open[..1]);
        text.len() - rest.len() >= open.len() && rest.trim().is_empty()
    })
}

fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let text = unindented(line)?;
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=MAX_HEADING_LEVEL).contains(&level)
        || !(rest.is_empty() || rest.starts_with([' ', '\t']))
    {
        return None;
    }
    let title = rest.trim();
    let closed = title.trim_end_matches('#');
    let title =
        if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim_end() } else { title };
    Some((level, shorten(title, MAX_HEADING_CHARS)))
}

fn setext_level(line: &str) -> Option<usize> {
    let text = unindented(line)?.trim_end();
    let level = match text.chars().next()? {
        '=' => 1,
        '-' => 2,
        _ => return None,
    };
    (text.len() >= 2
        && text.trim_matches(['=', '-']).is_empty()
        && !(text.contains('=') && text.contains('-')))
    .then_some(level)
}

/// Returns whether the line can be the text of a setext heading: a paragraph, no list or table.
fn is_setext_text(line: &str) -> bool {
    unindented(line).is_some_and(|text| {
        !text.trim().is_empty()
            && !text.starts_with(['#', '>', '|', '-', '*', '+', '`', '~', '='])
            && !text.contains(" | ")
    })
}

/// Adds the lines as one section, or as several if they exceed the limits.
fn push(
    sections: &mut Vec<Section>,
    lines: &Lines<'_>,
    fenced: &[bool],
    path: &[(usize, &str)],
    start: usize,
    end: usize,
    limits: Limits,
) {
    let text = lines.span(start, end);
    if text.trim().is_empty() {
        return;
    }
    let part = Lines::of(text);
    let costs = costs(&part, &fenced[start..end]);
    for span in pack(&part, &costs, Limits { overlap: 0, ..limits }) {
        let text = match &span.part {
            Some(bytes) => &part.get(span.start)[bytes.clone()],
            None => part.span(span.start, span.end),
        };
        if text.trim().is_empty() {
            continue;
        }
        sections.push(Section {
            heading_path: path
                .iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(_, text)| (*text).to_owned())
                .collect(),
            line_start: start + span.start + 1,
            line_end: start + span.end,
            text: text.to_owned(),
        });
    }
}

/// Returns the cost of a cut before each line: lowest between paragraphs, then between list items,
/// then between lines, and highest inside a code fence.
fn costs(lines: &Lines<'_>, fenced: &[bool]) -> Vec<u32> {
    (0..lines.count())
        .map(|line| {
            let follows_blank = line > 0 && lines.is_blank(line - 1);
            let opens_item = lines.get(line).trim_start().starts_with(['-', '*', '+', '|']);
            let within = if follows_blank {
                0
            } else if opens_item {
                10
            } else {
                20
            };
            within + if fenced[line] { WITHIN_DEFINITION } else { 0 }
        })
        .collect()
}

#[cfg(test)]
mod tests;
