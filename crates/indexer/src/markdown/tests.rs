use insta::assert_debug_snapshot;
use proptest::prelude::*;

use super::*;

fn outline(text: &str) -> Vec<String> {
    parse(text, Limits::default())
        .sections
        .iter()
        .map(|s| format!("{}-{} {}", s.line_start, s.line_end, s.heading_path.join(" > ")))
        .collect()
}

#[test]
fn section_has_the_path_of_its_headings() {
    let text = "Intro.\n\n# Guide\n\n## Setup\n\nRun it.\n\n### Linux\napt\n\n## Use\nCall it.\n";
    assert_debug_snapshot!(outline(text), @r#"
    [
        "1-1 ",
        "3-7 Guide > Setup",
        "9-10 Guide > Setup > Linux",
        "12-13 Guide > Use",
    ]
    "#);
}

#[test]
fn headings_inside_fences_are_code() {
    let text = "# A\n```sh\n# no heading\n```\n~~~~\n## nor here\n~~~\n# still not\n~~~~\n# B\nb\n";
    assert_eq!(outline(text), ["1-9 A", "10-11 B"]);
}

#[test]
fn setext_headings_are_headings_and_rules_are_not() {
    let text = "Title\n=====\ntext\n\nSub\n---\nmore\n\n---\n\n- item\n---\n| a | b |\n|---|---|\n";
    assert_eq!(outline(text), ["1-3 Title", "5-14 Title > Sub"]);
}

#[test]
fn front_matter_sets_title_tags_and_scope() {
    let text = "---\ntitle: Delays\ntags: [cart, delay]\nscope: app/models, lib\nother: {a: 1}\n\
               ---\n# H\ntext\n";
    let document = parse(text, Limits::default());
    assert_eq!(document.title, "Delays");
    assert_eq!(document.tags, ["cart", "delay"]);
    assert_eq!(document.scope, ["app/models", "lib"]);
    assert_eq!(document.sections[0].line_start, 7);
    assert_eq!(document.sections[0].text, "# H\ntext");
}

#[test]
fn invalid_front_matter_field_is_skipped() {
    let read = |front: &str| {
        let Document { title, tags, scope, .. } =
            parse(&format!("---\n{front}\n---\n# H\ntext\n"), Limits::default());
        (title, tags.join(" "), scope.join(" "))
    };
    let expect = |title: &str, tags: &str, scope: &str| (title.into(), tags.into(), scope.into());
    assert_eq!(
        read("title: 404\ntags: [adr, 2024, true, 1.5]"),
        expect("404", "adr 2024 true 1.5", "")
    );
    assert_eq!(read("title: {a: b}\ntags: 7\nscope: lib"), expect("H", "7", "lib"));
    assert_eq!(read("title: [x]\ntags: {a: b}\nscope: [lib, [x], ~]"), expect("H", "", "lib"));
    assert_eq!(read("title:\ntags:\n1: x\nscope: [' lib ', '']"), expect("H", "", "lib"));
    assert_eq!(read("title: !special Delays\ndate: 2024-01-02"), expect("Delays", "", ""));
}

#[test]
fn malformed_front_matter_is_text() {
    for text in ["---\ntitle: [\n---\ntext\n", "---\ntitle: a\ntext", "---\n- list\n---\ntext\n"] {
        let document = parse(text, Limits::default());
        assert!(document.sections[0].text.starts_with("---"), "{text}");
        assert!(document.tags.is_empty());
    }
}

#[test]
fn deeply_nested_front_matter_is_text() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        parse(&format!("---\ntags: x\na: {open}{close}\n---\ntext\n"), Limits::default())
    };
    assert_eq!(nested(64).tags, ["x"]);
    let document = nested(65);
    assert!(document.tags.is_empty() && document.sections[0].text.starts_with("---"));
}

#[test]
fn long_sections_are_cut_between_paragraphs() {
    let text =
        format!("# A\n\n{}", "A paragraph of some words, and then some more.\n\n".repeat(100));
    let document = parse(&text, Limits::default());
    assert!(document.sections.len() > 2);
    for section in &document.sections {
        assert!(section.text.len() <= Limits::default().bytes);
        assert_eq!(section.heading_path, ["A"]);
    }
    assert!(document.sections[1].text.starts_with("A paragraph"));
}

/// Sections of a text, none of which is lost.
fn sections(text: &str) -> Vec<Section> {
    let sections = parse(text, Limits::default()).sections;
    let line_count: usize = sections.iter().map(|s| s.text.lines().count()).sum();
    assert_eq!(line_count, text.lines().count(), "no text is lost");
    sections
}

#[test]
fn short_sections_are_as_many_as_their_bytes_allow() {
    for count in [100, 2_000, 100_000] {
        let text = "# a\nb\n".repeat(count);
        let found = sections(&text);
        assert!(found.len() <= max_sections(text.len()), "{} of {count}", found.len());
        assert!(found.iter().all(|section| section.heading_path.is_empty()));
    }
    let of_bytes = |bytes: usize| format!("# a\n{}\n", "b".repeat(bytes - 5)).repeat(1_000);
    assert_eq!(sections(&of_bytes(MIN_SECTION_BYTES + 1)).len(), 1_000);
    assert!(sections(&of_bytes(MIN_SECTION_BYTES - 1)).len() < 100);
}

