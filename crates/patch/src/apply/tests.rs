use super::*;
use crate::{parse, render};

const FILE: &str = "fn first() {\n    let delay = 5;\n    start(delay);\n}\n\n\
    fn second() {\n    let delay = 5;\n    stop(delay);\n}\n\nfn third() {\n    finish();\n}\n";

fn patched(diff: &str, before: &str) -> Result<(String, Grade), Conflict> {
    let patch = parse(diff.as_bytes()).unwrap_or_else(|error| panic!("{error}: {diff}"));
    let applied = apply(&patch.files[0], Some(before.as_bytes()), Tolerance::Tolerant)?;
    let content = applied.content.clone().unwrap_or_default();
    // What is rendered makes the same file, exactly.
    let clean = render(&patch.files[0], Some(before.as_bytes()), &applied);
    let again = parse(&clean).unwrap_or_else(|error| panic!("{error}"));
    let repeated = apply(&again.files[0], Some(before.as_bytes()), Tolerance::Exact);
    assert_eq!(repeated.map(|applied| applied.content.unwrap_or_default()), Ok(content.clone()));
    Ok((String::from_utf8(content).expect("UTF-8"), applied.grade()))
}

fn of(hunk: &str) -> String {
    format!("--- a/x.rs\n+++ b/x.rs\n{hunk}")
}

#[test]
fn hunk_is_found_by_line_text_whitespace_and_context() {
    let expected = FILE.replace("stop(delay)", "halt(delay)");
    for (hunk, grade) in [
        (
            "@@ -6,4 +6,4 @@\n fn second() {\n     let delay = 5;\n-    stop(delay);\n\
            +    halt(delay);\n }\n",
            Grade::Exact,
        ),
        (
            "@@ -60,4 +60,4 @@\n fn second() {\n     let delay = 5;\n-    stop(delay);\n\
            +    halt(delay);\n }\n",
            Grade::Offset,
        ),
        ("@@\n     let delay = 5;\n-    stop(delay);\n+    halt(delay);\n", Grade::Exact),
        (
            "@@ -6,4 +6,4 @@\n fn second() {\n \tlet  delay = 5;\n-\tstop(delay);\n\
            +\thalt(delay);\n }\n",
            Grade::Whitespace,
        ),
        (
            "@@ -6,4 +6,4 @@\n fn second() -> u32 {\n     let delay = 5;\n-    stop(delay);\n\
            +    halt(delay);\n }\n",
            Grade::Context,
        ),
        (
            "@@ -6,4 +6,4 @@\n fn second() {\n     // Five minutes.\n     let delay = 5;\n\
            -    stop(delay);\n+    halt(delay);\n }\n",
            Grade::Context,
        ),
        (
            "@@ -7,3 +7,3 @@\n     let delay = 5;\n-    stop(delay);\n+    halt(delay);\n",
            Grade::Offset,
        ),
    ] {
        assert_eq!(patched(&of(hunk), FILE), Ok((expected.clone(), grade)), "{hunk}");
    }
    let block = "x.rs\n<<<<<<< SEARCH\n  stop(delay);\n=======\n  halt(delay);\n>>>>>>> REPLACE\n";
    assert_eq!(patched(block, FILE), Ok((expected, Grade::Whitespace)));
}

#[test]
fn ambiguous_place_is_refused_unless_something_decides() {
    let hunk = |head: &str| of(&format!("{head}\n-    let delay = 5;\n+    let delay = 15;\n"));
    let error = patched(&hunk("@@ -40 +40 @@"), FILE).expect_err("ambiguous");
    assert_eq!(error.reason, Reason::Ambiguous(vec![2, 7]));
    assert!(error.to_string().contains("hunk 1 fits at lines 2, 7"), "{error}");
    let second = FILE.replacen("    let delay = 5;\n    stop", "    let delay = 15;\n    stop", 1);
    for head in ["@@ -40 +40 @@ fn second() {", "@@ fn second() {"] {
        assert_eq!(patched(&hunk(head), FILE).map(|(content, _)| content), Ok(second.clone()));
    }
    // The hunks around it moved by the same number of lines.
    let moved = format!("// Head.\n{FILE}");
    let neighbours =
        of("@@ -1,1 +1,1 @@\n-fn first() {\n+fn one() {\n@@ -7 +7 @@\n-    let delay = 5;\n\
        +    let delay = 15;\n@@ -11,1 +11,1 @@\n-fn third() {\n+fn three() {\n");
    let expected = format!("// Head.\n{second}").replace("first", "one").replace("third", "three");
    assert_eq!(patched(&neighbours, &moved), Ok((expected, Grade::Offset)));
}

