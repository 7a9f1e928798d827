use mc_sanitizer::{Policy, find, mask};

use super::*;
use crate::MAX_FILE_BYTES;

const TOKEN: &str = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
const MARK: &str = concat!("<thi", "nk>");
const SHOWN_MARK: &str = "‹think›";

fn edit<T>(bytes: &[u8], edit: impl FnOnce(&View<'_>) -> T) -> T {
    let file = FileText::decode(bytes).expect("the bytes are text");
    edit(&View::new(&file, &mask(file.text()).findings))
}

fn replace(bytes: impl AsRef<[u8]>, old: &str, new: &str) -> Result<Edited, EditError> {
    edit(bytes.as_ref(), |view| str_replace(view, old, new, MAX_FILE_BYTES))
}

fn insert_into(bytes: impl AsRef<[u8]>, line: usize, text: &str) -> Result<Edited, EditError> {
    edit(bytes.as_ref(), |view| insert(view, line, text, MAX_FILE_BYTES))
}

fn write_into(bytes: impl AsRef<[u8]>, content: &str) -> Result<Edited, EditError> {
    edit(bytes.as_ref(), |view| write(view, content, MAX_FILE_BYTES))
}

/// Checks an edit with the findings of the sanitizer.
fn check(edited: &Edited) -> Result<CheckedEdit, EditError> {
    edited.clone().check_masking(&mask(edited.text()).findings)
}

fn bytes(edited: &Edited) -> Vec<u8> {
    check(edited).expect("masked text stays masked").bytes().to_vec()
}

/// Returns the new bytes as text.
fn text(edited: Result<Edited, EditError>) -> String {
    String::from_utf8(bytes(&edited.expect("the edit is allowed"))).expect("UTF-8")
}

#[test]
fn line_endings_are_those_of_the_replaced_place() {
    for (file, old, new, expected) in [
        ("a\r\nb\r\nc\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\n"),
        ("a\r\nb\r\nc\n", "a\r\nb", "a\r\nx\r\nb", "a\r\nx\r\nb\r\nc\n"),
        ("a\r\nb\r\nc", "c", "c\nd", "a\r\nb\r\nc\r\nd"),
        ("a\nb\nc\r\nd", "d", "d\ne", "a\nb\nc\r\nd\ne"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "x\nb\nz", "x\r\nb\nz\r\n"),
        ("a\rb\r", "b", "b\nc", "a\rb\rc\r"),
        ("a", "a", "a\nb", "a\nb"),
        ("a\n", "a\n", "a", "a"),
        ("a\u{c}b\nc", "a\nb\nc", "a\nb\nd", "a\u{c}b\nd"),
    ] {
        assert_eq!(text(replace(file, old, new)), expected, "{file:?} {old:?} {new:?}");
    }
}

#[test]
fn line_endings_of_different_lines_stay_apart() {
    assert_eq!(text(replace("a\rb\nc\nd\n", "b", "\nb")), "a\r\r\nb\nc\nd\n");
    assert_eq!(text(replace("a\rb\nc\nd\n", "b\n", "\n")), "a\r\n\nc\nd\n");
    assert_eq!(text(replace("a\rb\rc\nd", "c", "c\n\n")), "a\rb\rc\r\r\n\nd");
}

#[test]
fn encoding_and_byte_order_mark_stay() {
    for (file, expected) in [
        (&b"\xEF\xBB\xBFa\r\nb"[..], &b"\xEF\xBB\xBFa\r\n\xC3\xA9"[..]),
        (b"\xFF\xFEa\0\n\0b\0", b"\xFF\xFEa\0\n\0\xE9\0"),
        (b"\xFE\xFF\0a\0\n\0b", b"\xFE\xFF\0a\0\n\0\xE9"),
    ] {
        let edited = replace(file, "b", "é").expect("the edit is allowed");
        assert_eq!(bytes(&edited), expected);
    }
    for result in [replace(b"caf\xE9 a", "a", "b"), write_into(b"caf\xE9", "b")] {
        assert_eq!(result.expect_err("no guess"), EditError::UnknownEncoding);
    }
}

#[test]
fn shown_and_own_characters_find_the_same_place() {
    let file = format!("x {MARK} y\u{200b}z\r\n");
    for old in [format!("{SHOWN_MARK} yz"), format!("{MARK} y\u{200b}z"), format!("{MARK} yz")] {
        let new = "{}";
        assert_eq!(text(replace(&file, &old, new)), "x {}\r\n", "{old}");
    }
    // What both have in common keeps its bytes.
    let (old, new) = (format!("x {SHOWN_MARK} yz"), format!("X {SHOWN_MARK} yz!"));
    assert_eq!(text(replace(&file, &old, &new)), format!("X {MARK} y\u{200b}z!\r\n"));
    // A model may write a real mark.
    assert_eq!(text(replace("a b", "b", MARK)), format!("a {MARK}"));
}

#[test]
fn places_that_are_shown_alike_are_ambiguous() {
    let file = format!("{MARK}\n{SHOWN_MARK}\n");
    let error = replace(&file, SHOWN_MARK, "x").expect_err("two places are shown alike");
    assert_eq!(error, EditError::Ambiguous { count: 2, lines: vec![1, 2] });
    assert_eq!(text(replace(&file, MARK, "x")), format!("x\n{SHOWN_MARK}\n"));
}

#[test]
fn several_matches_are_counted_and_named() {
    let error = replace("aaaa", "aa", "b").expect_err("it overlaps");
    assert_eq!(error, EditError::Ambiguous { count: 3, lines: vec![1, 1, 1] });
    let (file, old) = ("a".repeat(1_000_000), "a".repeat(500_000));
    let error = replace(file, &old, "b").expect_err("it overlaps itself");
    assert!(matches!(error, EditError::Ambiguous { count: 500_001, .. }));
    let error = replace("x\n".repeat(9), "x", "y").expect_err("nine matches");
    assert_eq!(error, EditError::Ambiguous { count: 9, lines: vec![1, 2, 3, 4, 5] });
    assert!(error.to_string().contains("9 times, at lines 1, 2, 3, 4, 5 and more"));
}

#[test]
fn requests_that_change_nothing_are_refused() {
    assert_eq!(replace("a", "", "b").expect_err("empty"), EditError::Empty("old_str"));
    assert_eq!(replace("a", "a", "a").expect_err("equal"), EditError::NoChange);
    assert_eq!(replace("a\r\nb", "a\nb", "a\r\nb").expect_err("equal"), EditError::NoChange);
    assert_eq!(insert_into("a", 0, "").expect_err("empty"), EditError::Empty("insert_text"));
    assert_eq!(write_into("a\r\n", "a\n").expect_err("equal"), EditError::NoChange);
}

#[test]
fn text_that_is_not_found_has_a_similar_place() {
    let file = "fn a() {\n    let x = 1;\n    let y = 2;\n}\nfn b() {}\n";
    let old = "fn a() {\n  let x = 1;\n    let y = 2;\n}";
    let error = replace(file, old, "z").expect_err("other indentation");
    let EditError::NotFound { closest: Some(closest) } = &error else { panic!("{error:?}") };
    assert_eq!((closest.first_line, closest.last_line, closest.differing_line), (1, 4, 2));
    assert_eq!(
        (closest.shown.as_str(), closest.requested.as_str()),
        ("    let x = 1;", "  let x = 1;")
    );
    assert!(error.to_string().contains("     2\t    let x = 1;\n"), "{error}");
    let error = replace(file, "let y = 3;", "z").expect_err("another number");
    assert!(
        matches!(error, EditError::NotFound { closest: Some(closest) } if closest.first_line == 3)
    );
    let error = replace(file, "nothing like it", "z").expect_err("it is not there");
    assert_eq!(error, EditError::NotFound { closest: None });
    assert!(replace("", "a", "b").is_err());
    let error = replace("one\ntwo", "two\n", "z").expect_err("no line ending is there");
    assert!(error.to_string().contains("only the line ending after them differs"), "{error}");
}

#[test]
fn masked_text_is_not_changed() {
    let file = format!("user = 1\ntoken = {TOKEN}\nend = 2\n");
    for (old, new) in [
        ("token = [secret:github-token]", "token = none"),
        ("github-token", "x"),
        ("= [secret:github-token]\nend = 2", "= 3"),
        ("secret:", ""),
        (
            "user = 1\ntoken = [secret:github-token]\nend",
            "user = 2\ntoken = [secret:github-token]\nEND",
        ),
    ] {
        let error = replace(&file, old, new).expect_err("it touches the token");
        let masked = EditError::Masked { line: 2, class: "secret", category: "github-token" };
        assert_eq!(error, masked, "{old}");
        assert!(!error.to_string().contains(TOKEN));
    }
    let (old, new) = ("[secret:github-token]\nend = 2", "[secret:github-token]\nend = 3");
    assert_eq!(text(replace(&file, old, new)), file.replace("= 2", "= 3"), "a common start");
    let error = replace(&file, TOKEN, "x").expect_err("masked text can't be guessed");
    assert_eq!(error, EditError::NotFound { closest: None });
    let error = write_into(&file, "x").expect_err("the token would be lost");
    assert_eq!(error, EditError::MaskedFile { line: 2, class: "secret", category: "github-token" });
}

#[test]
fn insertion_is_not_inside_of_masked_text() {
    let key = ["-----BEGIN PRIV", "ATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"].concat();
    let file = format!("one\n{key}-----END PRIV{}\nlast\n", "ATE KEY-----");
    let error = insert_into(&file, 2, "x").expect_err("inside of the key");
    assert!(matches!(error, EditError::Masked { line: 2, .. }), "{error:?}");
    for line in [0, 1, 3, 4, 5] {
        assert!(insert_into(&file, line, "x").is_ok(), "{line}");
    }
}

#[test]
fn edit_that_uncovers_masked_text_is_noticed() {
    let file = concat!("pass", "word = \"hunter2\"\nx = 1\n");
    let renamed =
        replace(file, concat!("pass", "word ="), "color =").expect("the name is not masked");
    let error = check(&renamed).expect_err("the value would be shown");
    assert!(matches!(error, EditError::Unmasks { line: 1, class: "secret", .. }), "{error:?}");
    assert!(!renamed.snippet.contains("hunter2") && !renamed.diff.contains("hunter2"));
    let other = replace(file, "x = 1", "x = 2").expect("the edit is allowed");
    let checked = check(&other).expect("the value is still masked");
    assert_eq!(checked.file().text(), file.replace("x = 1", "x = 2"));
    assert_eq!(checked.edited().diff, other.diff);
}

#[test]
fn comment_that_allows_a_secret_is_noticed() {
    let file = concat!("pass", "word = \"hunter2\"\nx = 1\n");
    let allowed = concat!(" # memory-copilot", ":allow\nx = 1");
    let edited = replace(file, "\nx = 1", allowed).expect("the value is not changed");
    assert!(check(&edited).is_ok(), "the policy ignores comments");
    let honoring = find(edited.text(), &Policy::strict().with_comments(true));
    assert_eq!(honoring, [], "the policy honors comments");
    let error = edited.check_masking(&honoring).expect_err("the value would be shown");
    assert!(matches!(error, EditError::Unmasks { line: 1, class: "secret", .. }), "{error:?}");
}

#[test]
fn shown_forms_are_not_written() {
    let placeholder = concat!("[sec", "ret:github-token]");
    let refused = |result: Result<Edited, EditError>| result.expect_err("a shown form");
    for result in [
        replace("a b", "b", placeholder),
        insert_into("a", 0, placeholder),
        write_into("a", &format!("x {placeholder}")),
        create(placeholder, 100),
        replace("[secret:x b", "x", "x]"),
        replace("[secXret:y]", "X", ""),
    ] {
        assert!(matches!(refused(result), EditError::Placeholder { .. }));
    }
    for result in [
        replace("a b", "b", SHOWN_MARK),
        insert_into("a", 0, SHOWN_MARK),
        create(SHOWN_MARK, 100),
        replace("‹thinkX", "X", "›"),
    ] {
        assert!(matches!(refused(result), EditError::ShownForm { .. }));
    }
    let error = refused(replace("a\u{202e}b c", "c", "\u{fffd}"));
    assert_eq!(error, EditError::ShownForm { form: '\u{fffd}' });
    // Elsewhere they are ordinary characters.
    assert_eq!(text(replace("a b", "b", "\u{fffd} ‹b›")), "a \u{fffd} ‹b›");
    assert_eq!(text(replace(format!("{placeholder} z"), "z", "c")), format!("{placeholder} c"));
    assert_eq!(text(replace(format!("{placeholder} b"), placeholder, "c")), "c b");
}

#[test]
fn inserted_text_is_lines_of_its_own() {
    for (file, line, new, expected) in [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\nb", 2, "x\n", "a\nb\nx"),
        ("a\r\nb\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\n"),
        ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
        ("", 0, "x", "x"),
        ("a", 1, "\n", "a\n"),
    ] {
        assert_eq!(text(insert_into(file, line, new)), expected, "{file:?} {line} {new:?}");
    }
    let error = insert_into("a\n", 2, "x").expect_err("no such line");
    assert_eq!(error, EditError::LineOutOfRange { line: 2, line_count: 1 });
}

#[test]
fn nothing_is_inserted_into_a_terminal_sequence() {
    let file = "\u{1b}]0;ti\rtle\u{7}\nlast\n";
    let error = insert_into(file, 1, "x").expect_err("it would not be shown");
    assert_eq!(error, EditError::HiddenPosition { line: 2 });
    assert_eq!(text(insert_into(file, 2, "x")), file.replace("last", "x\nlast"));
}

#[test]
fn whole_file_keeps_equal_lines_and_the_encoding() {
    assert_eq!(text(write_into("a\r\nb\nc\r\n", "a\nb\nx\nc")), "a\r\nb\nx\r\nc");
    assert_eq!(
        text(write_into(format!("{MARK} a\nb\n"), &format!("{SHOWN_MARK} c\nb\n"))),
        format!("{MARK} c\nb\n")
    );
    let edited = write_into(b"\xFF\xFEa\0", "b").expect("the edit is allowed");
    assert_eq!(bytes(&edited), b"\xFF\xFEb\0");
    assert_eq!(text(write_into("", "a\n")), "a\n");
    assert_eq!(text(create("a\r\nb", 100)), "a\r\nb");
    assert_eq!(text(create("", 100)), "");
}

#[test]
fn text_that_no_file_can_have_is_refused() {
    for result in [
        replace("a", "a", "\0"),
        create("\u{feff}a", 100),
        replace("a", "a", "\u{feff}a"),
        insert_into("a", 0, "\u{feff}"),
    ] {
        assert_eq!(result.expect_err("it would be another file"), EditError::UnstorableText);
    }
}

#[test]
fn size_of_the_edited_file_is_limited() {
    let result = edit(b"ab", |view| str_replace(view, "b", "bcd", 3));
    assert_eq!(result.expect_err("4 bytes"), EditError::TooLarge { bytes: 4, max: 3 });
    assert!(edit(b"ab", |view| insert(view, 1, "c", 4)).is_ok());
    assert!(matches!(create("abcd", 3), Err(EditError::TooLarge { .. })));
    let long = "a".repeat(MAX_FILE_BYTES + 1);
    assert!(matches!(replace("b", "b", &long), Err(EditError::TooLarge { .. })));
    assert!(matches!(replace("b", &long, "b"), Err(EditError::TooLarge { .. })));
}

#[test]
fn result_has_a_diff_a_snippet_and_counts() {
    let file: String = (1..=20).map(|line| format!("line {line}\r\n")).collect();
    let edited = replace(&file, "line 9\nline 10\n", "nine\nline 10\nmore\n").expect("allowed");
    assert_eq!((edited.first_line, edited.last_line), (9, 11));
    assert_eq!((edited.added_lines, edited.removed_lines), (2, 1));
    assert!(edited.snippet.starts_with("     6\tline 6\n"), "{}", edited.snippet);
    assert!(
        edited
            .snippet
            .ends_with("    11\tmore\n    12\tline 11\n    13\tline 12\n    14\tline 13\n")
    );
    let expected = "@@ -6,8 +6,9 @@\n line 6\n line 7\n line 8\n-line 9\n+nine\n line 10\n+more\n \
                    line 11\n line 12\n line 13\n";
    assert_eq!(edited.diff, expected);
    let again = replace(bytes(&edited), "nine\nline 10\nmore\n", "line 9\nline 10\n");
    let again = again.expect("the edit is allowed");
    assert_eq!(bytes(&again), file.as_bytes());
    assert_eq!(again.sha256_before, edited.sha256_after);
    assert_eq!(again.sha256_after, edited.sha256_before);
    let removed = replace("a\u{200b}b c", "ab ", "").expect("the edit is allowed");
    assert_eq!(removed.removed_hidden_chars, 1);
    assert!(removed.diff.ends_with("\n+c\n\\ No newline at end of file\n"), "{}", removed.diff);
}

#[test]
fn long_diffs_are_cut() {
    let file: String = (0..20_000).map(|line| format!("{line}\n")).collect();
    let edited = write_into(&file, &file.replace('\n', "!\n")).expect("the edit is allowed");
    assert_eq!((edited.added_lines, edited.removed_lines), (20_000, 20_000));
    assert!(edited.diff.len() < crate::MAX_DIFF_BYTES + 100);
    assert!(edited.diff.ends_with("[the rest of the diff is left out]\n"));
    assert!(edited.snippet.len() <= SNIPPET_LIMITS.max_bytes, "{}", edited.snippet.len());
}

#[test]
fn snippets_of_empty_lines_are_limited() {
    let edited = insert_into("a\n", 1, &"\n".repeat(100_000)).expect("the edit is allowed");
    assert_eq!(edited.last_line, 100_001);
    assert!(edited.snippet.len() <= SNIPPET_LIMITS.max_bytes, "{}", edited.snippet.len());
    let (file, old) = (format!("a b c\n{}", "\n".repeat(100_000)), "\n".repeat(50_000));
    let error = replace(file, &format!("a b d\n{old}"), "z").expect_err("another word");
    let EditError::NotFound { closest: Some(closest) } = &error else { panic!("{error:?}") };
    assert!(closest.around.len() <= 4 * 1024, "{}", closest.around.len());
}
