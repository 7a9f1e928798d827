//! `memory-copilot patch check`, which needs no service.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::binary;

const BEFORE: &str = "fn delay() -> u64 {\n    5 * 60\n}\n";
const DIFF: &str = "--- a/src/cart.rs\n+++ b/src/cart.rs\n@@ -1,3 +1,3 @@\n fn delay() -> u64 {\n\
                    -    5 * 60\n+    15 * 60\n }\n";

fn check(workspace: &Path, arguments: &[&str], patch: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).args(["patch", "check", "--workspace"]).arg(workspace);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("an input");
    stdin.write_all(patch.as_bytes()).expect("the patch is read");
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

fn json_of(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn workspace() -> tempfile::TempDir {
    let workspace = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(workspace.path().join("src")).expect("a directory");
    std::fs::write(workspace.path().join("src/cart.rs"), BEFORE).expect("a file");
    workspace
}

#[test]
fn a_patch_is_checked_and_applied() {
    let workspace = workspace();
    let file = workspace.path().join("src/cart.rs");
    let checked = check(workspace.path(), &["--json"], &DIFF.replace("-1,3 +1,3", "-41,3 +41,3"));
    assert!(checked.status.success());
    let report = json_of(&checked);
    assert_eq!((&report["applies"], &report["applied"]), (&json!(true), &json!(false)));
    assert_eq!(report["files"][0]["hunks"][0]["offset"], -40, "{report}");
    assert_eq!(
        (&report["grade"], &report["files"][0]["changedLines"]),
        (&json!("offset"), &json!(2))
    );
    let clean = report["diff"].as_str().expect("a diff");
    assert!(clean.contains("@@ -1,3 +1,3 @@"), "{clean}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), BEFORE);

    let mut arguments = Command::new(binary());
    arguments.args(["patch", "check", "--apply", "--workspace"]).arg(workspace.path());
    let patch = workspace.path().join("change.diff");
    std::fs::write(&patch, clean).expect("a file");
    let applied = arguments.arg(&patch).output().expect("the program ends");
    let shown = String::from_utf8_lossy(&applied.stdout);
    assert!(applied.status.success() && shown.ends_with("The patch was applied.\n"), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), BEFORE.replace('5', "15"));
}

#[test]
fn a_patch_that_does_not_apply_says_why() {
    let workspace = workspace();
    let wrong = DIFF.replace("5 * 60\n+", "6 * 60\n+");
    let output = check(workspace.path(), &["--json"], &wrong);
    assert_eq!(output.status.code(), Some(1));
    let report = json_of(&output);
    let conflict = &report["conflicts"][0];
    assert_eq!((&conflict["reason"], &conflict["line"]), (&json!("not_found"), &json!(2)));
    assert_eq!(
        (&conflict["expected"], &conflict["found"]),
        (&json!("    6 * 60\n"), &json!("    5 * 60\n"))
    );

    let shown = check(workspace.path(), &[], &wrong);
    let text = String::from_utf8_lossy(&shown.stdout);
    let expected = "src/cart.rs: hunk 1 differs from the file at line 2: expected `    6 * 60`, \
                    found `    5 * 60`; read the file again, and copy the lines exactly";
    assert!(text.contains(expected), "{text}");
    assert!(text.ends_with("The patch does not apply. No file was changed.\n"), "{text}");

    let refused =
        json_of(&check(workspace.path(), &["--json"], &DIFF.replace("src/cart.rs", "../cart.rs")));
    assert_eq!(refused["refusals"][0]["reason"], "path", "{refused}");
    let none = check(workspace.path(), &["--json"], "Nothing to change.\n");
    assert_eq!(none.status.code(), Some(1));
    let error = json_of(&none)["error"].as_str().expect("an error").to_owned();
    assert!(error.starts_with("line 1 of the diff: there is no diff"), "{error}");
}

/// A path may have a sequence that a terminal obeys.
#[test]
fn paths_are_shown_without_control_characters() {
    let workspace = workspace();
    let diff = DIFF.replace("a/src/cart.rs", "\"a/\\033[2Jcart\"");
    let diff = diff.replace("b/src/cart.rs", "\"b/\\033[2Jcart\"");
    let output = check(workspace.path(), &[], &diff);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(!shown.contains('\u{1b}') && shown.contains("[2Jcart"), "{shown}");
}
