//! Properties of views and edits of any file.

mod support;

use std::ops::Range;

use mc_prompt_guard::neutralize;
use mc_sanitizer::{Class, Finding, mask};
use mc_text_edit::{
    CheckedEdit, EditError, Edited, FileText, Limits, MAX_FILE_BYTES, SpanKind, View, insert,
    str_replace, write,
};
use proptest::prelude::*;

use support::{config, text};

/// Returns the bytes of a file in one of four encodings.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    (text(), 0..4).prop_map(|(text, encoding)| match encoding {
        0 => text.into_bytes(),
        1 => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        2 => {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            [0xFF, 0xFE].into_iter().chain(units).collect()
        }
        _ => {
            let units = text.encode_utf16().flat_map(u16::to_be_bytes);
            [0xFE, 0xFF].into_iter().chain(units).collect()
        }
    })
}

/// Returns findings anywhere, also past the end of the text.
fn findings() -> impl Strategy<Value = Vec<Finding>> {
    let finding = (0..90_usize, 0..12_usize).prop_map(|(start, length)| Finding {
        class: Class::Secret,
        category: "random",
        span: start..start + length,
        confidence: 1.0,
    });
    prop::collection::vec(finding, 0..4)
}

/// Returns the nearest range of characters of the shown text.
fn shown_range(view: &View<'_>, start: usize, length: usize) -> Range<usize> {
    let shown = view.shown();
    let start = shown.floor_char_boundary(start % (shown.len() + 1));
    start..shown.ceil_char_boundary((start + length).min(shown.len()))
}

fn decode(bytes: &[u8]) -> FileText {
    FileText::decode(bytes).expect("the bytes are text")
}

/// Returns the edit with all of its text masked, so that the check allows it.
fn checked(edited: &Edited) -> CheckedEdit {
    let span = 0..edited.text().len();
    let all = Finding { class: Class::Secret, category: "all", span, confidence: 1.0 };
    edited.clone().check_masking(&[all]).expect("all is masked")
}

