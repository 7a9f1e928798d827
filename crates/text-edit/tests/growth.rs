//! Views and edits take linear time, for any text.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::assert_linear;
use growth::families::{Family, family, nested, numbered, texts};
use mc_sanitizer::{Class, Finding};
use mc_text_edit::json::{self, Matches, Position};
use mc_text_edit::{FileText, Limits, MAX_FILE_BYTES, View, insert, str_replace, write};

/// Size of the shortest text, in bytes.
const BYTES: usize = 4 * 1024;

/// Runs `parse` with a view that has a finding in each hundred bytes, if the text can be decoded.
fn with_view(text: &str, parse: impl Fn(&View<'_>)) {
    let findings = (0..text.len() / 100).map(|at| Finding {
        class: Class::Secret,
        category: "test",
        span: 100 * at..100 * at + 3,
        confidence: 1.0,
    });
    if let Ok(file) = FileText::decode(text.as_bytes()) {
        parse(&View::new(&file, &findings.collect::<Vec<_>>()));
    }
}

/// Texts that repeat what a view converts.
fn converted() -> Vec<Family> {
    let repeated =
        |name, part: &'static str| family(name, move |bytes| part.repeat(bytes / part.len()));
    vec![
        repeated("line endings of Windows", "a\r\n"),
        repeated("line endings of old Macs", "\r"),
        repeated("invisible characters", "\u{202e}\u{200b}"),
        repeated("replacement characters", "\u{fffd}\u{1}"),
        repeated("special tokens", concat!("<th", "ink>")),
        repeated("one letter", "a"),
    ]
}

fn documents() -> Vec<Family> {
    let elements = |name, element: &'static str| {
        family(name, move |bytes| format!("[{}0]", element.repeat(bytes / element.len())))
    };
    let keys = numbered("\"k", "\":0,");
    vec![
        family("nested arrays", nested("[", "]")),
        elements("numbers", "0,"),
        elements("commented numbers", "0,/* c */"),
        elements("objects", "{\"a\":[1]},"),
        family("keys", move |bytes| format!("{{{}\"last\":0}}", keys(bytes))),
    ]
}

#[test]
fn text_is_shown_and_listed_in_linear_time() {
    let families: Vec<Family> = texts().into_iter().chain(converted()).collect();
    assert_linear("view", BYTES, &families, |text| {
        with_view(text, |view| drop(black_box(view.listing(None, Limits::default()))));
    });
}

#[test]
fn text_is_edited_in_linear_time() {
    let families: Vec<Family> = texts().into_iter().chain(converted()).collect();
    assert_linear("str_replace", BYTES, &families, |text| {
        with_view(text, |view| {
            let half = &view.shown()[..view.shown().floor_char_boundary(view.shown().len() / 2)];
            drop(black_box(str_replace(view, half, "x", MAX_FILE_BYTES)));
            drop(black_box(str_replace(view, &format!("{half}QZ7"), "x", MAX_FILE_BYTES)));
            drop(black_box(insert(view, 0, half, MAX_FILE_BYTES)));
        });
    });
    assert_linear("write", BYTES, &families, |text| {
        if let Ok(file) = FileText::decode(text.as_bytes()) {
            let view = View::new(&file, &[]);
            let content = view.shown().replace('a', "b").replace('\n', "!\n");
            drop(black_box(write(&view, &content, MAX_FILE_BYTES)));
        }
    });
}

#[test]
fn json_is_edited_in_linear_time() {
    assert_linear("json", BYTES, &documents(), |text| {
        let Ok(file) = FileText::decode(text.as_bytes()) else { return };
        let view = View::new(&file, &[]);
        drop(black_box(json::view(&view, "$..*", Limits::default())));
        drop(black_box(json::view(&view, "$..[?@.a == @.b || @ == @]", Limits::default())));
        drop(black_box(json::set(&view, "$..a", "1", Matches::All, MAX_FILE_BYTES)));
        drop(black_box(json::add(&view, "$", Position::Index(0), "1", MAX_FILE_BYTES)));
        drop(black_box(json::remove(&view, "$[0]", Matches::One, MAX_FILE_BYTES)));
    });
}
