//! Properties of edits of any JSON.

mod support;

use mc_sanitizer::mask;
use mc_text_edit::json::{self, Matches, Position};
use mc_text_edit::{Edited, FileText, Limits, MAX_FILE_BYTES, View};
use proptest::prelude::*;
use serde_json::Value;

use support::{config, text};

const NEW: &str = r#"{"n": [1e400, "\u0041"]}"#;

/// Returns white space and comments.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" /* c */ ".to_owned()),
        1 => Just(" // c\n".to_owned()),
        1 => Just("\n  // c\n  ".to_owned()),
    ]
}

/// Joins values with gaps around each, commas, and perhaps a trailing comma.
fn joined(brackets: [char; 2], items: Vec<String>, gaps: &[String], has_trailing: bool) -> String {
    let mut gaps = gaps.iter().cycle();
    let mut gap = || gaps.next().map_or("", String::as_str);
    let mut text = String::from(brackets[0]);
    let count = items.len();
    for (at, item) in items.into_iter().enumerate() {
        let comma = if at + 1 < count || has_trailing { "," } else { "" };
        text.push_str(&format!("{}{item}{}{comma}{}", gap(), gap(), gap()));
    }
    text.push_str(gap());
    text.push(brackets[1]);
    text
}

/// Returns JSON with comments and trailing commas.
fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("-12.50e1".to_owned()),
        Just("\"\\u0041, ] } // \\\"\"".to_owned()),
        "[1-9][0-9]{0,3}",
        "\"[a-c é]{0,4}\"",
    ];
    let value = scalar.prop_recursive(3, 24, 4, |inner| {
        let gaps = prop::collection::vec(gap(), 1..7);
        let items = prop::collection::vec(inner, 0..4);
        (items, gaps, any::<bool>(), any::<bool>()).prop_map(
            |(items, gaps, has_trailing, is_array)| {
                if is_array {
                    return joined(['[', ']'], items, &gaps, has_trailing);
                }
                let names = ["a", "b", "c", "d"].into_iter();
                let members = names.zip(items).map(|(name, item)| format!("\"{name}\":{item}"));
                joined(['{', '}'], members.collect(), &gaps, has_trailing)
            },
        )
    });
    (gap(), value, gap()).prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

fn decode(text: &str) -> FileText {
    FileText::decode(text.as_bytes()).expect("the text is text")
}

/// Returns the paths of all values and how they are written.
fn paths(file: &FileText) -> Vec<(String, String)> {
    let view = View::new(file, &[]);
    let below = json::view(&view, "$..*", Limits::default());
    let values = below.map(|found| found.values).unwrap_or_default();
    values.into_iter().map(|value| (value.path, value.text)).collect()
}

/// Returns the path at a random position and how its value is written.
fn path(file: &FileText, position: usize) -> Option<(String, String)> {
    let paths = paths(file);
    (!paths.is_empty()).then(|| paths[position % paths.len()].clone())
}

/// Parses the values, which the generator writes without large numbers, and without comments.
fn parse(text: &str) -> Value {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_len(rest),
            '/' if rest.starts_with("/*") => rest.find("*/").expect("the comment ends") + 2,
            '/' => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
        let part = &rest[..length];
        if matches!(c, ']' | '}') && plain.ends_with(',') {
            plain.pop();
        }
        if c != '/' && !part.trim().is_empty() {
            plain.push_str(part);
        }
        rest = &rest[length..];
    }
    serde_json::from_str(&plain).expect("the rest is JSON")
}

fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// Whether `part` is `whole` without some characters.
fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

/// Returns the JSON pointer (RFC 6901) of a normalized path of the generator.
fn pointer(path: &str) -> String {
    let steps = path.trim_start_matches('$').split(['[', ']']).filter(|step| !step.is_empty());
    steps.map(|step| format!("/{}", step.trim_matches('\''))).collect()
}

fn comments(text: &str) -> usize {
    text.matches("/* c */").count() + text.matches("// c").count()
}

