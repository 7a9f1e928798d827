//! Reading of a document by sections. A short document is shown in full, a long one by its outline
//! and its start. Sections are then read piece by piece.

use mc_domain::{UntrustedText, shorten};
use serde_json::{Value, json};

use crate::tokens;

/// Divisor of the budget for the outline: half of it.
const OUTLINE_SHARE: usize = 2;
/// Maximum number of headings in an error.
const HEADINGS_MAX: usize = 30;
/// Maximum length of a heading, in characters. Longer headings are cut, because the path of each
/// section repeats them: a hostile document may have one long heading and very many sections.
const TITLE_MAX: usize = 300;

/// Section of a document, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section<'a> {
    title: &'a str,
    level: usize,
    /// Start of the heading.
    start: usize,
    /// Start of the next heading of the same or a higher level.
    end: usize,
    /// Parent headings, outermost first.
    parents: Vec<&'a str>,
}

/// Part of a document that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// Text of the piece, which ends at a paragraph if possible.
    pub text: String,
    /// Requested section, such as `Guide > Install`.
    pub section: Option<String>,
    /// Headings, each indented by its level; empty if the text is complete.
    pub outline: Vec<String>,
    /// Number of headings that the outline omits.
    pub unnamed: usize,
    /// Offset in characters at which to continue; `None` at the end.
    pub next: Option<u64>,
}

/// Error for a section that was not found. Its message has no heading of the document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("section: {}", problem(candidates, *is_ambiguous))]
pub struct NoSection {
    /// Sections that may be meant, else those of the document.
    pub candidates: Vec<UntrustedText>,
    /// Whether several sections have the name.
    pub is_ambiguous: bool,
}

fn problem(candidates: &[UntrustedText], is_ambiguous: bool) -> &'static str {
    match (candidates, is_ambiguous) {
        ([], _) => {
            "the document has no headings; leave out `section`, and use `offset` to read further"
        }
        (_, true) => {
            "several sections have this name; put the headings above it first, such as \
             `Guide > Install`"
        }
        (_, false) => "the document has no section of that name; name one of its sections",
    }
}

impl Piece {
    /// Returns the document from `offset`, in characters, within `budget` tokens.
    pub fn at(content: &str, offset: u64, budget: usize) -> Self {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let start = shorten(content, offset).len();
        Self::span(content, start, content.len(), budget)
    }

    /// Returns a short document in full, else the outline and the start.
    pub fn first(content: &str, budget: usize) -> Self {
        if tokens::fits(content, budget) {
            return Self::span(content, 0, content.len(), budget);
        }
        let sections = sections(content);
        let (outline, unnamed) = outline(&sections, budget / OUTLINE_SHARE);
        let room = budget.saturating_sub(outline.iter().map(|line| tokens::cost(line)).sum());
        Self { outline, unnamed, ..Self::span(content, 0, content.len(), room) }
    }

    /// Returns the section with this heading, optionally with its parents (`Guide > Install`).
    pub fn of_section(content: &str, name: &str, budget: usize) -> Result<Self, NoSection> {
        let sections = sections(content);
        let section = find(&sections, name)?;
        Ok(Self::section_piece(content, &sections, section, budget))
    }

    /// Returns a short document in full, else the innermost section with `line`, from 1.
    pub fn around(content: &str, line: usize, budget: usize) -> Self {
        if tokens::fits(content, budget) {
            return Self::first(content, budget);
        }
        let before = content.split_inclusive('\n').take(line.saturating_sub(1));
        let offset: usize = before.map(str::len).sum();
        let sections = sections(content);
        let has = |section: &&Section<'_>| section.start <= offset && offset < section.end;
        match sections.iter().rfind(has) {
            Some(section) => Self::section_piece(content, &sections, section, budget),
            None => Self::first(content, budget),
        }
    }

