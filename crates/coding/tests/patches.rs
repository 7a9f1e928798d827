//! Patches checked against a tree on the disk, and written into it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use mc_coding::{CheckError, CheckedPatch, Limits, RiskKind, WriteError, check, write};
use mc_files::Root;
use tempfile::TempDir;

struct Tree(TempDir);

impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().expect("a directory"));
        for (path, content) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, content).expect("a file");
        }
        tree
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn root(&self) -> Root {
        Root::open(self.path()).expect("a directory")
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path().join(path)).ok()
    }

    fn check(&self, diff: &str) -> CheckedPatch {
        check(&self.root(), diff.as_bytes(), Limits::default()).expect("a patch")
    }

    /// Returns the messages of the problems.
    fn problems(&self, diff: &str) -> Vec<String> {
        let checked = self.check(diff);
        let problems = checked.problems();
        problems.map(|(file, problem)| format!("{} {problem:?}", file.path)).collect()
    }
}

fn change(path: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new\n")
}

const CREATE: &str = "--- /dev/null\n+++ b/dir/new\n@@ -0,0 +1 @@\n+text\n";
const DELETE: &str = "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";
const RENAME: &str = "diff --git a/from b/to\nrename from from\nrename to to\n--- a/from\n\
    +++ b/to\n@@ -1 +1 @@\n-old\n+new\n";

#[test]
fn all_kinds_of_changes_are_written() {
    let tree = Tree::of(&[("kept", "old\n"), ("gone", "old\n"), ("from", "old\n")]);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(tree.path().join("from"), executable).expect("permissions");
    let checked = tree.check(&[&change("kept"), CREATE, DELETE, RENAME].concat());
    assert!(checked.applies());
    assert_eq!(tree.read("kept").as_deref(), Some("old\n"), "a check changes nothing");
    write(&tree.root(), &checked).expect("written");
    let paths = ["kept", "dir/new", "gone", "from", "to"];
    let contents = paths.map(|path| tree.read(path));
    let expected = [Some("new\n"), Some("text\n"), None, None, Some("new\n")];
    assert_eq!(contents.each_ref().map(Option::as_deref), expected);
    let mode = fs::metadata(tree.path().join("to")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    // What is rendered makes the same changes of the same tree.
    let again = Tree::of(&[("kept", "old\n"), ("gone", "old\n"), ("from", "old\n")]);
    let diff = String::from_utf8(checked.diff()).expect("UTF-8");
    write(&again.root(), &again.check(&diff)).expect("written");
    assert_eq!(paths.map(|path| again.read(path)), contents);
}

#[test]
fn a_patch_that_does_not_apply_changes_nothing() {
    let tree = Tree::of(&[("a", "old\n"), ("b", "other\n")]);
    let checked = tree.check(&[change("a"), change("b")].concat());
    assert!(matches!(write(&tree.root(), &checked), Err(WriteError::DoesNotApply)));
    assert_eq!(tree.read("a").as_deref(), Some("old\n"));
}

#[test]
fn files_that_were_written_are_restored_if_a_later_one_fails() {
    let tree = Tree::of(&[("a", "old\n"), ("gone", "old\n"), ("z", "old\n")]);
    let checked = tree.check(&[DELETE, &change("a"), &change("z"), CREATE].concat());
    // Somebody changes the last one after the check.
    fs::write(tree.path().join("z"), "meanwhile\n").expect("a file");
    let error = write(&tree.root(), &checked).expect_err("changed").to_string();
    assert!(error.starts_with("z has been changed meanwhile"), "{error}");
    assert!(error.ends_with("no file was changed"), "{error}");
    let contents = ["a", "gone", "z", "dir/new"].map(|path| tree.read(path));
    let expected = [Some("old\n"), Some("old\n"), Some("meanwhile\n"), None];
    assert_eq!(contents.each_ref().map(Option::as_deref), expected);
}

#[test]
fn no_directory_is_left_behind() {
    let tree = Tree::of(&[("dir/deep/gone", "old\n"), ("dir/kept", "old\n")]);
    let create = |path: &str| CREATE.replace("dir/new", path);
    let checked = tree.check(&[create("dir/a/b/new"), create("other")].concat());
    // Somebody creates the last one after the check.
    fs::write(tree.path().join("other"), "meanwhile\n").expect("a file");
    let error = write(&tree.root(), &checked).expect_err("it exists").to_string();
    assert!(error.ends_with("no file was changed"), "{error}");
    assert!(!tree.path().join("dir/a").exists() && tree.path().join("dir/deep").exists());
    let checked = tree.check(&DELETE.replace("gone", "dir/deep/gone"));
    write(&tree.root(), &checked).expect("written");
    assert!(!tree.path().join("dir/deep").exists(), "git keeps no empty directory");
    assert_eq!(tree.read("dir/kept").as_deref(), Some("old\n"));
}

#[test]
fn nothing_outside_is_read_or_written() {
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("secret"), "old\n").expect("a file");
    let tree = Tree::of(&[("a", "old\n")]);
    symlink(outside.path(), tree.path().join("link")).expect("a link");
    symlink(outside.path().join("secret"), tree.path().join("file")).expect("a link");
    let absolute = outside.path().join("secret");
    let absolute = absolute.to_str().expect("UTF-8");
    for path in ["link/secret", "file", "../secret", absolute, ".git/config", "x/../../secret"] {
        assert_eq!(tree.problems(&change(path)).len(), 1, "{path}");
        let created = CREATE.replace("dir/new", path);
        assert_eq!(tree.problems(&created).len(), 1, "{path}");
    }
    assert_eq!(fs::read_to_string(absolute).expect("a file"), "old\n");
    let listed = fs::read_dir(outside.path()).expect("a directory").count();
    assert_eq!(listed, 1);
}

#[test]
fn limits_are_named() {
    let tree = Tree::of(&[]);
    let many: String = (0..26).map(|n| change(&format!("f{n}"))).collect();
    let error = check(&tree.root(), many.as_bytes(), Limits::default()).expect_err("too many");
    assert!(matches!(error, CheckError::TooManyFiles { files: 26, max: 25 }), "{error}");
    let large = "x".repeat(256 * 1024 + 1);
    let error = check(&tree.root(), large.as_bytes(), Limits::default()).expect_err("too large");
    assert!(matches!(error, CheckError::TooLarge { .. }), "{error}");
    let hunks: String = (1..=2_001).map(|n| format!("@@ -{n} +{n} @@\n-old\n+new\n")).collect();
    let places = format!("--- a/f\n+++ b/f\n{hunks}");
    let error = check(&tree.root(), places.as_bytes(), Limits::default()).expect_err("too many");
    assert!(matches!(error, CheckError::TooManyHunks { hunks: 2_001, max: 2_000 }), "{error}");
    let error = check(&tree.root(), b"", Limits::default()).expect_err("empty");
    assert!(error.to_string().contains("there is no diff"), "{error}");
}

#[test]
fn added_secrets_are_a_risk() {
    let tree = Tree::of(&[("a", "old\n")]);
    // An invented token with the shape of a real one.
    let token = format!("ghp_{}", "0123456789abcdefABCDEF0123456789abcd");
    let kinds = |diff: &str| -> Vec<RiskKind> {
        tree.check(diff).risks.iter().map(|risk| risk.kind).collect()
    };
    let added = change("a").replace("+new", &format!("+token = \"{token}\""));
    assert_eq!(kinds(&added), [RiskKind::Secret]);
    let moved = added.replace("-old", &format!("-let token = \"{token}\""));
    assert_eq!(kinds(&moved), []);
}