fn edited_text(edited: &Edited) -> String {
    edited.text().to_owned()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn set_changes_the_value_alone_and_can_be_reversed(
        document in document(), position: usize, is_scalar: bool,
    ) {
        let file = decode(&document);
        let Some((path, old)) = path(&file, position) else { return Ok(()) };
        let new = if is_scalar { "\"Q\\u005a7\"" } else { NEW };
        let view = View::new(&file, &[]);
        let edited = json::set(&view, &path, new, Matches::One, MAX_FILE_BYTES);
        let after = edited_text(&edited.expect("the path is that of a value"));
        let pairs = || document.chars().zip(after.chars());
        let start: usize = pairs().take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let pairs = document[start..].chars().rev().zip(after[start..].chars().rev());
        let end: usize = pairs.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        // CRLF is shown as one character.
        let changed = old.len() + old.matches('\n').count();
        prop_assert!(start + end + changed >= document.len(), "{document:?} {after:?}");
        prop_assert_eq!(comments(&after), comments(&document) - comments(&old));
        if is_scalar {
            let file = decode(&after);
            let view = View::new(&file, &[]);
            let shown = json::view(&view, &path, Limits::default()).expect("the new value");
            prop_assert_eq!(&shown.values[0].text, new);
            let mut expected = parse(&document);
            *expected.pointer_mut(&pointer(&path)).expect("the value") = "QZ7".into();
            prop_assert_eq!(parse(&after), expected);
            if !old.contains(['[', '{']) {
                let reversed = json::set(&view, &path, &old, Matches::One, MAX_FILE_BYTES);
                prop_assert_eq!(edited_text(&reversed.expect("the same path")), document);
            }
        }
    }

    #[test]
    fn remove_takes_one_value_and_no_comment(document in document(), position: usize) {
        let file = decode(&document);
        let Some((path, old)) = path(&file, position) else { return Ok(()) };
        let view = View::new(&file, &[]);
        let edited = json::remove(&view, &path, Matches::One, MAX_FILE_BYTES);
        let after = edited_text(&edited.expect("the path is that of a value"));
        prop_assert!(is_subsequence(&after, &document), "{document:?} {after:?}");
        prop_assert_eq!(comments(&after), comments(&document) - comments(&old));
        let mut expected = parse(&document);
        let pointer = pointer(&path);
        let (parent, name) = pointer.rsplit_once('/').expect("the path is below the root");
        match expected.pointer_mut(parent).expect("the parent") {
            Value::Array(elements) => drop(elements.remove(name.parse().expect("an index"))),
            Value::Object(members) => drop(members.remove(name)),
            other => panic!("{other} has no children"),
        }
        prop_assert_eq!(parse(&after), expected, "{:?} {:?} {}", document, after, path);
    }

    #[test]
    fn removing_all_of_several_keeps_the_rest(document in document(), selector in 0..4_usize) {
        let path = ["$[0,2]", "$[1:]", "$.*[0]", "$['a','c']"][selector];
        let file = decode(&document);
        let view = View::new(&file, &[]);
        let Ok(found) = json::view(&view, path, Limits::default()) else { return Ok(()) };
        let edited = json::remove(&view, path, Matches::All, MAX_FILE_BYTES);
        let after = edited_text(&edited.expect("the path has values"));
        prop_assert!(is_subsequence(&after, &document), "{document:?} {after:?}");
        let removed: usize = found.values.iter().map(|value| comments(&value.text)).sum();
        prop_assert_eq!(comments(&after), comments(&document) - removed);
        let count = |text: &str| paths(&decode(text)).len();
        let inner: usize = found.values.iter().map(|value| 1 + count(&value.text)).sum();
        prop_assert_eq!(count(&after), count(&document) - inner);
    }

    #[test]
    fn add_adds_one_value_and_keeps_each_character(
        document in document(), position: usize, index in 0..4_usize,
    ) {
        let file = decode(&document);
        let mut containers = paths(&file);
        containers.push(("$".to_owned(), document.trim_start().to_owned()));
        containers.retain(|(path, text)| text.starts_with(['[', '{']) || path == "$");
        let (path, _) = &containers[position % containers.len()];
        let view = View::new(&file, &[]);
        let mut expected = parse(&document);
        let position = match expected.pointer_mut(&pointer(path)).expect("the container") {
            Value::Array(elements) => {
                let index = index.min(elements.len());
                elements.insert(index, "QZ7".into());
                Position::Index(index)
            }
            Value::Object(members) => {
                members.insert("new".into(), "QZ7".into());
                Position::Key("new")
            }
            _ => return Ok(()),
        };
        let edited = json::add(&view, path, position, "\"QZ7\"", MAX_FILE_BYTES);
        let after = edited_text(&edited.expect("the path is that of a container"));
        prop_assert_eq!(parse(&after), expected, "{:?} {:?}", document, after);
        prop_assert_eq!(comments(&after), comments(&document));
        let kept: String = document.split_whitespace().collect();
        prop_assert!(is_subsequence(&kept, &after), "{document:?} {after:?}");
    }

    #[test]
    fn nothing_panics(
        (file, document) in (text(), document()), path in "[$.*@?\\[\\]a0,:'\"() -]{0,24}",
    ) {
        for text in [&file, &document] {
            let file = decode(text);
            let view = View::new(&file, &mask(file.text()).findings);
            let path = format!("${path}");
            drop(json::view(&view, &path, Limits::default()));
            drop(json::set(&view, &path, NEW, Matches::All, MAX_FILE_BYTES));
            drop(json::remove(&view, &path, Matches::All, MAX_FILE_BYTES));
            for position in [Position::Key("k"), Position::End, Position::Index(1)] {
                drop(json::add(&view, &path, position, NEW, MAX_FILE_BYTES));
            }
        }
    }
}