    fn section_piece(
        content: &str,
        all: &[Section<'_>],
        section: &Section<'_>,
        budget: usize,
    ) -> Self {
        let inside = all.iter().filter(|one| one.start > section.start && one.start < section.end);
        let inside: Vec<Section<'_>> = inside.cloned().collect();
        let is_complete = tokens::fits(&content[section.start..section.end], budget);
        let (outline, unnamed) =
            if is_complete { (Vec::new(), 0) } else { outline(&inside, budget / OUTLINE_SHARE) };
        let room = budget.saturating_sub(outline.iter().map(|line| tokens::cost(line)).sum());
        let piece = Self::span(content, section.start, section.end, room);
        Self { section: Some(section.path()), outline, unnamed, ..piece }
    }

    fn span(content: &str, start: usize, end: usize, budget: usize) -> Self {
        let length = tokens::fitting(&content[start..end], budget);
        let text = content[start..start + length].to_owned();
        let next = (start + length < end).then(|| content[..start + length].chars().count() as u64);
        Self { text, section: None, outline: Vec::new(), unnamed: 0, next }
    }

    /// Adds the piece to structured content.
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
        let titles: Vec<&str> = self.parents.iter().copied().chain([self.title]).collect();
        titles.join(" > ")
    }
}

/// Finds the sections of a Markdown text: `# Heading` or an underlined line, outside of code
/// fences.
fn sections(content: &str) -> Vec<Section<'_>> {
    let mut found: Vec<Section<'_>> = Vec::new();
    let (mut offset, mut fence, mut previous) = (0, None, (0, ""));
    for line in content.split_inclusive('\n') {
        let text = line.trim_end();
        let mark = fence_of(text);
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(close)) if open == close => fence = None,
            (None, None) => {
                let heading = atx(text).map(|(level, title)| (level, title, offset));
                let heading = heading.or_else(|| {
                    underline(text, previous.1).map(|level| (level, previous.1.trim(), previous.0))
                });
                if let Some((level, title, start)) = heading {
                    found.push(Section {
                        title: shorten(title, TITLE_MAX),
                        level,
                        start,
                        end: content.len(),
                        parents: Vec::new(),
                    });
                }
            }
            (Some(_), _) => {}
        }
        previous = (offset, if fence.is_some() { "" } else { text });
        offset += line.len();
    }
    close(&mut found);
    found
}

