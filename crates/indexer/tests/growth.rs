//! Parsing of documents takes linear time for the tested families of text; parsing of code does, or
//! is aborted.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::{Family, assert_linear, family, repetitions};
use mc_indexer::chunker::{self, Limits};
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_indexer::{markdown, text};
use mc_sanitizer::{Policy, mask};

#[test]
fn markdown_is_parsed_in_linear_time() {
    let mut families = repetitions();
    families.extend([
        family("sections below a long heading", |bytes| {
            format!("# {}\n{}", "a".repeat(bytes / 2), "## b\n\nc\n".repeat(bytes / 16))
        }),
        family("nested front matter", |bytes| front_matter(&"{a: ".repeat(bytes / 4))),
        family("front matter of aliases", |bytes| {
            front_matter(&format!(
                "a: &a [{}]\nb: [{}]",
                "1,".repeat(bytes / 4),
                "*a,".repeat(bytes / 6)
            ))
        }),
    ]);
    assert_linear("markdown", 4 * 1024, &families, |text| {
        black_box(markdown::parse(text, Limits::default()));
    });
}

fn front_matter(yaml: &str) -> String {
    format!("---\n{yaml}\n---\ntext\n")
}

#[test]
fn document_and_conversation_are_split_in_linear_time() {
    let policy = Policy::default();
    assert_linear("document", 2 * 1024, &repetitions(), |text| {
        let page = Page { content: mask(text).text, ..Page::default() };
        black_box(document::cut(page, Limits::default(), &policy));
    });
    let messages = [
        family("messages", |bytes| "a\n".repeat(bytes / 2)),
        family("messages of a heading", |bytes| "# a\n".repeat(bytes / 4)),
    ];
    assert_linear("conversation", 4 * 1024, &messages, |text| {
        let message = |line| Message { author: "Ann".into(), sent_at: None, text: mask(line).text };
        let messages: Vec<_> = text.lines().map(message).collect();
        black_box(conversation::cut(Page::default(), &messages, Limits::default(), &policy));
    });
}

#[test]
fn files_are_decoded_and_split_by_lines_in_linear_time() {
    assert_linear("decode", 64 * 1024, &repetitions(), |text| {
        black_box(text::decode(text.as_bytes()));
    });
    assert_linear("lines", 8 * 1024, &repetitions(), |text| {
        black_box(chunker::cut("notes", "text", text, Limits::default()));
    });
}

/// Only what the parser reads in linear time: for other texts, its time is limited.
#[test]
fn code_is_split_in_linear_time() {
    let numbered = |before: &'static str, after: &'static str| {
        move |bytes: usize| {
            let count = bytes / (before.len() + after.len() + 5);
            (0..count).map(|number| format!("{before}{number:05}{after}")).collect::<String>()
        }
    };
    let nested = |open: &'static str, close: &'static str| {
        move |bytes: usize| {
            let depth = bytes / (open.len() + close.len());
            format!("{}{}", open.repeat(depth), close.repeat(depth))
        }
    };
    let cases: [(&str, Family); 8] = [
        ("rust", family("functions on one line", numbered("fn a", "(){}"))),
        ("rust", family("functions", numbered("fn a", "() {}\n"))),
        ("c", family("functions on one line", numbered("int a", "(){}"))),
        (
            "c",
            family("comments after blanks", |bytes| {
                format!("{}{}", " ".repeat(bytes / 2), "/**/".repeat(bytes / 8))
            }),
        ),
        ("cpp", family("nested namespaces", nested("namespace a {\n", "}\n"))),
        ("bash", family("nested functions", nested("a() {\n", "}\n"))),
        ("javascript", family("nested functions", nested("function a() {\n", "}\n"))),
        ("javascript", family("functions on one line", numbered("function a", "(){}"))),
    ];
    for (language, family) in cases {
        assert_linear(language, 16 * 1024, &[family], |text| {
            black_box(chunker::cut("file", language, text, Limits::default()));
        });
    }
}
