//! Patches of files as a model sees them, with masked text.

use std::fs;

use mc_coding::{Limits, PathRules, ShownPatch, check_shown, write};
use mc_files::Root;
use mc_sanitizer::{Policy, Sanitizer};
use mc_workspaces::edit::MaskedTree;
use tempfile::TempDir;

const TOKEN: &str = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
const SHOWN: &str = "[secret:github-token]";

struct Tree(TempDir);

impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().expect("a directory"));
        for (path, content) in files {
            fs::write(tree.0.path().join(path), content).expect("a file");
        }
        tree
    }

    fn root(&self) -> Root {
        Root::open(self.0.path()).expect("a directory")
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(path)).ok()
    }

    fn check_with(&self, text: &str, paths: &PathRules) -> ShownPatch {
        let (root, sanitizer, policy) = (self.root(), Sanitizer::default(), Policy::strict());
        let tree = MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy };
        check_shown(&tree, text, paths, Limits::default()).expect("a patch")
    }

    fn check(&self, text: &str) -> ShownPatch {
        self.check_with(text, &PathRules::default())
    }

    /// Applies a patch, and returns its diff.
    fn apply(&self, text: &str) -> String {
        let patch = self.check(text);
        assert!(patch.checked.applies(), "{patch:?}");
        write(&self.root(), &patch.checked).expect("written");
        patch.diff
    }

    /// Returns why the only file of a patch can't be changed.
    fn problem(&self, text: &str) -> String {
        let patch = self.check(text);
        assert_eq!(patch.diff, "", "no part of it is offered");
        let problem = patch.checked.problems().next().expect("a problem").1;
        format!("{problem:?}")
    }
}

fn hunk(path: &str, lines: &str) -> String {
    let count = |sign| lines.lines().filter(|line| !line.starts_with(sign)).count();
    let (old, new) = (count('+'), count('-'));
    format!("--- a/{path}\n+++ b/{path}\n@@ -1,{old} +1,{new} @@\n{lines}")
}

fn rename(from: &str, to: &str) -> String {
    format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n")
}

#[test]
fn masked_text_around_a_change_stays() {
    let content = format!("first = 1\ntoken = \"{TOKEN}\"\nlast = 2\n");
    let tree = Tree::of(&[("a", &content)]);
    let lines = format!("-first = 1\n+first = 9\n token = \"{SHOWN}\"\n last = 2\n");
    let diff = tree.apply(&hunk("a", &lines));
    assert!(diff.contains(SHOWN) && !diff.contains(TOKEN), "{diff}");
    assert_eq!(tree.read("a"), Some(content.replace("first = 1", "first = 9")));
    // What was shown applies to the same file again.
    let again = Tree::of(&[("a", &content)]);
    assert_eq!(again.apply(&diff), diff);
    assert_eq!(again.read("a"), tree.read("a"));
}

#[test]
fn masked_text_in_a_changed_line_stays_at_its_end() {
    let tree = Tree::of(&[("a", &format!("let token = \"{TOKEN}\";\n"))]);
    let lines = format!("-let token = \"{SHOWN}\";\n+// The token.\n+let token = \"{SHOWN}\";\n");
    tree.apply(&hunk("a", &lines));
    assert_eq!(tree.read("a"), Some(format!("// The token.\nlet token = \"{TOKEN}\";\n")));
}

#[test]
fn a_patch_changes_no_masked_text_and_writes_no_placeholder() {
    let content = format!("token = \"{TOKEN}\"\nlast\n");
    let tree = Tree::of(&[("a", &content)]);
    for (lines, reason) in [
        (format!("-token = \"{SHOWN}\"\n last\n"), "Masked"),
        (format!(" token = \"{SHOWN}\"\n-last\n+copy = \"{SHOWN}\"\n"), "Placeholder"),
    ] {
        let problem = tree.problem(&hunk("a", &lines));
        assert!(problem.contains(reason), "{problem}");
    }
    // This token is recognized by itself, so the name before it may change.
    let renamed = format!("-token = \"{SHOWN}\"\n+color = \"{SHOWN}\"\n last\n");
    assert!(tree.check(&hunk("a", &renamed)).checked.applies());
    let unmask = Tree::of(&[("b", "password = \"hunter2hunter2\"\n")]);
    let lines = "-password = \"[secret:password]\"\n+color = \"[secret:password]\"\n";
    let problem = unmask.problem(&hunk("b", lines));
    assert!(problem.contains("Unmasks"), "{problem}");
    assert_eq!(tree.read("a"), Some(content));
}

#[test]
fn files_with_masked_text_are_not_moved_but_may_be_deleted() {
    let content = format!("token = \"{TOKEN}\"\n");
    let tree = Tree::of(&[("a", &content), ("plain", "x\n")]);
    assert!(tree.problem(&rename("a", "public")).contains("MovesMaskedText"));
    let delete = format!("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-token = \"{SHOWN}\"\n");
    tree.apply(&(delete + &rename("plain", "moved")));
    assert_eq!((tree.read("a"), tree.read("moved").as_deref()), (None, Some("x\n")));
}

#[test]
fn line_endings_and_encodings_are_those_of_the_file() {
    let tree = Tree::of(&[("a", "one\r\ntwo\r\nthree")]);
    tree.apply(&hunk("a", " one\n-two\n+2\n+2.5\n three\n"));
    assert_eq!(tree.read("a").as_deref(), Some("one\r\n2\r\n2.5\r\nthree"));
}

#[test]
fn all_paths_of_a_patch_follow_the_rules() {
    let tree = Tree::of(&[("a", "x\n"), ("b", "y\n")]);
    let rules = PathRules::new(["a", "c"], ["b"]).expect("paths");
    let check = |text: &str| tree.check_with(text, &rules).checked.applies();
    assert!(check(&hunk("a", "-x\n+z\n")));
    assert!(check(&rename("a", "c")));
    for refused in [
        hunk("b", "-y\n+z\n"),
        rename("a", "d"),
        rename("b", "c"),
        // Each takes the place of the other.
        rename("a", "b") + &rename("b", "a"),
        "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+text\n".to_owned(),
    ] {
        assert!(!check(&refused), "{refused}");
    }
}
