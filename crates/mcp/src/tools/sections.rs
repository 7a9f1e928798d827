//! A document read by its sections: whole where it is short, else an outline and the beginning,
//! then whichever section is asked for, piece by piece.

use serde_json::{Value, json};

use crate::tokens;

/// Share of the room that an outline may take.
const OUTLINE_SHARE: usize = 2;
/// Most headings that a refusal names.
const NAMED: usize = 30;

/// A heading and what stands below it, in bytes of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section<'a> {
    title: &'a str,
    level: usize,
    /// Where the heading begins.
    start: usize,
    /// Where the next heading of the same or a higher level begins.
    end: usize,
    /// Headings above it, outermost first.
    above: Vec<&'a str>,
}

/// What of a document is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// The section that it begins, where one was asked for: `Guide > Install`.
    pub section: Option<String>,
    /// Headings of what is not shown, each indented by its level; empty where all is shown.
    pub outline: Vec<String>,
    /// Headings that are left out of the outline.
    pub unnamed: usize,
    /// The character at which to read on; `None` at the end.
    pub next: Option<u64>,
}

/// A section that the document does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSection {
    /// Sections that may be meant, else the document's.
    pub near: Vec<String>,
    /// Whether several of them are called that.
    pub is_ambiguous: bool,
}

impl Piece {
    /// The document from `offset`, in characters, as far as `budget` tokens reach.
    pub fn at(content: &str, offset: u64, budget: usize) -> Self {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let start = content.char_indices().nth(offset).map_or(content.len(), |(byte, _)| byte);
        Self::of(content, start, content.len(), budget)
    }

    /// The document as it is first opened.
    pub fn first(content: &str, budget: usize) -> Self {
        if tokens::fits(content, budget) {
            return Self::of(content, 0, content.len(), budget);
        }
        let sections = sections(content);
        let (outline, unnamed) = outline(&sections, budget / OUTLINE_SHARE);
        let room = budget.saturating_sub(outline.iter().map(|line| tokens::cost(line)).sum());
        Self { outline, unnamed, ..Self::of(content, 0, content.len(), room) }
    }

    /// The section called `name`: by its heading, alone or behind those above it (`Guide >
    /// Install`).
    pub fn of_section(content: &str, name: &str, budget: usize) -> Result<Self, NoSection> {
        let sections = sections(content);
        let section = find(&sections, name)?;
        Ok(Self::below(content, &sections, section, budget))
    }

    /// The innermost section that has `line`, from 1, where the document is too long to be shown
    /// whole.
    pub fn around(content: &str, line: usize, budget: usize) -> Self {
        if tokens::fits(content, budget) {
            return Self::first(content, budget);
        }
        let before = content.split_inclusive('\n').take(line.saturating_sub(1));
        let at: usize = before.map(str::len).sum();
        let sections = sections(content);
        let has = |section: &&Section<'_>| section.start <= at && at < section.end;
        match sections.iter().rfind(has) {
            Some(section) => Self::below(content, &sections, section, budget),
            None => Self::first(content, budget),
        }
    }

    fn below(content: &str, all: &[Section<'_>], section: &Section<'_>, budget: usize) -> Self {
        let inside = all.iter().filter(|one| one.start > section.start && one.start < section.end);
        let inside: Vec<Section<'_>> = inside.cloned().collect();
        let is_whole = tokens::fits(&content[section.start..section.end], budget);
        let (outline, unnamed) =
            if is_whole { (Vec::new(), 0) } else { outline(&inside, budget / OUTLINE_SHARE) };
        let room = budget.saturating_sub(outline.iter().map(|line| tokens::cost(line)).sum());
        let piece = Self::of(content, section.start, section.end, room);
        Self { section: Some(section.path()), outline, unnamed, ..piece }
    }

    fn of(content: &str, start: usize, end: usize, budget: usize) -> Self {
        let length = tokens::fitting(&content[start..end], budget);
        let text = content[start..start + length].to_owned();
        let next = (start + length < end).then(|| content[..start + length].chars().count() as u64);
        Self { text, section: None, outline: Vec::new(), unnamed: 0, next }
    }

    /// The piece as structured content.
    pub fn put_into(&self, answer: &mut Value) {
        answer["content"] = json!(self.text);
        if let Some(section) = &self.section {
            answer["section"] = json!(section);
        }
        if !self.outline.is_empty() {
            answer["outline"] = json!(self.outline);
        }
        if let Some(next) = self.next {
            answer["next_offset"] = json!(next);
        }
    }
}

impl Section<'_> {
    fn path(&self) -> String {
        let titles: Vec<&str> = self.above.iter().copied().chain([self.title]).collect();
        titles.join(" > ")
    }
}