#[test]
fn few_sections_are_kept_however_short_they_are() {
    let short = |count| "# a\nb\n".repeat(count);
    assert_eq!(sections(&short(MIN_SECTION_LIMIT)).len(), MIN_SECTION_LIMIT);
    assert_eq!(sections(&short(MIN_SECTION_LIMIT + 1)).len(), 1);
}

#[test]
fn the_deepest_levels_of_too_many_headings_start_no_section() {
    let release = format!("## 1.0\n### Added\n{}", "#### one\na\n".repeat(20));
    let text = format!("# Changes\n{}", release.repeat(10));
    let found = sections(&text);
    assert_eq!(found.len(), 10);
    for section in &found {
        assert_eq!(section.heading_path, ["Changes", "1.0", "Added"]);
        assert_eq!(section.text.lines().filter(|line| *line == "#### one").count(), 20);
    }
}

#[test]
fn no_document_has_more_sections_than_the_maximum() {
    let paragraph = "A paragraph of an ordinary section, with some words.\n".repeat(6);
    let text = format!("# a\n{paragraph}").repeat(MAX_SECTIONS + 1);
    assert!(sections(&text).len() < MAX_SECTIONS);
    let text = format!("# a\n{paragraph}").repeat(MAX_SECTIONS);
    assert_eq!(sections(&text).len(), MAX_SECTIONS);
}

#[test]
fn a_text_is_split_by_size_alone() {
    let text = format!("# A\n\n{}", "Some words.\n\n## B\n\n".repeat(400));
    let found = split_by_size(&text, Limits::default());
    assert!((11..=15).contains(&found.len()), "{}", found.len());
    assert!(found.iter().all(|section| section.heading_path.is_empty()));
    assert_eq!((found[0].line_start, found[0].text.starts_with("# A")), (1, true));
}

#[test]
fn a_text_that_cannot_be_parsed_is_split_by_size() {
    let text = format!("---\ntitle: A\n---\n{}", "# B\n\nSome words.\n\n".repeat(400));
    let lines = [Lines::of(&text)];
    let outline = checked(Err(CallError::Stopped), &lines).remove(0);
    assert_eq!(outline, Outline::by_lines(&lines[0]));
    let found = document(&lines[0], outline, Limits::default());
    assert_eq!((found.title.as_str(), found.sections[0].line_start), ("", 1));
    assert!(found.sections.iter().all(|section| section.heading_path.is_empty()));
    assert!((11..=15).contains(&found.sections.len()), "{}", found.sections.len());
    let words = |text: &str| text.split_whitespace().count();
    let kept: usize = found.sections.iter().map(|section| words(&section.text)).sum();
    assert_eq!(kept, words(&text));
}

#[test]
fn only_results_that_fit_all_texts_count() {
    let texts = ["# A\nb\n", "# C\nd\n"];
    let lines = texts.map(Lines::of);
    let read = || texts.map(Outline::read).to_vec();
    let without_headings: Vec<_> = lines.iter().map(Outline::by_lines).collect();
    assert_eq!(checked(Ok(read()), &lines), read());
    let swapped = read().into_iter().rev().collect();
    assert_eq!(checked(Ok(swapped), &lines), without_headings);
    assert_eq!(checked(Ok(read()[..1].to_vec()), &lines), without_headings);
}

#[test]
fn long_heading_is_shortened_in_the_path() {
    let text = format!("# {}\ntext\n", "é".repeat(2 * MAX_HEADING_CHARS));
    let document = parse(&text, Limits::default());
    assert_eq!(document.title, "é".repeat(MAX_HEADING_CHARS));
    assert_eq!(document.sections[0].heading_path, [document.title]);
}

#[test]
fn long_front_matter_is_text() {
    let text = format!("---\ntags: [{}]\n---\ntext\n", "a,".repeat(8 * 1024));
    let document = parse(&text, Limits::default());
    assert!(document.sections[0].text.starts_with("---"));
    assert!(document.tags.is_empty());
}

proptest! {
    #[test]
    fn every_word_is_in_some_section(
        lines in prop::collection::vec("(#{0,7} |[-=]{2,5}|```|~~~|    |)[a-z]{0,9}", 0..60),
        // At least the length of the longest line, so that no line is split.
        bytes in 17_usize..200,
    ) {
        let text = lines.join("\n");
        let limits = Limits { bytes, ..Limits::default() };
        let document = parse(&text, limits);
        let mut last = 0;
        for section in &document.sections {
            prop_assert!(section.line_start > last && section.line_end >= section.line_start);
            last = section.line_end;
        }
        // Except for front matter, every word is in exactly one section.
        if !text.starts_with("---") {
            let sections = document.sections.iter();
            let covered: String = sections.flat_map(|s| s.text.split_whitespace()).collect();
            let words: String = text.split_whitespace().collect();
            prop_assert_eq!(covered, words);
        }
    }
}
