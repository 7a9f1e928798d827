//! Outline of a Markdown document: its headings, its front matter and the costs of cuts between its
//! lines.

use serde::{Deserialize, Serialize};

use super::front_matter::{self, FrontMatter};
use super::{MAX_HEADING_CHARS, MAX_HEADING_LEVEL};
use crate::chunker::{WITHIN_DEFINITION, costs_by_lines};
use crate::text::{Lines, shorten};

/// What the service needs to split a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub(super) front_matter: FrontMatter,
    /// First line after the front matter, 0-based.
    pub(super) first: usize,
    /// In order, without overlap.
    pub(super) headings: Vec<Heading>,
    /// Cost of a cut before each line of the text. They are only compared, so every value is safe.
    pub(super) costs: Vec<u32>,
}

/// Heading of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heading {
    /// 0-based.
    pub line: usize,
    /// One past the last line: a setext heading has two lines.
    pub end: usize,
    /// 1 to 6.
    pub level: usize,
    /// Part of the first line, at most [`MAX_HEADING_CHARS`] characters.
    pub text: String,
}

impl Outline {
    /// Reads the outline of a normalized text. The time is linear in the text.
    pub fn read(text: &str) -> Self {
        let lines = Lines::of(text);
        let (front_matter, first) = front_matter::read(&lines).unwrap_or_default();
        let (headings, fenced) = scan(&lines, first);
        Self { front_matter, first, headings, costs: costs(&lines, &fenced) }
    }

    /// Returns the outline of a text without front matter and headings.
    pub(super) fn by_lines(lines: &Lines<'_>) -> Self {
        Self { costs: costs_by_lines(lines), ..Self::default() }
    }

    /// Returns whether it can be that of the lines. A text that has taken over the child process
    /// may return anything.
    pub(super) fn fits(&self, lines: &Lines<'_>) -> bool {
        let mut end = self.first;
        self.costs.len() == lines.count()
            && self.front_matter.fits(self.first, lines)
            && self.headings.iter().all(|heading| {
                let follows = heading.line >= end;
                end = heading.end;
                follows && heading.fits(lines)
            })
    }
}

impl Heading {
    fn fits(&self, lines: &Lines<'_>) -> bool {
        (1..=2).contains(&self.end.saturating_sub(self.line))
            && self.end <= lines.count()
            && (1..=MAX_HEADING_LEVEL).contains(&self.level)
            && lines.get(self.line).contains(&self.text)
            && shorten(&self.text, MAX_HEADING_CHARS) == self.text
    }
}

/// Finds the headings from line `first` on, and marks the lines inside a code fence.
fn scan(lines: &Lines<'_>, first: usize) -> (Vec<Heading>, Vec<bool>) {
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
            headings.push(Heading { line, end: line + 1, level, text: text.to_owned() });
        } else if let Some(level) = setext_level(text)
            && line > first
            && is_setext_text(lines.get(line - 1))
        {
            let text = shorten(lines.get(line - 1).trim(), MAX_HEADING_CHARS).to_owned();
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
mod tests {
    use super::*;

    const TEXT: &str = "---\ntitle: Delays\n---\n# One\ntext\n\nTwo\n---\nmore\n";

    #[test]
    fn outline_fits_its_text_only() {
        let lines = Lines::of(TEXT);
        let outline = Outline::read(TEXT);
        assert_eq!((outline.first, outline.headings.len()), (3, 2));
        assert!(outline.fits(&lines));
        assert!(!outline.fits(&Lines::of("---\ntitle: Delays\n---\n# One\ntext\n")));
        assert!(Outline::by_lines(&lines).fits(&lines));
        assert!(Outline::default().fits(&Lines::of("")));
    }

    /// A process that was taken over must not make the service fail, hide text, or invent headings.
    #[test]
    fn outlines_that_no_text_has_do_not_fit() {
        type Change = (&'static str, fn(&mut Outline));
        let lines = Lines::of(TEXT);
        let changes: [Change; 14] = [
            ("no costs", |outline| outline.costs.clear()),
            ("more costs than lines", |outline| outline.costs.push(0)),
            ("first line after the end", |outline| {
                outline.headings.clear();
                outline.first = 10;
            }),
            ("all lines are front matter", |outline| {
                outline.headings.clear();
                outline.first = 9;
            }),
            ("front matter without its lines", |outline| outline.first = 0),
            ("long fields", |outline| outline.front_matter.title = "a".repeat(1 << 20)),
            ("heading in the front matter", |outline| {
                outline.headings[0] = Heading { line: 1, end: 2, level: 1, text: "title".into() };
            }),
            ("headings that overlap", |outline| {
                outline.headings[0].text.clear();
                outline.headings[0].line = 5;
                outline.headings[0].end = 7;
            }),
            ("heading after the end", |outline| {
                outline.headings[1] = Heading { line: 8, end: 10, level: 1, text: "more".into() };
            }),
            ("heading without a line", |outline| outline.headings[1].end = 6),
            ("heading of three lines", |outline| outline.headings[1].end = 9),
            ("level 0", |outline| outline.headings[0].level = 0),
            ("level 7", |outline| outline.headings[0].level = 7),
            ("text of another line", |outline| outline.headings[0].text = "Two".to_owned()),
        ];
        for (name, change) in changes {
            let mut outline = Outline::read(TEXT);
            change(&mut outline);
            assert!(!outline.fits(&lines), "{name}");
        }
        let long = format!("# {}", "a".repeat(2 * MAX_HEADING_CHARS));
        let mut outline = Outline::read(&long);
        assert!(outline.fits(&Lines::of(&long)));
        outline.headings[0].text.push('a');
        assert!(!outline.fits(&Lines::of(&long)), "a heading that was not shortened");
    }
}