#[test]
fn conflicts_say_what_differs() {
    for (hunk, expected) in [
        (
            "@@ -6,3 +6,3 @@\n fn second() {\n-    let delay = 6;\n\
            +    let delay = 15;\n     stop(delay);\n",
            "hunk 1 differs from the file at line 7: expected `    let delay = 6;`, found `    \
            let delay = 5;`",
        ),
        ("@@ -1,1 +1,1 @@\n-nowhere_at_all();\n+x\n", "hunk 1 differs from the file at line 1"),
        ("@@ -4,1 +4,2 @@\n+    added();\n", "too little unchanged text"),
        (
            "@@ -1,3 +1,3 @@\n fn first() {\n-    let delay = 4;\n\
            +    let delay = 5;\n     start(delay);\n",
            "is in the file already",
        ),
        (
            "@@ -2,2 +2,2 @@\n-    let delay = 5;\n-    start(delay);\n+    run();\n\
            @@ -3,1 +3,1 @@\n-    start(delay);\n+    go();\n",
            "changes lines that another hunk changes",
        ),
    ] {
        let error = patched(&of(hunk), FILE).expect_err(hunk).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn first_of_many_hunks_without_a_place_is_named() {
    let known = "@@ -1 +1 @@\n-fn first() {\n+fn one() {\n";
    let unknown: String = (0..50).map(|n| format!("@@ -{n} +{n} @@\n-none {n}\n+x\n")).collect();
    let conflict = patched(&of(&format!("{known}{unknown}")), FILE).expect_err("no place");
    assert_eq!(conflict.hunk, Some(2), "{conflict}");
}

#[test]
fn files_are_created_deleted_and_renamed() {
    let created = parse(b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n").expect("a diff");
    let file = &created.files[0];
    let applied = apply(file, None, Tolerance::Tolerant).expect("created");
    assert_eq!(applied.content.as_deref(), Some(&b"a\nb\n"[..]));
    let exists = apply(file, Some(b""), Tolerance::Tolerant).expect_err("exists");
    assert_eq!(exists.reason, Reason::Exists);
    let deleted = parse(b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a line\n").expect("a diff");
    let file = &deleted.files[0];
    assert_eq!(apply(file, Some(b"a line\n"), Tolerance::Tolerant).expect("deleted").content, None);
    let left = apply(file, Some(b"a line\nb\n"), Tolerance::Tolerant).expect_err("a line is left");
    assert_eq!(left.reason, Reason::NotEmpty);
    let missing = apply(file, None, Tolerance::Tolerant).expect_err("no file");
    assert_eq!(missing.reason, Reason::Missing);
    let renamed = "diff --git a/x b/y\nrename from x\nrename to y\n";
    let renamed = parse(renamed.as_bytes()).expect("a diff");
    let applied = apply(&renamed.files[0], Some(b"a"), Tolerance::Tolerant).expect("renamed");
    assert_eq!(applied.content.as_deref(), Some(&b"a"[..]));
}

#[test]
fn endings_and_the_missing_last_newline_stay() {
    let crlf = FILE.replace('\n', "\r\n");
    let hunk = of("@@ -6,4 +6,5 @@\n fn second() {\n     let delay = 5;\n-    stop(delay);\n\
        +    halt(delay);\n+    wait();\n }\n");
    let expected =
        FILE.replace("stop(delay);\n", "halt(delay);\n    wait();\n").replace('\n', "\r\n");
    assert_eq!(patched(&hunk, &crlf), Ok((expected, Grade::Whitespace)));
    let unterminated = "one line\ntwo lines";
    let hunk = of("@@ -1,2 +1,2 @@\n one line\n-two lines\n+three lines\n");
    let expected = ("one line\nthree lines".to_owned(), Grade::Whitespace);
    assert_eq!(patched(&hunk, unterminated), Ok(expected));
    let hunk = of("@@ -1,2 +1,3 @@\n one line\n two lines\n+three lines\n");
    let expected = ("one line\ntwo lines\nthree lines".to_owned(), Grade::Whitespace);
    assert_eq!(patched(&hunk, unterminated), Ok(expected));
    let hunk =
        of("@@ -1,2 +1,3 @@\n one line\n-two lines\n\\ No newline at end of file\n+two lines\n\
        +three lines\n");
    let expected = ("one line\ntwo lines\nthree lines\n".to_owned(), Grade::Exact);
    assert_eq!(patched(&hunk, unterminated), Ok(expected));
}

#[test]
fn nothing_is_added_between_lines_that_the_hunk_does_not_know() {
    let before = FILE.replace("    stop(delay);\n", "    check(delay);\n    stop(delay);\n");
    let hunk = of("@@ -6,4 +6,5 @@\n fn second() {\n     let delay = 5;\n\
        +    wait();\n     stop(delay);\n }\n");
    let error = patched(&hunk, &before).expect_err("before or after check");
    assert!(matches!(error.reason, Reason::NotFound(Some(_))), "{error}");
}

/// Functions with the same lines, one of which was changed already or lacks the removed line.
#[test]
fn no_similar_place_is_taken_for_the_one_that_is_meant() {
    let twice = |first: &str, second: &str| {
        let body = |name: &str, line: &str| {
            format!("fn {name}() {{\n    prepare_socket();\n    {line}\n    start();\n}}\n\n")
        };
        body("first", first) + &body("second", second)
    };
    let change =
        of("@@ -1,5 +1,5 @@\n fn first() {\n     prepare_socket();\n-    let timeout = 5;\n\
        +    let timeout = 15;\n     start();\n }\n");
    let changed = patched(&change, &twice("let timeout = 10;", "let timeout = 5;"));
    changed.expect_err("the removed line is elsewhere");
    let applied = of("@@ -2,3 +2,3 @@\n     prepare_socket();\n-    let timeout = 5;\n\
        +    let timeout = 15;\n     start();\n }\n");
    let error = patched(&applied, &twice("let timeout = 15;", "let timeout = 5;"));
    assert_eq!(error.expect_err("applied").reason, Reason::AlreadyApplied);
    // The same text is at the line and elsewhere; the head is that of the other place.
    let head = of("@@ -2,3 +2,3 @@ fn second() {\n     prepare_socket();\n-    let timeout = 5;\n\
        +    let timeout = 15;\n     start();\n }\n");
    let (content, _) =
        patched(&head, &twice("let timeout = 5;", "let timeout = 5;")).expect("applied");
    assert_eq!(content, twice("let timeout = 5;", "let timeout = 15;"));
}

/// The insertion fits behind each of several equal lines.
#[test]
fn place_between_equal_lines_is_not_guessed() {
    let before = "fn setup() {\n    register_plugin();\n    register_plugin();\n    \
        register_plugin();\n    finish_setup();\n}\n";
    let hunk = of("@@ -1,5 +1,6 @@\n fn setup() {\n     register_plugin();\n\
        +    wait();\n     register_plugin();\n     finish_setup();\n }\n");
    patched(&hunk, before).expect_err("ambiguous");
}

#[test]
fn hunks_without_unchanged_lines_after_them_are_at_the_end() {
    let before = "fn f() {\n    call_it_now();\n}\n\nfn g() {\n    call_it_now();\n}\n";
    let hunk = of("@@ -1,2 +1,3 @@\n fn f() {\n     call_it_now();\n+    wait();\n");
    assert_eq!(patched(&hunk, before).expect("the only such text").1, Grade::Offset);
    let hunk = of("@@ -2,1 +2,2 @@\n     call_it_now();\n+    wait();\n");
    patched(&hunk, before).expect_err("ambiguous");
}

/// Within the limits of a patch, no text takes long.
#[test]
fn hostile_sizes_are_refused_or_applied_soon() {
    let equal = "aaaa\n".repeat(400_000);
    let alternating = "x\ny\n".repeat(400_000);
    let wrong_end: String = " x\n y\n".repeat(15_000) + "-z\n+w\n";
    for (hunks, before) in [
        ("@@ -900000 +900000 @@ fn s() {\n-aaaa\n+b\n".to_owned(), &equal),
        ("@@\n-aaaa\n+b\n".repeat(1_000), &equal),
        (format!("@@\n{wrong_end}"), &alternating),
        ("@@ -18446744073709551615,2 +1,2 @@\n aaaa\n-bbbb\n+cccc\n".to_owned(), &equal),
    ] {
        let patch = parse(of(&hunks).as_bytes()).expect("a diff");
        let refused = apply(&patch.files[0], Some(before.as_bytes()), Tolerance::Tolerant);
        refused.expect_err("no clear place");
    }
}