/// The headings of a text in the manner of Markdown: `# Heading`, or a line that is underlined.
/// What stands in a fence is none.
fn sections(content: &str) -> Vec<Section<'_>> {
    let mut found: Vec<Section<'_>> = Vec::new();
    let (mut at, mut fence, mut before) = (0, None, (0, ""));
    for line in content.split_inclusive('\n') {
        let text = line.trim_end();
        let mark = fence_of(text);
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(close)) if open == close => fence = None,
            (None, None) => {
                let heading = atx(text).map(|(level, title)| (level, title, at));
                let heading = heading.or_else(|| {
                    underline(text, before.1).map(|level| (level, before.1.trim(), before.0))
                });
                if let Some((level, title, start)) = heading {
                    found.push(Section {
                        title,
                        level,
                        start,
                        end: content.len(),
                        above: Vec::new(),
                    });
                }
            }
            (Some(_), _) => {}
        }
        before = (at, if fence.is_some() { "" } else { text });
        at += line.len();
    }
    close(&mut found);
    found
}

/// Ends each section where the next of its rank begins, and tells it what it stands below.
fn close(sections: &mut [Section<'_>]) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..sections.len() {
        let (level, start) = (sections[index].level, sections[index].start);
        while let Some(last) = open.pop_if(|last| sections[*last].level >= level) {
            sections[last].end = start;
        }
        sections[index].above = open.iter().map(|above| sections[*above].title).collect();
        open.push(index);
    }
}

fn fence_of(line: &str) -> Option<char> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)))
}

fn atx(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let title = rest.trim().trim_end_matches('#').trim();
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty();
    is_heading.then_some((level, title))
}

fn underline(line: &str, above: &str) -> Option<usize> {
    let level = match line.chars().next()? {
        '=' => 1,
        '-' => 2,
        _ => return None,
    };
    let is_line = line.len() >= 3 && line.chars().all(|c| line.starts_with(c));
    let is_title = above.chars().any(char::is_alphanumeric)
        && !above.starts_with(['#', '>', '|', '-', '*', ' ', '\t']);
    (is_line && is_title).then_some(level)
}

