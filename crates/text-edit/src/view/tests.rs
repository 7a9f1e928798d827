use mc_prompt_guard::neutralize;
use mc_sanitizer::mask;

use super::*;
use crate::{EditError, Limits};

const TOKEN: &str = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");

fn file(text: &str) -> FileText {
    FileText::decode(text.as_bytes()).expect("the text is text")
}

/// Returns the findings of the sanitizer in a file.
fn findings(file: &FileText) -> Vec<Finding> {
    mask(file.text()).findings
}

fn list(text: &str, range: Option<(i64, i64)>, limits: Limits) -> Result<Listing, EditError> {
    let file = file(text);
    View::new(&file, &findings(&file)).listing(range, limits)
}

fn limits(max_line_bytes: usize, max_bytes: usize) -> Limits {
    Limits { max_line_bytes, max_bytes }
}

#[test]
fn shown_text_is_masked_and_neutralized() {
    let text = format!("a: {TOKEN}\r\n<th\u{200b}ink>\u{202e}\u{200b}\u{2066}\x1b[31mx\r");
    let file = file(&text);
    let view = View::new(&file, &findings(&file));
    assert_eq!(view.shown(), neutralize(mask(&text).text.as_str()));
    assert_eq!(view.shown(), "a: [secret:github-token]\n‹think›\u{fffd}x\n");
    let map = |needle: &str| {
        let start = view.shown().find(needle).expect("it is shown");
        let mapped = view.map(start..start + needle.len()).expect("a range of the shown text");
        (&text[mapped.bytes], mapped.kind)
    };
    assert_eq!(map("a: "), ("a: ", SpanKind::Verbatim));
    assert_eq!(map("[secret:github-token]"), (TOKEN, SpanKind::Masked));
    assert_eq!(map("github"), (TOKEN, SpanKind::Masked), "a part of it");
    assert_eq!(map("\n‹"), ("\r\n<", SpanKind::Converted));
    assert_eq!(map("hin"), ("h\u{200b}in", SpanKind::Converted));
    assert_eq!(map("\u{fffd}"), ("\u{202e}\u{200b}\u{2066}\x1b[31m", SpanKind::Converted));
    assert_eq!(view.map(0..9_999), None);
    let bracket = view.shown().find('‹').expect("it is shown");
    assert_eq!(view.map(bracket..bracket + 1), None, "a part of a character");
}

#[test]
fn masked_lines_keep_their_numbers() {
    let key = ["-----BEGIN PRIV", "ATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"].concat();
    let text = format!("one\n{key}-----END PRIV{}\nlast\n", "ATE KEY-----");
    let listing = list(&text, None, Limits::default()).expect("a listing");
    let numbers: Vec<&str> = listing.text.lines().map(|line| line[..6].trim()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
    assert!(listing.text.contains("[secret:private-key]\n     3\t\n     4\t"), "{}", listing.text);
    assert!(listing.text.ends_with("     5\tlast\n"), "{}", listing.text);
    assert_eq!((listing.masked_count, listing.line_count), (1, 5));
}

#[test]
fn line_breaks_of_unicode_have_no_number() {
    let listing = list("a\u{c}b\u{2028}c\r\nd\re", None, Limits::default()).expect("a listing");
    assert_eq!(listing.text, "     1\ta\n      \tb\n      \tc\n     2\td\n     3\te\n");
    assert!(!listing.ends_with_line_ending);
}

#[test]
fn ranges_are_one_based_and_inclusive() {
    let text = "a\nb\nc\n";
    let lines = |first, last| list(text, Some((first, last)), Limits::default());
    assert_eq!(lines(2, 3).expect("in range").text, "     2\tb\n     3\tc\n");
    assert_eq!(lines(3, -1).expect("in range").text, "     3\tc\n");
    for (first, last) in [(0, 1), (1, 4), (3, 2), (-1, -1), (4, -1), (1, -2), (i64::MIN, i64::MAX)]
    {
        let error = lines(first, last).expect_err("out of range");
        assert_eq!(error, EditError::LinesOutOfRange { first, last, line_count: 3 });
        assert!(error.to_string().contains("the file has 3 lines"));
    }
    let empty = list("", None, Limits::default()).expect("an empty file");
    assert_eq!((empty.text.as_str(), empty.first_line, empty.last_line), ("", 0, 0));
    let error = list("", Some((1, 1)), Limits::default()).expect_err("there is no line");
    assert!(error.to_string().starts_with("the file is empty"), "{error}");
}

#[test]
fn long_lines_and_files_are_cut_between_characters() {
    let text = format!("{}\nb\nc\n", "é".repeat(10));
    let listing = list(&text, None, limits(5, 64)).expect("a listing");
    assert_eq!(listing.text, "     1\téé… [cut: 4 of 20 bytes are shown]\n     2\tb\n     3\tc\n");
    assert_eq!((listing.cut_lines, listing.next_line), (vec![1], None));
    assert_eq!(listing.text.len(), 64);
    let listing = list(&text, None, limits(5, 63)).expect("a listing");
    assert_eq!((listing.last_line, listing.next_line), (2, Some(3)));
    let listing = list(&text, Some((1, 2)), limits(100, 0)).expect("a listing");
    assert_eq!((listing.last_line, listing.next_line), (1, Some(2)), "one line at least");
}

#[test]
fn empty_lines_count_with_their_numbers() {
    let limits = Limits::default();
    for line in ["\n", "\u{c}\u{c}\u{c}\n"] {
        let listing = list(&line.repeat(400_000), None, limits).expect("a listing");
        let size = listing.text.len();
        assert!(size <= limits.max_bytes, "{line:?}: {size}");
        assert!(size > limits.max_bytes - 100, "{line:?}: {size}");
        assert_eq!(listing.next_line, Some(listing.last_line + 1));
    }
}

#[test]
fn placeholder_is_never_cut() {
    let text = format!("ab {TOKEN} cd\n");
    for max in 3..24 {
        let listing = list(&text, None, limits(max, 100)).expect("a listing");
        assert!(listing.text.starts_with("     1\tab … ["), "{max}: {}", listing.text);
    }
}

#[test]
fn findings_may_overlap_and_end_anywhere() {
    let file = file("é\r\nabc\r\nz");
    let finding = |start, end| Finding {
        class: mc_sanitizer::Class::Secret,
        category: "test",
        span: start..end,
        confidence: 1.0,
    };
    let shown = |findings: &[Finding]| View::new(&file, findings).shown().to_owned();
    assert_eq!(shown(&[finding(1, 2)]), "[secret:test]\nabc\nz", "inside of a character");
    assert_eq!(shown(&[finding(3, 5)]), "é[secret:test]\nbc\nz", "inside of a line ending");
    assert_eq!(
        shown(&[finding(6, 8), finding(4, 7), finding(9, 99)]),
        "é\n[secret:test]\n[secret:test]"
    );
    assert_eq!(shown(&[finding(4, 4), finding(50, 60)]), "é\nabc\nz", "nothing is masked");
}