/// Sets the end and the parents of each section.
fn close(sections: &mut [Section<'_>]) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..sections.len() {
        let (level, start) = (sections[index].level, sections[index].start);
        while let Some(last) = open.pop_if(|last| sections[*last].level >= level) {
            sections[last].end = start;
        }
        sections[index].parents = open.iter().map(|parent| sections[*parent].title).collect();
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

/// Returns as many levels of headings as fit, and the number of omitted headings.
fn outline(sections: &[Section<'_>], budget: usize) -> (Vec<String>, usize) {
    let top = sections.iter().map(|section| section.level).min().unwrap_or(1);
    let deepest = sections.iter().map(|section| section.level).max().unwrap_or(1);
    let of_level = |max_level: usize| {
        let shown = sections.iter().filter(move |section| section.level <= max_level);
        shown.map(move |section| format!("{}{}", "  ".repeat(section.level - top), section.title))
    };
    let within = |max_level: usize| within(of_level(max_level), budget);
    let complete = (top..=deepest).rev().map(within).find(|(_, is_complete)| *is_complete);
    let (lines, _) = complete.unwrap_or_else(|| within(top));
    let unnamed = sections.len() - lines.len();
    (lines, unnamed)
}

/// Returns the first lines within `budget` tokens, and whether these are all lines.
fn within(lines: impl Iterator<Item = String>, budget: usize) -> (Vec<String>, bool) {
    let (mut fitting, mut remaining) = (Vec::new(), budget);
    for line in lines {
        if !tokens::fits(&line, remaining) {
            return (fitting, false);
        }
        remaining -= tokens::cost(&line);
        fitting.push(line);
    }
    (fitting, true)
}

fn find<'s, 'a>(sections: &'s [Section<'a>], name: &str) -> Result<&'s Section<'a>, NoSection> {
    let name = name.trim_start_matches('#').trim();
    // The headings of the name are cut as those of the document are.
    let titles: Vec<&str> = name.split(" > ").map(|title| shorten(title, TITLE_MAX)).collect();
    let name_key = plain(&titles.join(" > "));
    let mut found = best_matches(sections, &name_key);
    if found.is_empty() && name.len() > TITLE_MAX {
        // The name may be one heading with ` > ` in it.
        found = best_matches(sections, &plain(shorten(name, TITLE_MAX)));
    }
    let title = |section: &Section<'_>| plain(section.title);
    match found.as_slice() {
        [section] => Ok(*section),
        several @ [_, ..] => Err(NoSection { candidates: paths(several), is_ambiguous: true }),
        [] => {
            let shares_word = |section: &&Section<'_>| {
                let title = title(section);
                name_key.split(' ').any(|word| word.len() > 2 && title.contains(word))
            };
            let candidates: Vec<_> = sections.iter().filter(shares_word).collect();
            let candidates =
                if candidates.is_empty() { sections.iter().collect() } else { candidates };
            Err(NoSection { candidates: paths(&candidates), is_ambiguous: false })
        }
    }
}

/// Returns the sections that match a normalized name best.
fn best_matches<'s, 'a>(sections: &'s [Section<'a>], name_key: &str) -> Vec<&'s Section<'a>> {
    let mut matches: [Vec<&'s Section<'a>>; RANKS] = Default::default();
    let mut parents = ParentPath::default();
    for section in sections.iter().filter(|_| !name_key.is_empty()) {
        if let Some(rank) = rank(section, name_key, &mut parents) {
            matches[rank].push(section);
        }
    }
    matches.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// Number of ranks of a match.
const RANKS: usize = 4;

/// Returns how well a section matches a name, best first: its title or path is the name, its path
/// ends with the name, its title starts with it, or contains it.
fn rank<'s>(
    section: &'s Section<'_>,
    name_key: &str,
    parents: &mut ParentPath<'s>,
) -> Option<usize> {
    let title = plain(section.title);
    if title == name_key {
        return Some(0);
    }
    // A path ends with its title, and a matching one with the name, too. So most paths need not be
    // composed.
    if name_key.ends_with(&title) || title.ends_with(name_key) {
        let path = parents.path(section, &title);
        if path == name_key {
            return Some(0);
        }
        if path.ends_with(&format!("> {name_key}")) {
            return Some(1);
        }
    }
    let ranks = [(2, title.starts_with(name_key)), (3, title.contains(name_key))];
    ranks.into_iter().find(|(_, fits)| *fits).map(|(rank, _)| rank)
}

/// Parents of the last section, and their normalized path, which adjacent sections share.
#[derive(Default)]
struct ParentPath<'s> {
    titles: &'s [&'s str],
    path: String,
}

impl<'s> ParentPath<'s> {
    /// Returns the normalized path of a section, from its normalized title.
    fn path(&mut self, section: &'s Section<'_>, title: &str) -> String {
        if self.titles != section.parents.as_slice() {
            self.titles = &section.parents;
            self.path = plain(&section.parents.join(" > "));
        }
        if self.titles.is_empty() {
            return title.to_owned();
        }
        format!("{} > {title}", self.path).trim().to_owned()
    }
}

