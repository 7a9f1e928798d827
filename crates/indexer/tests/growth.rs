//! Parsing of documents takes linear time for the tested families of text; parsing of code does, or
//! is aborted.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::families::texts;
use growth::{assert_linear, special};
use mc_indexer::chunker::{self, Limits};
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_indexer::{markdown, text};
use mc_sanitizer::{Policy, mask};

#[test]
fn markdown_is_parsed_in_linear_time() {
    let mut families = texts();
    families.extend(special::markdown());
    assert_linear("markdown", 4 * 1024, &families, |text| {
        black_box(markdown::parse(text, Limits::default()));
    });
}

#[test]
fn document_and_conversation_are_split_in_linear_time() {
    let policy = Policy::default();
    assert_linear("document", 2 * 1024, &texts(), |text| {
        let page = Page { content: mask(text).text, ..Page::default() };
        black_box(document::cut(page, Limits::default(), &policy));
    });
    assert_linear("conversation", 4 * 1024, &special::messages(), |text| {
        let message = |line| Message { author: "Ann".into(), sent_at: None, text: mask(line).text };
        let messages: Vec<_> = text.lines().map(message).collect();
        black_box(conversation::cut(Page::default(), &messages, Limits::default(), &policy));
    });
}

#[test]
fn files_are_decoded_and_split_by_lines_in_linear_time() {
    assert_linear("decode", 64 * 1024, &texts(), |text| {
        black_box(text::decode(text.as_bytes()));
    });
    assert_linear("lines", 8 * 1024, &texts(), |text| {
        black_box(chunker::cut("notes", "text", text, Limits::default()));
    });
}

/// Only what the parser reads in linear time: for other texts, its time is limited.
#[test]
fn code_is_split_in_linear_time() {
    for (language, family) in special::code() {
        assert_linear(language, 16 * 1024, &[family], |text| {
            black_box(chunker::cut("file", language, text, Limits::default()));
        });
    }
}