/// Returns the characters of the file for a range of its bytes.
fn characters(file: &FileText, range: Range<usize>) -> String {
    let mark = if file.encoding().as_str().starts_with("utf-16") { 2 } else { 0 };
    let bytes = [&file.bytes()[..mark], &file.bytes()[range]].concat();
    decode(&bytes).text().to_owned()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shown_text_is_that_of_the_sanitizer_and_the_prompt_guard(text in text()) {
        let file = decode(text.as_bytes());
        let masked = mask(file.text());
        let view = View::new(&file, &masked.findings);
        prop_assert_eq!(view.shown(), neutralize(masked.text.as_str()));
        let plain = View::new(&file, &[]);
        prop_assert_eq!(plain.shown(), neutralize(file.text()));
    }

    #[test]
    fn any_findings_are_masked((text, findings) in (text(), findings())) {
        let file = decode(text.as_bytes());
        let view = View::new(&file, &findings);
        prop_assert_eq!(neutralize(view.shown()), view.shown());
        let whole = view.map(0..view.shown().len()).expect("the whole view");
        prop_assert_eq!(view.has_masked_text(), whole.kind == SpanKind::Masked);
    }

    #[test]
    fn each_shown_character_maps_to_one_place((bytes, findings) in (bytes(), findings())) {
        let file = decode(&bytes);
        let view = View::new(&file, &findings);
        let mut before = 0..0;
        for (at, c) in view.shown().char_indices() {
            let mapped = view.map(at..at + c.len_utf8()).expect("a character of the view");
            let is_same_mask = mapped.kind == SpanKind::Masked && mapped.bytes == before;
            prop_assert!(mapped.bytes.start >= before.end || is_same_mask, "{at} {mapped:?}");
            if mapped.kind == SpanKind::Verbatim {
                prop_assert_eq!(characters(&file, mapped.bytes.clone()), c.to_string());
            }
            before = mapped.bytes;
        }
        prop_assert!(before.end <= file.bytes().len());
        let whole = view.map(0..view.shown().len()).expect("the whole view");
        prop_assert_eq!(whole.bytes.end.max(before.end), before.end.max(whole.bytes.start));
    }

    #[test]
    fn verbatim_ranges_have_the_text_of_the_file(
        (bytes, findings) in (bytes(), findings()), start: u16, length in 0..40_usize,
    ) {
        let file = decode(&bytes);
        let view = View::new(&file, &findings);
        let range = shown_range(&view, start.into(), length);
        let mapped = view.map(range.clone()).expect("a range of the view");
        let shown = &view.shown()[range];
        if mapped.kind == SpanKind::Verbatim {
            prop_assert_eq!(characters(&file, mapped.bytes), shown);
        }
        match str_replace(&view, shown, shown, MAX_FILE_BYTES) {
            Err(EditError::NoChange | EditError::Empty(_)) => {}
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn replacement_changes_its_place_alone_and_can_be_reversed(
        (bytes, findings) in (bytes(), findings()), start: u16, length in 1..30_usize,
    ) {
        const NEW: &str = "QZ7";
        let file = decode(&bytes);
        let view = View::new(&file, &findings);
        let range = shown_range(&view, start.into(), length);
        let mapped = view.map(range.clone()).expect("a range of the view");
        let old = view.shown()[range].to_owned();
        let Ok(edited) = str_replace(&view, &old, NEW, MAX_FILE_BYTES) else { return Ok(()) };
        let edit = checked(&edited);
        let (before, after) = (file.bytes(), edit.bytes());
        prop_assert_eq!(&before[..mapped.bytes.start], &after[..mapped.bytes.start]);
        prop_assert!(after.ends_with(&before[mapped.bytes.end..]));
        let reversed = str_replace(&edited.view(), NEW, &old, MAX_FILE_BYTES);
        // A line ending that is gone is not known any more.
        let is_verbatim = mapped.kind == SpanKind::Verbatim && !old.contains('\n');
        if let Ok(reversed) = reversed && is_verbatim {
            let edit = checked(&reversed);
            prop_assert_eq!(edit.bytes(), before);
        }
    }

    #[test]
    fn no_edit_changes_masked_text(
        (bytes, findings) in (bytes(), findings()), start: u16, length in 0..60_usize,
        (new, line) in (text(), 0..9_usize),
    ) {
        let file = decode(&bytes);
        let view = View::new(&file, &findings);
        let secrets: Vec<Vec<u8>> = masked_bytes(&view, file.bytes());
        let range = shown_range(&view, start.into(), length);
        let old = view.shown()[range].to_owned();
        let edits = [
            str_replace(&view, &old, &new, MAX_FILE_BYTES),
            str_replace(&view, &old, &format!("{old}{new}"), MAX_FILE_BYTES),
            insert(&view, line, &new, MAX_FILE_BYTES),
            write(&view, &new, MAX_FILE_BYTES),
        ];
        for edited in edits.into_iter().flatten() {
            let edit = checked(&edited);
            prop_assert_eq!(&masked_bytes(&edited.view(), edit.bytes()), &secrets);
            prop_assert_eq!(edit.file().encoding(), file.encoding());
        }
    }

    #[test]
    fn inserted_lines_are_shown_after_their_line(
        (bytes, line) in (bytes(), 0..12_usize), new in "[a-z]{1,5}(\n[a-z]{1,5}){0,3}\n",
    ) {
        let file = decode(&bytes);
        let view = View::new(&file, &[]);
        let Ok(edited) = insert(&view, line, &new, MAX_FILE_BYTES) else {
            // A line break inside of a terminal sequence is no place to insert.
            let has_sequence = file.text().contains('\u{1b}');
            prop_assert!(line > file.line_count() || has_sequence);
            return Ok(());
        };
        let added = new.lines().count();
        let after = checked(&edited).file().clone();
        prop_assert_eq!(after.line_count(), file.line_count() + added);
        let range = |line: usize| i64::try_from(line).expect("a small number");
        let shown = edited
            .view()
            .listing(Some((range(line + 1), range(line + added))), Limits::default())
            .expect("the lines are there");
        let lines: Vec<&str> = shown.text.lines().map(|line| &line[7..]).collect();
        prop_assert_eq!(lines, new.lines().collect::<Vec<_>>());
        let ends = file.line_count() == 0 || file.ends_with_line_ending();
        prop_assert_eq!(after.ends_with_line_ending(), ends);
    }

    #[test]
    fn written_text_is_the_shown_text(
        (bytes, content) in (bytes(), "([a-z]{0,3}(\n|\r\n|\r)){0,6}[a-z]{0,3}"),
    ) {
        let file = decode(&bytes);
        let view = View::new(&file, &[]);
        if let Ok(edited) = write(&view, &content, MAX_FILE_BYTES) {
            let expected = content.replace("\r\n", "\n").replace('\r', "\n");
            let view = edited.view();
            prop_assert_eq!(view.shown(), expected);
        }
    }

    #[test]
    fn listings_have_each_line_once(bytes in bytes(), max_bytes in 0..200_usize) {
        let file = decode(&bytes);
        let view = View::new(&file, &[]);
        let limits = Limits { max_line_bytes: 10_000, max_bytes };
        let mut next = (file.line_count() > 0).then_some(1);
        let mut listed = String::new();
        while let Some(line) = next {
            let first = i64::try_from(line).expect("a small number");
            let listing = view.listing(Some((first, -1)), limits).expect("the line is there");
            listed.push_str(&listing.text);
            next = listing.next_line;
        }
        let whole = view.listing(None, Limits { max_bytes: usize::MAX, ..limits });
        prop_assert_eq!(listed, whole.expect("the file").text);
    }

    #[test]
    fn nothing_panics(raw in any::<Vec<u8>>(), old in text(), new in text(), line: u8) {
        if let Ok(file) = FileText::decode(&raw) {
            let view = View::new(&file, &mask(file.text()).findings);
            drop(str_replace(&view, &old, &new, 100));
            drop(insert(&view, line.into(), &new, 100));
            drop(write(&view, &new, 100));
            drop(view.listing(None, Limits { max_line_bytes: 3, max_bytes: 50 }));
            let shown = view.shown().to_owned();
            for at in 0..=shown.len() {
                let mapped = view.map(at..shown.len());
                prop_assert_eq!(mapped.is_some(), shown.is_char_boundary(at));
            }
        }
    }
}

/// Returns the bytes of each masked place.
fn masked_bytes(view: &View<'_>, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, c) in view.shown().char_indices() {
        let mapped = view.map(at..at + c.len_utf8()).expect("a character of the view");
        if mapped.kind == SpanKind::Masked && ranges.last() != Some(&mapped.bytes) {
            ranges.push(mapped.bytes);
        }
    }
    ranges.into_iter().map(|range| bytes[range].to_vec()).collect()
}