fn paths(sections: &[&Section<'_>]) -> Vec<UntrustedText> {
    let paths = sections.iter().take(HEADINGS_MAX).map(|section| section.path());
    paths.map(UntrustedText::new).collect()
}

/// Normalizes a heading for comparison: without markup, in lower case.
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
    fn headings_in_code_are_ignored() {
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
    fn section_is_found_by_its_heading_and_has_its_subsections() {
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
    fn ambiguous_or_unknown_section_is_rejected_with_candidates() {
        let error = Piece::of_section(GUIDE, "Install", 1_200).expect_err("two of them");
        assert!(error.is_ambiguous);
        assert_eq!(error.candidates, ["Guide > Install", "Notes > Install"]);
        let error = Piece::of_section(GUIDE, "Build from sources", 1_200).expect_err("none");
        assert_eq!(error.candidates, ["Guide > Install > From source"]);
        let error = Piece::of_section(GUIDE, "Licence", 1_200).expect_err("none");
        assert_eq!((error.candidates.len(), error.is_ambiguous), (6, false));
        assert!(!error.to_string().contains("Guide"), "a heading in the message: {error}");
        let error = Piece::of_section("no headings", "x", 1_200).expect_err("none");
        assert!(error.to_string().contains("has no headings"), "{error}");
    }

    #[test]
    fn long_heading_is_shortened_in_the_paths_of_its_sections() {
        let content = format!("# {}\n\n## Install\n\nOn Linux.\n", "a".repeat(10_000));
        let lengths: Vec<_> = titles(&content).iter().map(|(_, path)| path.len()).collect();
        assert_eq!(lengths, [TITLE_MAX, TITLE_MAX + " > Install".len()]);
        let piece = Piece::of_section(&content, "Install", 1_200).expect("a section");
        assert_eq!(piece.text, "## Install\n\nOn Linux.\n");
    }

    #[test]
    fn long_heading_is_found_by_its_full_name() {
        let title = format!("`Setup` of {}", "a".repeat(400));
        let content = format!("# {title}\n\n## Install\n\nOn Linux.\n\n# On > {title}\n\nMore.\n");
        let install = "## Install\n\nOn Linux.\n\n".to_owned();
        for (name, expected) in [
            (title.clone(), format!("# {title}\n\n{install}")),
            (format!("# {title}"), format!("# {title}\n\n{install}")),
            (format!("{title} > Install"), install),
            (format!("On > {title}"), format!("# On > {title}\n\nMore.\n")),
        ] {
            let piece = Piece::of_section(&content, &name, 1_200).expect("a section");
            assert_eq!(piece.text, expected, "{name}");
        }
        Piece::of_section(&content, &"b".repeat(400), 1_200).expect_err("no such section");
    }

    #[test]
    fn heading_without_words_is_part_of_a_path() {
        let content = "# Guide\n\n## ***\n\n### Install\n\nOn Linux.\n";
        for name in ["Guide > *** > Install", "*** > Install", "Install"] {
            let piece = Piece::of_section(content, name, 1_200).expect("a section");
            assert!(piece.text.starts_with("### Install"), "{name}");
        }
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
    fn short_document_is_complete_and_long_one_has_an_outline() {
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

    /// The time does not depend on the part that is not shown.
    #[test]
    fn document_of_only_headings_is_opened() {
        let content = "# a\n".repeat(250_000);
        let first = Piece::first(&content, 1_200);
        assert!(first.outline.len() > 100 && first.text.starts_with("# a\n"));
        assert_eq!(first.outline.len() + first.unnamed, 250_000);
        let shown: usize = first.outline.iter().map(|line| tokens::cost(line)).sum();
        assert!(shown <= 600 && shown + tokens::cost(&first.outline[0]) > 600, "{shown}");
        assert_eq!(Piece::around(&content, 200_000, 1_200).text, "# a\n");
        let section_piece = format!("# Top\n{}", "## a\n".repeat(200_000));
        let section = Piece::of_section(&section_piece, "Top", 1_200).expect("a section");
        assert_eq!(section.outline.len() + section.unnamed, 200_000);
    }

    #[test]
    fn long_section_is_read_in_pieces_without_loss() {
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
    fn offset_after_the_end_is_an_empty_piece() {
        let piece = Piece::at("abc", u64::MAX, 1_200);
        assert_eq!((piece.text.as_str(), piece.next), ("", None));
    }

    #[test]
    fn line_selects_its_section() {
        let content = long();
        let line = 1 + content.lines().position(|line| line == "### Detail 7").expect("a heading");
        let piece = Piece::around(&content, line + 2, 400);
        assert_eq!(piece.section.as_deref(), Some("Part 7 > Detail 7"));
        assert_eq!(Piece::around(GUIDE, 9, 1_200).text, GUIDE, "a short one is shown whole");
        assert_eq!(Piece::around(&content, 1_000_000, 400), Piece::first(&content, 400));
    }
}