/// As many levels of the headings as there is room for, and how many headings that leaves out.
fn outline(sections: &[Section<'_>], budget: usize) -> (Vec<String>, usize) {
    let top = sections.iter().map(|section| section.level).min().unwrap_or(1);
    let deepest = sections.iter().map(|section| section.level).max().unwrap_or(1);
    let of_level = |most: usize| {
        let shown = sections.iter().filter(move |section| section.level <= most);
        shown.map(move |one| format!("{}{}", "  ".repeat(one.level - top), one.title))
    };
    let within = |most: usize| within(of_level(most), budget);
    let whole = (top..=deepest).rev().map(within).find(|(_, are_all)| *are_all);
    let (lines, _) = whole.unwrap_or_else(|| within(top));
    let unnamed = sections.len() - lines.len();
    (lines, unnamed)
}

/// The first lines, as far as `budget` tokens reach, and whether those are all.
fn within(lines: impl Iterator<Item = String>, budget: usize) -> (Vec<String>, bool) {
    let (mut taken, mut left) = (Vec::new(), budget);
    for line in lines {
        if !tokens::fits(&line, left) {
            return (taken, false);
        }
        left -= tokens::cost(&line);
        taken.push(line);
    }
    (taken, true)
}

fn find<'s, 'a>(sections: &'s [Section<'a>], name: &str) -> Result<&'s Section<'a>, NoSection> {
    let wanted = plain(name);
    let by = |fits: &dyn Fn(&Section<'_>) -> bool| -> Vec<&'s Section<'a>> {
        sections.iter().filter(|section| fits(section)).collect()
    };
    let title = |section: &Section<'_>| plain(section.title);
    let tries = [
        by(&|section: &Section<'_>| title(section) == wanted || plain(&section.path()) == wanted),
        by(&|section: &Section<'_>| plain(&section.path()).ends_with(&format!("> {wanted}"))),
        by(&|section: &Section<'_>| title(section).starts_with(&wanted)),
        by(&|section: &Section<'_>| title(section).contains(&wanted)),
    ];
    let found = tries.into_iter().find(|found| !found.is_empty() && !wanted.is_empty());
    match found.as_deref() {
        Some([one]) => Ok(*one),
        Some(several) => Err(NoSection { near: paths(several), is_ambiguous: true }),
        None => {
            let shares_word = |section: &&Section<'_>| {
                let title = title(section);
                wanted.split(' ').any(|word| word.len() > 2 && title.contains(word))
            };
            let near: Vec<_> = sections.iter().filter(shares_word).collect();
            let near = if near.is_empty() { sections.iter().collect() } else { near };
            Err(NoSection { near: paths(&near), is_ambiguous: false })
        }
    }
}

fn paths(sections: &[&Section<'_>]) -> Vec<String> {
    sections.iter().take(NAMED).map(|section| section.path()).collect()
}

/// A heading as it is compared: without marks, in lower case.
fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '#' | '`' | '*' | '_')).collect();
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "Intro.\n\n# Guide\n\n## Install\n\nOn Linux.\n\n```sh\n# not a \
                         heading\n```\n\n### From source\n\n\
        Build it.\n\n## Use\n\nRun it.\n\nNotes\n=====\n\n## Install\n\nAgain.\n";

    fn titles(content: &str) -> Vec<(usize, String)> {
        sections(content).iter().map(|section| (section.level, section.path())).collect()
    }

    #[test]
    fn headings_are_told_from_comments_in_code() {
        let expected = [
            (1, "Guide"),
            (2, "Guide > Install"),
            (3, "Guide > Install > From source"),
            (2, "Guide > Use"),
            (1, "Notes"),
            (2, "Notes > Install"),
        ];
        assert_eq!(titles(GUIDE), expected.map(|(level, path)| (level, path.to_owned())));
        assert_eq!(titles("text\n---\n\n| a | b |\n|---|---|\n\n---\n"), [(2, "text".to_owned())]);
        assert_eq!(titles("#hashtag\n#!/bin/sh\n####### seven\n#  \n"), []);
    }

    #[test]
    fn a_section_is_found_by_its_heading_and_holds_those_below_it() {
        for name in ["Guide > Install", "guide > install", "## Guide > Install"] {
            let piece = Piece::of_section(GUIDE, name, 1_200).expect("a section");
            assert!(
                piece.text.starts_with("## Install") && piece.text.contains("Build it."),
                "{name}"
            );
            assert!(!piece.text.contains("Run it.") && piece.next.is_none(), "{name}");
            assert_eq!(piece.section.as_deref(), Some("Guide > Install"));
        }
        let by_part = Piece::of_section(GUIDE, "source", 1_200).expect("a section");
        assert_eq!(by_part.text, "### From source\n\nBuild it.\n\n");
        let notes = Piece::of_section(GUIDE, "Notes", 1_200).expect("an underlined heading");
        assert!(notes.text.starts_with("Notes\n====="), "{}", notes.text);
    }

    #[test]
    fn a_name_that_several_sections_or_none_have_is_refused_with_those_that_are_near() {
        let error = Piece::of_section(GUIDE, "Install", 1_200).expect_err("two of them");
        assert!(error.is_ambiguous);
        assert_eq!(error.near, ["Guide > Install", "Notes > Install"]);
        let error = Piece::of_section(GUIDE, "Build from sources", 1_200).expect_err("none");
        assert_eq!(error.near, ["Guide > Install > From source"]);
        let error = Piece::of_section(GUIDE, "Licence", 1_200).expect_err("none");
        assert_eq!((error.near.len(), error.is_ambiguous), (6, false));
        assert!(Piece::of_section("no headings", "x", 1_200).is_err());
    }

    fn long() -> String {
        (0..40)
            .map(|n| {
                format!(
                    "## Part {n}\n\n{}\n\n### Detail {n}\n\nMore.\n\n",
                    "Words of it. ".repeat(60)
                )
            })
            .collect()
    }

    #[test]
    fn a_short_document_is_shown_whole_and_a_long_one_by_its_outline() {
        let whole = Piece::first(GUIDE, 1_200);
        assert_eq!((whole.text.as_str(), whole.outline.len(), whole.next), (GUIDE, 0, None));
        let content = format!("# Manual\n\nWhat it is.\n\n{}", long());
        let piece = Piece::first(&content, 1_200);
        assert_eq!(piece.outline[..2], ["Manual", "  Part 0"]);
        assert_eq!(piece.outline.len() + piece.unnamed, 81);
        let shown: usize = piece.outline.iter().map(|line| tokens::cost(line)).sum();
        assert!(shown + tokens::cost(&piece.text) <= 1_210, "{shown}");
        assert!(piece.text.starts_with("# Manual") && piece.next.is_some());
    }

    /// Nothing of it takes longer for what is not shown.
    #[test]
    fn a_document_of_nothing_but_headings_is_opened() {
        let content = "# a\n".repeat(250_000);
        let first = Piece::first(&content, 1_200);
        assert!(first.outline.len() > 100 && first.text.starts_with("# a\n"));
        assert_eq!(first.outline.len() + first.unnamed, 250_000);
        let shown: usize = first.outline.iter().map(|line| tokens::cost(line)).sum();
        assert!(shown <= 600 && shown + tokens::cost(&first.outline[0]) > 600, "{shown}");
        assert_eq!(Piece::around(&content, 200_000, 1_200).text, "# a\n");
        let below = format!("# Top\n{}", "## a\n".repeat(200_000));
        let section = Piece::of_section(&below, "Top", 1_200).expect("a section");
        assert_eq!(section.outline.len() + section.unnamed, 200_000);
    }

    #[test]
    fn a_long_section_is_read_piece_by_piece_and_nothing_is_lost() {
        let content = format!("# Manual\n\n{}\n\n# End\n", "дом и сад ".repeat(3_000));
        let first = Piece::of_section(&content, "Manual", 1_200).expect("a section");
        let (mut read, mut next) = (first.text, first.next);
        while let Some(offset) = next {
            let piece = Piece::at(&content, offset, 1_200);
            read.push_str(&piece.text);
            next = piece.next;
        }
        assert_eq!(read, content);
    }

    #[test]
    fn an_offset_past_the_end_is_an_empty_piece() {
        let piece = Piece::at("abc", u64::MAX, 1_200);
        assert_eq!((piece.text.as_str(), piece.next), ("", None));
    }

    #[test]
    fn a_line_leads_to_the_section_that_has_it() {
        let content = long();
        let line = 1 + content.lines().position(|line| line == "### Detail 7").expect("a heading");
        let piece = Piece::around(&content, line + 2, 400);
        assert_eq!(piece.section.as_deref(), Some("Part 7 > Detail 7"));
        assert_eq!(Piece::around(GUIDE, 9, 1_200).text, GUIDE, "a short one is shown whole");
        assert_eq!(Piece::around(&content, 1_000_000, 400), Piece::first(&content, 400));
    }
}
