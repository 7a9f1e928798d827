//! Splitting of Markdown at its headings.

mod front_matter;
mod outline;

use std::ops::Range;

use mc_parser_pool::CallError;

use crate::chunker::{Limits, pack};
use crate::parsers::MarkdownParser;
use crate::text::Lines;
use front_matter::FrontMatter;
use outline::Heading;

pub(crate) use outline::Outline;

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
/// an invalid field of it is skipped. The time is linear in the text. Blocks the thread, because a
/// child process parses the text.
///
/// If the headings start more sections than the size of the text allows, those of the deepest
/// levels start none, and sections that are too long are split by size. If even the first level
/// starts too many, the text is split by size alone. So is a text that exceeds the limits of the
/// child process; its front matter counts as text, too.
pub fn parse(text: &str, limits: Limits) -> Document {
    parse_all(&[text], limits).next().unwrap_or_default()
}

/// Splits several texts as [`parse`] does, with one call of a child process, and returns a document
/// for each, in order. If one of them exceeds the limits of that process, all are split by size.
/// The sections are made one text after the other, so that the caller can stop at a limit.
pub(crate) fn parse_all(texts: &[&str], limits: Limits) -> impl Iterator<Item = Document> {
    let lines: Vec<Lines<'_>> = texts.iter().map(|text| Lines::of(text)).collect();
    let outlines = outlines(texts, &lines);
    lines.into_iter().zip(outlines).map(move |(lines, outline)| document(&lines, outline, limits))
}

/// Splits a normalized text by size alone. The sections have no headings. Blocks the thread,
/// because a child process finds the code blocks, in which the text should not be cut; if it fails,
/// they are not known.
pub(crate) fn split_by_size(text: &str, limits: Limits) -> Vec<Section> {
    let lines = Lines::of(text);
    let mut sections = Vec::new();
    for Outline { costs, .. } in outlines(&[text], std::slice::from_ref(&lines)) {
        push(&mut sections, &lines, &costs, &[], 0..lines.count(), limits);
    }
    sections
}

/// Returns the outline of each text.
fn outlines(texts: &[&str], lines: &[Lines<'_>]) -> Vec<Outline> {
    checked(mc_parser_pool::call::<MarkdownParser>(texts.to_vec()), lines)
}

/// Returns the results of the child process, if they fit the texts. Otherwise, one of the texts has
/// probably taken over the process, so none of the results counts.
fn checked(result: Result<Vec<Outline>, CallError>, lines: &[Lines<'_>]) -> Vec<Outline> {
    let fit = |outlines: &[Outline]| {
        outlines.len() == lines.len()
            && outlines.iter().zip(lines).all(|(outline, lines)| outline.fits(lines))
    };
    let reason = match result {
        Ok(outlines) if fit(&outlines) => return outlines,
        Ok(_) => "its parser returned a result that does not fit the text".to_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(reason, "document split by size, without front matter and headings");
    lines.iter().map(Outline::by_lines).collect()
}

fn document(lines: &Lines<'_>, outline: Outline, limits: Limits) -> Document {
    let Outline { front_matter, first, headings, costs } = outline;
    let deepest = deepest_level(lines, &headings, first);
    let mut sections = Vec::new();
    split(lines, &headings, first, deepest, |start, end, path| {
        push(&mut sections, lines, &costs, path, start..end, limits);
    });
    let FrontMatter { mut title, tags, scope, status } = front_matter;
    if let Some(heading) = headings.into_iter().next()
        && title.is_empty()
    {
        title = heading.text;
    }
    Document { title, tags, scope, status, sections }
}

/// Returns the deepest level whose headings, with those above, start few enough sections; 0 if
/// there is none.
fn deepest_level(lines: &Lines<'_>, headings: &[Heading], first: usize) -> usize {
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
    headings: &'a [Heading],
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
        path.push((heading.level, &heading.text));
    }
    add(start, lines.count(), &path);
}

/// Adds the lines as one section, or as several if they exceed the limits.
fn push(
    sections: &mut Vec<Section>,
    lines: &Lines<'_>,
    costs: &[u32],
    path: &[(usize, &str)],
    range: Range<usize>,
    limits: Limits,
) {
    let text = lines.span(range.start, range.end);
    if text.trim().is_empty() {
        return;
    }
    let part = Lines::of(text);
    let start = range.start;
    for span in pack(&part, &costs[range], Limits { overlap: 0, ..limits }) {
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

#[cfg(test)]
mod tests;
