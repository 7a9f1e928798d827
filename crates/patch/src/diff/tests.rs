use super::*;
use crate::types::{Operation, Refusal};

fn parsed(text: &str) -> Patch {
    parse_diff(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn error(text: &str) -> String {
    parse_diff(text.as_bytes()).expect_err("no diff").to_string()
}

/// Returns the lines of a hunk with their signs.
fn shown(hunk: &Hunk) -> Vec<String> {
    let sign = |kind| match kind {
        LineKind::Context => ' ',
        LineKind::Removed => '-',
        LineKind::Added => '+',
    };
    let line =
        |line: &HunkLine| format!("{}{}", sign(line.kind), String::from_utf8_lossy(&line.text));
    hunk.lines.iter().map(line).collect()
}

const SIMPLE: &str = "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn a()\n a\n-b\n+c\n";

#[test]
fn operations_and_paths_are_read() {
    for (text, operation, path, source) in [
        (SIMPLE, Operation::Modify, "x", None),
        ("--- src/x.rs\n+++ src/x.rs\n@@ -1 +1 @@\n-a\n+b\n", Operation::Modify, "src/x.rs", None),
        (
            "--- a/x y\t2026-01-01\n+++ b/x y\t2026\n@@ -1 +1 @@\n-a\n+b\n",
            Operation::Modify,
            "x y",
            None,
        ),
        (
            "diff --git a/a b/b b/a b/b\nnew file mode 100644\nindex 0..e69de29\n",
            Operation::Create,
            "a b/b",
            None,
        ),
        (
            "diff --git \"a/\\303\\251\" \"b/\\303\\251\"\ndeleted file mode 100644\n",
            Operation::Delete,
            "é",
            None,
        ),
        (
            "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n",
            Operation::Rename,
            "new",
            Some("old"),
        ),
        (
            "diff --git a/old b/new\nsimilarity index 90%\ncopy from old\ncopy to new\n--- a/old\n\
            +++ b/new\n@@ -1 +1 @@\n-a\n+b\n",
            Operation::Copy,
            "new",
            Some("old"),
        ),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", Operation::Create, "x", None),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", Operation::Delete, "x", None),
        (
            "diff --git b/x b/x\n--- b/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            Operation::Modify,
            "b/x",
            None,
        ),
    ] {
        let patch = parsed(text);
        let file = &patch.files[0];
        assert_eq!((file.operation, &*file.path), (operation, path), "{text}");
        assert_eq!((file.source.as_deref(), file.refusal), (source, None), "{text}");
    }
}

#[test]
fn changes_that_are_never_applied_are_marked() {
    let link =
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n";
    let changed_link =
        "diff --git a/x b/x\nindex 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let submodule = "diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n\
        @@ -0,0 +1 @@\n+Subproject commit 1\n";
    let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    let setuid =
        "diff --git a/x b/x\nnew file mode 104755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
    let binary = "diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n";
    let literal = "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\n\
        literal 0\nHcmV?d00001\n\n";
    let path = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    for (text, refusal) in [
        (link.to_owned(), Refusal::Link),
        (changed_link.to_owned(), Refusal::Link),
        (submodule.to_owned(), Refusal::Submodule),
        (mode.to_owned(), Refusal::Mode),
        (setuid.to_owned(), Refusal::Mode),
        (binary.to_owned(), Refusal::Binary),
        (literal.to_owned(), Refusal::Binary),
        (path("../x"), Refusal::Path),
        (path("x/../../y"), Refusal::Path),
        (path(".git/config"), Refusal::Path),
        (path("sub/.git/hooks/pre-commit"), Refusal::Path),
        ("--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n".to_owned(), Refusal::Path),
        ("diff --git a/x b/../y\nrename from x\nrename to ../y\n".to_owned(), Refusal::Path),
    ] {
        assert_eq!(parsed(&text).files[0].refusal, Some(refusal), "{text}");
    }
}

#[test]
fn hunks_have_their_lines() {
    let patch = parsed(SIMPLE);
    let hunk = &patch.files[0].hunks[0];
    assert_eq!((hunk.position, &hunk.section[..]), (Some(2), &b"fn a()"[..]));
    assert_eq!(shown(hunk), [" a\n", "-b\n", "+c\n"]);
    // Lines that look like a header belong to the hunk by its counts.
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a\n-b\n+++ c\n+d\n--- a/y\n+++ b/y\n\
        @@ -1 +1 @@\n-a\n+b\n";
    let patch = parsed(text);
    assert_eq!(shown(&patch.files[0].hunks[0]), ["--- a\n", "-b\n", "+++ c\n", "+d\n"]);
    assert_eq!(patch.files.len(), 2);
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\
        \\ No newline at end of file\n";
    assert_eq!(shown(&parsed(text).files[0].hunks[0]), ["-a", "+b"]);
    // An empty line for an empty unchanged line, and a diff whose end is cut off.
    let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c";
    assert_eq!(shown(&parsed(text).files[0].hunks[0]), [" a\n", " \n", "-b\n", "+c\n"]);
}

#[test]
fn wrong_or_missing_counts_are_corrected() {
    for head in
        ["@@ -1,9 +1,9 @@", "@@ -1 +1 @@", "@@ -0,0 +0,0 @@", "@@", "@@ ... @@", "@@ fn a()"]
    {
        let text = format!(
            "--- a/x\n+++ b/x\n{head}\n a\n-b\n+c\n\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
        );
        let patch = parsed(&text);
        assert_eq!(shown(&patch.files[0].hunks[0]), [" a\n", "-b\n", "+c\n"], "{head}");
        assert_eq!(patch.files.len(), 2, "{head}");
    }
}

#[test]
fn text_around_the_diff_is_skipped() {
    let text = format!("Here is the patch:\n\n```diff\n{SIMPLE}```\nDone.\n");
    assert_eq!(parsed(&text).files.len(), 1);
    let mails = format!("From 1\nSubject: x\n---\n x | 2 +-\n\n{SIMPLE}-- \n2.47\n\n");
    assert_eq!(parsed(&mails.repeat(2)).files.len(), 2);
    let crlf = SIMPLE.replace('\n', "\r\n");
    assert_eq!(parsed(&crlf), parsed(SIMPLE));
}

#[test]
fn errors_name_the_line_and_the_way_out() {
    for (text, expected) in [
        ("no diff\n", "line 1 of the diff: there is no diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the diff: a hunk needs lines"),
        ("--- a/x\n+++ b/x\n", "line 1 of the diff: x has no hunk"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "name different files"),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n",
            "line 3 of the diff: the hunk adds and removes no line",
        ),
        (
            "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\nfn c() {}\n d\n",
            "line 6 of the diff: a line of a hunk",
        ),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both files are /dev/null"),
    ] {
        assert!(error(text).contains(expected), "{}", error(text));
    }
}
